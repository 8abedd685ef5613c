"""What is expected of a total, from a few of its items."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.costs.price_table import Price
from branchwise.runs.costs.prices import Prices
from branchwise.runs.estimates import Expected, Sample, together
from branchwise.runs.pilots import pilot_ids

PRICES = Prices({}, None, None, {"openai:m": Price(input=1.0, output=2.0)})


def outcome(read: int, written: int = 0, *, calls: int = 1, seconds: float = 2.0) -> dict[str, Any]:
    usage = {"agent": {"calls": calls, "input": read, "output": written}}
    return {"usage": usage, "calls": 3, "seconds": seconds}


def sample(*outcomes: dict[str, Any], kept: bool = True) -> Sample:
    return Sample({"model": "openai:m"}, outcomes, kept)


def test_a_total_is_the_mean_times_what_is_left_and_what_was_paid() -> None:
    found = sample(outcome(1000, 100), outcome(3000, 300)).estimate(10, PRICES, 4)
    assert found.sample == 2
    assert (found.calls, found.tool_calls) == ({"agent": 10.0}, 30.0)
    assert found.tokens.value == pytest.approx(10 * 2200)
    assert found.cost is not None
    assert found.cost.value == pytest.approx(10 * (2000 + 400) / 1e6)
    # 8 items of 2 seconds, 4 at a time.
    assert found.seconds == pytest.approx(4.0)


def test_the_range_is_students_around_the_logarithm() -> None:
    """Mean 2,000, deviation 1,414.2, of two items: 6.31 * .7071 / 1.4142 = 3.155."""
    found = sample(outcome(1000), outcome(3000), kept=False).estimate(10, PRICES, 1)
    factor = math.exp(6.31 * (math.sqrt(2) * 1000 / 2000) / math.sqrt(2))
    assert found.tokens.low == pytest.approx(20_000 / factor)
    assert found.tokens.high == pytest.approx(20_000 * factor)
    kept = sample(outcome(1000), outcome(3000)).estimate(10, PRICES, 1)
    assert kept.tokens.low == pytest.approx(4000 + 16_000 / factor)


def test_equal_items_leave_no_doubt_and_one_item_leaves_a_factor_of_two() -> None:
    alike = sample(outcome(500), outcome(500), outcome(500)).estimate(6, PRICES, 1).tokens
    assert (alike.low, alike.value, alike.high) == (3000, 3000, 3000)
    alone = sample(outcome(500), kept=False).estimate(6, PRICES, 1).tokens
    assert (alone.low, alone.high) == (pytest.approx(1500), pytest.approx(6000))


def test_systems_together_are_unknown_where_one_is() -> None:
    one = sample(outcome(1000)).estimate(10, PRICES, 1)
    both = together([one, one])
    assert both is not None
    assert both.cost is not None
    assert one.cost is not None
    assert both.cost == Expected(2 * one.cost.value, 2 * one.cost.low, 2 * one.cost.high)
    assert both.calls == {"agent": 20.0}
    assert together([one, None]) is None


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(0, 100))
def test_the_expected_total_lies_in_its_range(read: list[int], more: int) -> None:
    found = sample(*map(outcome, read)).estimate(len(read) + more, PRICES, 8).tokens
    assert sum(read) <= found.value * (1 + 1e-9)
    assert found.low <= found.value * (1 + 1e-9)
    assert found.value <= found.high * (1 + 1e-9)


def question(n: int, answers: int) -> Question:
    gold = tuple(Answer(text=f"a{k}") for k in range(answers))
    return Question(
        id=f"q{n}", question=f"Question {n}?", branches=(Branch(name="b", answers=gold),)
    )


def test_a_pilot_has_questions_with_few_and_with_many_answers() -> None:
    asked = [question(n, 1 + n % 10) for n in range(100)]
    chosen = pilot_ids(asked, 5)
    answers = sorted(len(one.branches[0].answers) for one in asked if one.id in chosen)
    # One of each fifth: of two numbers of answers each.
    assert [(1 + (n - 1) // 2) for n in answers] == [1, 2, 3, 4, 5]
    assert pilot_ids(list(reversed(asked)), 5) == chosen
