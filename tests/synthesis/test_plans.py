"""What a plan is, and how it is written down and read back."""

import json

import pytest
from pydantic import ValidationError

from branchwise.worlds.questions.plans import (
    Amount,
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Join,
    Plan,
    Union,
    Years,
)

FILMS = Atomic(relation="directed_by", inverse=True, entity="Q111")
OTHERS = Atomic(relation="cast", inverse=True, entity="<http://example.org/anna>")


def test_a_plan_is_written_and_read_again_with_its_focus() -> None:
    steps = (FILMS, OTHERS, Union(of=0, other=1), GroupBy(of=2, relation="cast", at_least=2))
    plan = Plan(steps=steps, focus=1)

    written = json.loads(json.dumps(plan.to_json()))

    assert [step.get("focus") for step in written] == [None, True, None, None]
    assert Plan.from_json(written) == plan


def test_a_filter_keeps_its_condition_and_no_open_bound() -> None:
    plan = Plan(
        steps=(
            FILMS,
            Filter(of=0, relation="released", condition=Years(first=1990)),
            Filter(of=1, relation="runtime", condition=Amount(most=99.5)),
            Filter(of=2, relation="genre", condition=Holds(value="Q130232")),
        )
    )

    written = plan.to_json()

    assert written[1]["condition"] == {"kind": "years", "first": 1990}
    assert Plan.from_json(written) == plan


def test_a_plan_about_another_entity_differs_in_its_focus_alone() -> None:
    plan = Plan(steps=(FILMS, OTHERS, Difference(of=0, other=1)), focus=1)

    assert list(plan.entities()) == ["Q111", "<http://example.org/anna>"]
    assert list(plan.about("Q5").entities()) == ["Q111", "Q5"]
    assert plan.about("Q5").about("<http://example.org/anna>") == plan


def test_the_shape_has_operations_and_sources_only() -> None:
    plan = Plan(steps=(FILMS, Join(of=0, relation="cast"), OTHERS, Union(of=1, other=2)))

    assert plan.shape == "atomic() join(0) atomic() union(1,2)"


@pytest.mark.parametrize(
    ("steps", "focus", "problem"),
    [
        ((Join(of=0, relation="cast"),), 0, "does not come before"),
        ((FILMS, OTHERS), 0, "step 0 is used by no other"),
        ((FILMS, Join(of=0, relation="cast")), 1, "focus is not an atomic step"),
        ((FILMS,), 3, "focus is not an atomic step"),
        ((), 0, "at least 1"),
    ],
)
def test_what_is_no_plan_is_refused(steps: tuple, focus: int, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Plan(steps=steps, focus=focus)


@pytest.mark.parametrize(
    "step",
    [
        {"op": "atomic", "relation": "cast", "entity": "Anna Berg"},
        {"op": "atomic", "relation": "cast", "entity": "Q1 } DELETE"},
        {"op": "atomic", "relation": "cast", "entity": "<http://x> ?y"},
        {"op": "negation", "of": 0},
        {"op": "atomic", "relation": "cast", "entity": "Q1", "note": "?"},
    ],
)
def test_steps_from_outside_are_checked(step: dict) -> None:
    with pytest.raises(ValidationError):
        Plan.from_json([step])


def test_bounds_must_be_there_and_in_order() -> None:
    with pytest.raises(ValidationError, match="needs a bound"):
        Years()
    with pytest.raises(ValidationError, match="run backwards"):
        Amount(least=3, most=2)
