"""Random plans that a schema can carry, over facts that give most of them answers."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import (
    Amount,
    Atomic,
    Classes,
    Condition,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    Plan,
    PlanStep,
    Union,
    Years,
    check_plan,
)

_LEAVES = ("atomic",)
_INNER = ("join", "group_by", "filter", "union", "intersection", "difference")
_OF_TWO = {"union": Union, "intersection": Intersection, "difference": Difference}


def plans(facts: KgFacts, depth: int = 3) -> SearchStrategy[Plan]:
    """Plans of up to nine steps, each operation in turn."""

    @st.composite
    def draw_plan(draw: DrawFn) -> Plan:
        builder = _Builder(draw, facts)
        builder.build(draw(st.integers(1, depth)), None)
        places = [n for n, step in enumerate(builder.steps) if isinstance(step, Atomic)]
        return Plan(steps=tuple(builder.steps), focus=draw(st.sampled_from(places)))

    return draw_plan()


class _Builder:
    """Draws steps, sources before what they are sources of."""

    def __init__(self, draw: DrawFn, facts: KgFacts) -> None:
        self._draw, self._facts = draw, facts
        self._ends = facts.schema.ends
        self.steps: list[PlanStep] = []

    def build(self, depth: int, wanted: Classes | None) -> int:
        """Add steps for a set with members of some of the wanted classes; the place of the last."""
        op = self._draw(st.sampled_from(_INNER if depth else _LEAVES))
        if op in _OF_TWO:
            of = self.build(depth - 1, wanted)
            shared = self._classes(of) if wanted is None else self._classes(of) & wanted
            other = self.build(max(depth - 2, 0), shared)
            return self._add(_OF_TWO[op](of=of, other=other))
        if op == "filter":
            of = self.build(depth - 1, wanted)
            return self._add(self._filter(of)) if self._tests(of) else of
        relation, inverse, start = self._draw(st.sampled_from(self._ways(wanted)))
        if op == "atomic":
            entity = self._draw(st.sampled_from(self._starts(relation, inverse)))
            return self._add(Atomic(relation=relation, inverse=inverse, entity=entity))
        of = self.build(depth - 1, start)
        fields = {"of": of, "relation": relation, "inverse": inverse}
        if op == "join":
            return self._add(Join(**fields))
        return self._add(GroupBy(**fields, at_least=self._draw(st.integers(2, 3))))

    def _add(self, step: PlanStep) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _classes(self, place: int) -> Classes:
        """What a step's members may be: that of the plan that ends there."""
        return check_plan(self._ending_at(place), self._facts.schema)[-1]

    def _ending_at(self, place: int) -> Plan:
        """The steps that one is made of. They are its subtree: the last ones before it."""
        first = min(self._sources(place))
        moved = [_moved(step, first) for step in self.steps[first : place + 1]]
        focus = next(n for n, step in enumerate(moved) if isinstance(step, Atomic))
        return Plan(steps=tuple(moved), focus=focus)

    def _sources(self, place: int) -> list[int]:
        below = [p for source in self.steps[place].sources for p in self._sources(source)]
        return [place, *below]

    def _ways(self, wanted: Classes | None) -> list[tuple[str, bool, Classes]]:
        """Relations, read either way, that end in a wanted class and that the graph has."""
        found = []
        for name, (subjects, values) in self._ends.items():
            if values & {"date", "number"}:
                continue
            for inverse, start, end in ((False, subjects, values), (True, values, subjects)):
                if (wanted is None or end & wanted) and self._starts(name, inverse):
                    found.append((name, inverse, start))
        return found

    def _starts(self, name: str, inverse: bool) -> list[str]:
        """Members with the relation, twenty of them at most."""
        relation = self._facts.schema.relations[name]
        if inverse and not relation.object:
            return sorted(self._facts.schema.items[relation.items or relation.source])
        types = relation.object if inverse else self._facts.schema.subjects(relation)
        members = [member for name in types for member in self._facts.members(name)]
        return sorted(self._facts.related(name, inverse, members))[:20]

    def _tests(self, place: int) -> list[str]:
        """Relations that a set can be filtered by."""
        classes = self._classes(place)
        return [name for name, (subjects, _) in self._ends.items() if subjects & classes]

    def _filter(self, of: int) -> Filter:
        name = self._draw(st.sampled_from(self._tests(of)))
        return Filter(of=of, relation=name, condition=self._condition(name))

    def _condition(self, name: str) -> Condition:
        relation = self._facts.schema.relations[name]
        if relation.date is not None:
            first = self._draw(st.integers(1850, 2020))
            return Years(first=first, last=self._draw(st.none() | st.integers(first, 2024)))
        if relation.number is not None:
            low, high = relation.number
            return Amount(most=self._draw(st.integers(low, high)))
        value = self._draw(st.sampled_from(self._starts(name, True) or ["Q1"]))
        return Holds(value=value)


def _moved(step: PlanStep, by: int) -> PlanStep:
    """The step in a plan that begins so many places later."""
    places = {key: getattr(step, key) - by for key in ("of", "other") if hasattr(step, key)}
    return step.model_copy(update=places)
