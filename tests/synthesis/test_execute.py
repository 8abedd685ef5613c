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
    Union,
    Years,
    execute,
    meets,
)

DIRECTED = Atomic(relation="directed_by", inverse=True, entity="Q111")  # 101 102
APPEARED = Atomic(relation="cast", inverse=True, entity="Q121")  # 101 102 103


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
def test_a_step_that_does_not_fit_is_refused(little_facts, step, problem):
    with pytest.raises(PlanError, match=problem):
        execute(Plan(steps=(DIRECTED, step)), little_facts)


def test_sets_that_can_have_nothing_in_common_are_refused(little_facts: KgFacts) -> None:
    people = Atomic(relation="cast", entity="Q101")
    for operation in (Union, Intersection, Difference):
        with pytest.raises(PlanError, match="nothing in common"):
            execute(Plan(steps=(DIRECTED, people, operation(of=0, other=1))), little_facts)
