"""How values spread through relations, what cannot be true together, and what contradicts what.

Conditions are bits of integers, in document order. No relation makes a condition true because
another is false, so that two facts say everything: `implied[x]`, the conditions that are true where
x is, and which pairs conflict. Conditions can be true together if no two that they imply conflict.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from branchwise.corpora.conditions.documents import ConditionRelation, ConditionsProblem


class ContradictionError(ValueError):
    """Values and relations that cannot all hold: a minimal set, without any of which they can.
    Without values, the relations alone make `impossible` a condition that nothing can make true."""

    def __init__(
        self,
        values: Mapping[str, bool],
        relations: Sequence[ConditionRelation],
        impossible: str | None = None,
    ) -> None:
        self.values, self.relations = dict(values), tuple(relations)
        self.impossible = impossible
        stated = [f"{id} is {str(value).lower()}" for id, value in values.items()]
        listed = ", ".join([*stated, *map(str, relations)])
        problem = f"{impossible} could never be true" if impossible else "not all of these can hold"
        super().__init__(f"{problem}: {listed}")


class Spread(NamedTuple):
    """The conditions that scenario and relations make true and false, as bits; others are open."""

    true: int
    false: int


class RelationNetwork:
    """A problem's relations. Raises ContradictionError where a condition could never be true."""

    def __init__(self, problem: ConditionsProblem) -> None:
        # Conditions of other documents, whose values relations carry over, come after the own ones.
        ends = (end for r in problem.relations for end in (r.first, r.second))
        self.ids = tuple(dict.fromkeys([*problem.conditions, *problem.values, *ends]))
        self.bit = {id: 1 << place for place, id in enumerate(self.ids)}
        self.relations = problem.relations
        self._place = {id: place for place, id in enumerate(self.ids)}
        steps = []  # each relation by which one condition makes another true, as their places
        for relation in self.relations:
            first, second = self._place[relation.first], self._place[relation.second]
            if relation.kind != "conflicting":
                steps.append((first, second))
            if relation.kind == "equivalent":
                steps.append((second, first))
        self.implied = _closure(len(self.ids), steps)
        self.excluded = self._excluded()
        for place, id in enumerate(self.ids):
            if self.implied[place] & self.excluded[place]:
                contradiction = _minimal({id: True}, self.relations)
                raise ContradictionError({}, contradiction.relations, impossible=id)

    def spread(self, values: Mapping[str, bool]) -> Spread:
        """Raises ContradictionError where the values and relations cannot all hold."""
        true, false = 0, self.bits(id for id, value in values.items() if not value)
        for place in (self._place[id] for id, value in values.items() if value):
            true |= self.implied[place]
            false |= self.excluded[place]
        for place, implied in enumerate(self.implied):
            if implied & false:
                false |= 1 << place
        if true & false:
            raise _minimal(values, self.relations)
        return Spread(true, false)

    @cached_property
    def subsumed_by(self) -> tuple[int, ...]:
        """For each condition those that leave it out of a group: narrower, or later equivalents."""
        beside = [0] * len(self.ids)
        for place, implied in enumerate(self.implied):
            for other in places(implied & ~(1 << place)):
                is_equivalent = self.implied[other] >> place & 1
                if not is_equivalent or other < place:
                    beside[other] |= 1 << place
        return tuple(beside)

    @cached_property
    def equivalent(self) -> tuple[int, ...]:
        """For each condition those that always have its value, itself among them."""
        return tuple(
            sum(1 << other for other in places(implied) if self.implied[other] >> place & 1)
            for place, implied in enumerate(self.implied)
        )

    def bits(self, ids: Iterable[str]) -> int:
        return sum(self.bit[id] for id in set(ids))

    def named(self, bits: int) -> tuple[str, ...]:
        """The conditions of a set, in document order."""
        return tuple(self.ids[place] for place in places(bits))

    def _excluded(self) -> tuple[int, ...]:
        direct = [0] * len(self.ids)
        for relation in self.relations:
            if relation.kind == "conflicting":
                direct[self._place[relation.first]] |= self.bit[relation.second]
                direct[self._place[relation.second]] |= self.bit[relation.first]
        conflicting = []
        for implied in self.implied:
            out = 0
            for place in places(implied):
                out |= direct[place]
            conflicting.append(out)
        # Also false is what implies something false.
        known = list(enumerate(self.implied))
        return tuple(sum(1 << n for n, bits in known if bits & out) for out in conflicting)


def places(bits: int) -> list[int]:
    """The places of a set's bits, rising."""
    positions = []
    while bits:
        lowest = bits & -bits
        positions.append(lowest.bit_length() - 1)
        bits ^= lowest
    return positions


def _closure(count: int, steps: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    reached = [1 << place for place in range(count)]
    for first, second in steps:
        if reached[first] >> second & 1:
            continue
        more = reached[second]
        for place, bits in enumerate(reached):
            if bits >> first & 1:
                reached[place] = bits | more
    return tuple(reached)


def _minimal(
    values: Mapping[str, bool], relations: Sequence[ConditionRelation]
) -> ContradictionError:
    """A smallest contradiction, found by leaving out each value and relation, the last first."""
    from pysat.solvers import Minisat22

    number: dict[str, int] = {}
    for id in [*values, *(end for r in relations for end in (r.first, r.second))]:
        number.setdefault(id, len(number) + 1)
    guards: list[int] = []  # a variable each, values first, that switches it on
    with Minisat22() as solver:
        clauses = [[[number[id] if value else -number[id]]] for id, value in values.items()]
        clauses += [_clauses(relation, number) for relation in relations]
        for place, together in enumerate(clauses, start=len(number) + 1):
            guards.append(place)
            for clause in together:
                solver.add_clause([-place, *clause])
        for guard in guards[::-1]:
            rest = [other for other in guards if other != guard]
            if not solver.solve(assumptions=rest):
                guards = rest
    kept = {guard - len(number) - 1 for guard in guards}
    return ContradictionError(
        {id: value for place, (id, value) in enumerate(values.items()) if place in kept},
        [relation for n, relation in enumerate(relations, start=len(values)) if n in kept],
    )


def _clauses(relation: ConditionRelation, number: Mapping[str, int]) -> list[list[int]]:
    first, second = number[relation.first], number[relation.second]
    match relation.kind:
        case "conflicting":
            return [[-first, -second]]
        case "inclusive":
            return [[-first, second]]
        case "equivalent":
            return [[-first, second], [-second, first]]
