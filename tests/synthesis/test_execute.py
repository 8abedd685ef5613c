"""Plans over the little graph, with sets worked out by hand."""

import pytest

from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import (
    Amount,
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    Plan,
    PlanError,
    PlanStep,
    Union,
    Years,
    execute,
    meets,
)
from support.synthesis.little_kg import OTHER

DIRECTED = Atomic(relation="directed_by", inverse=True, entity="Q111")  # 101 102
APPEARED = Atomic(relation="cast", inverse=True, entity="Q121")  # 101 102 103


def sets_of(facts: KgFacts, *steps: PlanStep) -> list[set[str]]:
    """The number's last digits for each member of each set."""
    found = execute(Plan(steps=steps), facts)
    assert found.answers == found.sets[-1]
    assert found.sizes == tuple(len(members) for members in found.sets)
    return [{member.removeprefix("Q") for member in members} for members in found.sets]


def test_join_takes_what_any_member_is_related_to(little_facts: KgFacts) -> None:
    sets = sets_of(little_facts, DIRECTED, Join(of=0, relation="cast"))

    assert sets == [{"101", "102"}, {"121", "122", "123"}]


def test_join_goes_back_from_object_to_subjects(little_facts: KgFacts) -> None:
    sets = sets_of(
        little_facts,
        Atomic(relation="cast", entity="Q102"),
        Join(of=0, relation="cast", inverse=True),
    )

    assert sets == [{"121", "123"}, {"101", "102", "103", OTHER}]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Union(of=0, other=1), {"101", "102", "103"}),
        (Intersection(of=0, other=1), {"101", "102"}),
        (Difference(of=0, other=1), {"103"}),
        (Difference(of=1, other=0), set()),
    ],
)
def test_set_operations(little_facts: KgFacts, operation: PlanStep, expected: set[str]) -> None:
    assert sets_of(little_facts, APPEARED, DIRECTED, operation)[-1] == expected


@pytest.mark.parametrize(
    ("relation", "condition", "expected"),
    [
        ("released", Years(first=1999), {"102", "103"}),
        ("released", Years(last=1999), {"101", "102"}),
        ("released", Years(first=1996, last=1998), set()),
        ("runtime", Amount(most=95.5), {"102"}),
        ("runtime", Amount(least=96, most=170), {"101"}),
        ("genre", Holds(value="Q130232"), {"101", "102"}),
        ("genre", Holds(value="Q157443"), {"102"}),
        ("honour", Holds(value="Q131"), {"101"}),
        ("directed_by", Holds(value="Q112"), {"103"}),
    ],
)
def test_filter_keeps_members_with_a_value_that_meets_the_condition(
    little_facts: KgFacts, relation: str, condition: Years | Amount | Holds, expected: set[str]
) -> None:
    step = Filter(of=0, relation=relation, condition=condition)

    assert sets_of(little_facts, APPEARED, step)[-1] == expected


def test_group_by_counts_the_members_that_lead_to_each(little_facts: KgFacts) -> None:
    for at_least, expected in ((2, {"121"}), (3, {"121"}), (4, set())):
        step = GroupBy(of=0, relation="cast", at_least=at_least)
        assert sets_of(little_facts, APPEARED, step)[-1] == expected

    back = GroupBy(of=0, relation="cast", inverse=True, at_least=2)
    cast = Atomic(relation="cast", entity="Q102")
    assert sets_of(little_facts, cast, back)[-1] == {"102"}


def test_years_before_christ_are_before_others() -> None:
    assert meets(Years(last=-44), "-0044-03-15")
    assert not meets(Years(first=-43), "-0044-03-15")
    assert meets(Years(first=12345, last=12345), "12345")


def test_an_entity_without_facts_has_no_answers(little_facts: KgFacts) -> None:
    plan = Plan(steps=(APPEARED, Join(of=0, relation="directed_by")))

    assert execute(plan.about("Q7"), little_facts).sizes == (0, 0)
    assert execute(plan.about("Q101"), little_facts).sizes == (0, 0)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (Join(of=0, relation="sung_by"), r"step 1 \(join\): the schema has no relation 'sung_by'"),
        (Join(of=0, relation="cast", inverse=True), "'cast' is never said of its set"),
        (GroupBy(of=0, relation="born", at_least=2), "the values of 'born' are no entities"),
        (Join(of=0, relation="released"), "the values of 'released' are no entities"),
        (Filter(of=0, relation="born", condition=Years(first=1)), "'born' is never said"),
        (Filter(of=0, relation="runtime", condition=Years(first=1)), "of another kind"),
        (Filter(of=0, relation="genre", condition=Amount(least=1)), "of another kind"),
        (Filter(of=0, relation="released", condition=Holds(value="Q1")), "of another kind"),
    ],
)
def test_a_step_that_does_not_fit_is_refused(
    little_facts: KgFacts, step: PlanStep, problem: str
) -> None:
    with pytest.raises(PlanError, match=problem):
        execute(Plan(steps=(DIRECTED, step)), little_facts)


def test_sets_that_can_have_nothing_in_common_are_refused(little_facts: KgFacts) -> None:
    people = Atomic(relation="cast", entity="Q101")
    for operation in (Union, Intersection, Difference):
        with pytest.raises(PlanError, match="nothing in common"):
            execute(Plan(steps=(DIRECTED, people, operation(of=0, other=1))), little_facts)


def test_people_of_several_occupations_fit_each_other(little_facts: KgFacts) -> None:
    """Films by directors who act: Q111 is the one in the cast of 103."""
    sets = sets_of(
        little_facts,
        Atomic(relation="cast", entity="Q103"),
        Join(of=0, relation="directed_by", inverse=True),
    )

    assert sets == [{"111", "121"}, {"101", "102"}]
