"""Executing plans: from a named entity, step by step, to all its answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from branchwise.corpora.synthesis.conditions import meets
from branchwise.corpora.synthesis.facts import Facts
from branchwise.corpora.synthesis.plan_checks import PlanError, check_plan
from branchwise.corpora.synthesis.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Intersection,
    Join,
    Plan,
    Step,
    Union,
)

__all__ = ["Execution", "PlanError", "execute"]

Members = frozenset[str]


@dataclass(frozen=True)
class Execution:
    """The set that each step of a plan came to, in the plan's order."""

    sets: tuple[Members, ...]

    @property
    def answers(self) -> Members:
        """The last step's set."""
        return self.sets[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many are in each step's set."""
        return tuple(map(len, self.sets))


def execute(plan: Plan, facts: Facts) -> Execution:
    """All steps' sets. An entity that the graph lacks leads nowhere: its sets are empty.

    Raises PlanError for a relation that the schema lacks, and for types that do not fit.
    """
    check_plan(plan, facts.schema)
    sets: list[Members] = []
    for step in plan.steps:
        sets.append(_run(step, sets, facts))
    return Execution(tuple(sets))


def _run(step: Step, sets: Sequence[Members], facts: Facts) -> Members:
    match step:
        case Atomic():
            found = facts.related(step.relation, step.inverse, (step.entity,))
            return frozenset(found.get(step.entity, ()))
        case Join():
            found = facts.related(step.relation, step.inverse, sets[step.of])
            return frozenset(chain.from_iterable(found.values()))
        case Filter():
            return _filter(step, sets[step.of], facts)
        case GroupBy():
            found = facts.related(step.relation, step.inverse, sets[step.of])
            counts = Counter(chain.from_iterable(found.values()))
            return frozenset(one for one, count in counts.items() if count >= step.at_least)
        case Union():
            return sets[step.of] | sets[step.other]
        case Intersection():
            return sets[step.of] & sets[step.other]
        case Difference():
            return sets[step.of] - sets[step.other]


def _filter(step: Filter, members: Members, facts: Facts) -> Members:
    """Those with any value that meets the condition."""
    found = facts.related(step.relation, False, members)
    return frozenset(
        member
        for member, values in found.items()
        if any(meets(step.condition, value) for value in values)
    )
