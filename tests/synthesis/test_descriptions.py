"""What questions say of their answers is what their plans ask for, whatever is left out."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import (
    Atomic,
    Filter,
    GroupBy,
    Holds,
    Join,
    Plan,
    PlanStep,
    execute,
    meets,
)
from branchwise.worlds.questions.wording.descriptions import (
    Constraint,
    Description,
    Either,
    Except,
    Meets,
    NamedEntity,
    Related,
    describe,
)
from support.synthesis.random_plans import plans

pytestmark = pytest.mark.slow


class Reader:
    """Finds what a description is true of, from the facts alone."""

    def __init__(self, facts: KgFacts) -> None:
        self._facts = facts
        types = facts.schema.concrete
        self._all = frozenset(member for name in types for member in facts.members(name))

    def described(self, description: Description) -> frozenset[str]:
        return self._all_of(description.parts)

    def _all_of(self, parts: tuple[Constraint, ...]) -> frozenset[str]:
        found = self._all
        for part in parts:
            found &= self._part(part)
        return found

    def _part(self, part: Constraint) -> frozenset[str]:
        if isinstance(part, Except):
            return self._all - self._all_of(part.parts)
        if isinstance(part, Either):
            return frozenset().union(*map(self._all_of, part.options))
        if isinstance(part, Meets):
            related = self._facts.related(part.relation, False, self._all)
            return frozenset(
                member
                for member, values in related.items()
                if any(meets(part.condition, value) for value in values)
            )
        return self._related(part)

    def _related(self, part: Related) -> frozenset[str]:
        if isinstance(part.to, NamedEntity):
            others = frozenset([part.to.number])
        else:
            assert isinstance(part.to, Description)
            others = self.described(part.to)
        related = self._facts.related(part.relation, part.inverse, others)
        counts = Counter(value for values in related.values() for value in set(values))
        return frozenset(value for value, count in counts.items() if count >= part.at_least)


def _is_describable(plan: Plan, facts: KgFacts) -> bool:
    """Whether every step gives entities, and no filter asks for the year or number of one."""
    for step in plan.steps:
        of_entities = bool(getattr(facts.schema.relations.get(_relation(step)), "object", ()))
        if isinstance(step, Atomic | Join | GroupBy) and not (step.inverse or of_entities):
            return False
        if isinstance(step, Filter) and of_entities and not isinstance(step.condition, Holds):
            return False
    return True


def _relation(step: PlanStep) -> str:
    return getattr(step, "relation", "")


@pytest.mark.long
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_description_is_true_of_the_answers_and_of_nothing_else(data, facts):
    plan = data.draw(plans(facts))
    assume(_is_describable(plan, facts))
    described = describe(plan, facts.schema)
    sets = execute(plan, facts).sets
    reader = Reader(facts)
    for description, members in zip(described, sets, strict=True):
        assert reader.described(description) == members
