"""When a budget is spent, in words."""

import pytest

from branchwise.graphs.agent_node import spent_reason
from branchwise.graphs.state import Spent
from branchwise.graphs.system import Budget

BUDGET = Budget(turns=4, calls=6, tokens=1000, seconds=30)


@pytest.mark.parametrize(
    ("spent", "seconds", "reason"),
    [
        (Spent(), 0.0, None),
        (Spent(turns=2, calls=5, tokens=999), 29.9, None),
        (Spent(turns=3), 0.0, "4 model turns"),
        (Spent(calls=6), 0.0, "6 tool calls"),
        (Spent(tokens=1000), 0.0, "1000 tokens"),
        (Spent(), 30.0, "30 seconds"),
    ],
)
def test_the_last_turn_is_kept_for_the_answer(spent, seconds, reason):
    assert spent_reason(BUDGET, spent, seconds) == reason


def test_one_turn_is_a_turn_to_answer():
    assert spent_reason(Budget(turns=1), Spent(), 0.0) == "1 model turns"
