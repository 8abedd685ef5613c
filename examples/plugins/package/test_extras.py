"""The plug-ins of the package, called as functions: no agent is needed to test them."""

import pytest
from branchwise_extras.calculator import calculate
from branchwise_extras.lead_sentences import lead

from branchwise import ToolError


def test_it_calculates() -> None:
    assert calculate("(1995 - 1986) * 365") == "(1995 - 1986) * 365 = 3,285"
    assert calculate("7 / 2") == "7 / 2 = 3.5"


@pytest.mark.parametrize("wrong", ["", "2 +", "1 / 0", "9**9**9", "__import__('os')", "'a' * 9"])
def test_what_cannot_be_calculated_is_a_tool_error(wrong: str) -> None:
    with pytest.raises(ToolError):
        calculate(wrong)


def test_a_lead_is_the_first_sentences() -> None:
    assert lead("One is here. Two is there. Three.", 2) == "One is here. Two is there."
