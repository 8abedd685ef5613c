"""A plan while it is made: what may be asked of a set, what divides it, the sets so far."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from random import Random
from typing import Any, TypeVar

from branchwise.kg.schema import Relation, Schema
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import Amount, Condition, Holds, Plan, PlanStep, Years, year

Types = tuple[str, ...]
"""Concrete types, in the schema's order."""

Sayable = Callable[[str, bool], bool]
"""Whether a relation can be put into words, as a step that gives its subjects (True) or values."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Move:
    """A relation in one direction, with the types at both ends. `own`: of the domain itself;
    `ended`: to former values."""

    relation: str
    inverse: bool
    sources: Types
    results: Types
    own: bool = True
    ended: bool = False

    @property
    def back(self) -> tuple[str, bool]:
        """The same relation the other way round."""
        return self.relation, not self.inverse


@dataclass(frozen=True)
class Moves:
    """The moves and filters of one domain. `own` names the domain's relations, `shared` those that
    all domains have. Relations that the schema cannot put into words are left out."""

    schema: Schema
    own: Collection[str]
    shared: Collection[str]
    sayable: Sayable
    _known: dict[tuple[str, Types], Sequence[Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        known = {*self.own, *self.shared}
        return {n: relation for n, relation in self.schema.relations.items() if n in known}

    @cached_property
    def all(self) -> tuple[Move, ...]:
        """Every move from entities to entities, in the schema's order."""
        moves = []
        for name, relation in self._relations.items():
            ends = self.schema.subjects(relation), self.schema.objects(relation)
            for inverse, (sources, results) in ((False, ends), (True, ends[::-1])):
                if relation.object and self.sayable(name, inverse):
                    own, ended = name in self.own, relation.ended
                    moves.append(Move(name, inverse, sources, results, own, ended))
        return tuple(moves)

    @cached_property
    def filters(self) -> tuple[str, ...]:
        """Relations that members may be chosen by."""
        predicates = {"date": {"date"}, "number": {"number"}, "thing": {"award", "type"}}
        return tuple(
            name
            for name, relation in self._relations.items()
            if predicates[relation.value_kind].intersection(relation.predicates)
            and self.sayable(name, bool(relation.object))
        )

    def onward(self, types: Types) -> Sequence[Move]:
        """Moves that every member may have."""
        every = self.all
        return self._kept("onward", types, lambda: [m for m in every if {*types} <= {*m.sources}])

    def towards(self, types: Types) -> Sequence[Move]:
        """Moves that lead to entities that may be among some of these types."""
        return self._kept(
            "towards", types, lambda: [m for m in self.all if self.common(types, m.results)]
        )

    def filters_of(self, types: Types) -> Sequence[str]:
        """Filters that every member may be chosen by."""
        subjects, relations = self.schema.subjects, self.schema.relations
        return self._kept(
            "filters",
            types,
            lambda: [n for n in self.filters if set(types) <= set(subjects(relations[n]))],
        )

    def _kept(self, name: str, types: Types, find: Callable[[], Sequence[_T]]) -> Sequence[_T]:
        """Found once for these types: samplers ask thousands of times."""
        if (name, types) not in self._known:
            self._known[name, types] = find()
        return self._known[name, types]

    def common(self, first: Types, second: Types) -> Types:
        """Both types together; none where no word covers them: no parent, and neither side."""
        both = tuple(name for name in self.schema.concrete if name in {*first, *second})
        parents = (name for name in self.schema.types if name not in self.schema.concrete)
        if both in (first, second) or len(both) == 1:
            return both
        is_a = self.schema.is_a
        return both if any(all(is_a(name, parent) for name in both) for parent in parents) else ()


Sets = tuple[frozenset[str], ...]
Neighbours = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Reached:
    """The sets after some steps; `last` is the move that they were reached by."""

    types: Types
    sets: Sets
    last: Move

    @property
    def everything(self) -> list[str]:
        return sorted(frozenset().union(*self.sets))

    @property
    def alive(self) -> int:
        """How many readings lead to something."""
        return sum(map(bool, self.sets))

    def links(self, facts: Facts, move: Move) -> Neighbours:
        return facts.related(move.relation, move.inverse, self.everything)


def joined(sets: Sets, links: Neighbours) -> Sets:
    return tuple(frozenset(v for member in s for v in links.get(member, ())) for s in sets)


def counts(sets: Sets, links: Neighbours) -> list[Counter[str]]:
    """Of what the members of each set are related to, by how many of them."""
    return [Counter(v for member in s for v in links.get(member, ())) for s in sets]


def kept(sets: Sets, keep: Callable[[str], bool]) -> Sets:
    return tuple(frozenset(filter(keep, s)) for s in sets)


def changed(before: Sets, after: Sets) -> bool:
    """Whether most of the readings that lead on are changed."""
    alive = [(b, a) for b, a in zip(before, after, strict=True) if a]
    return 2 * sum(b != a for b, a in alive) >= max(1, len(alive))


class RejectedError(Exception):
    """A plan or question that is not taken; the message is the reason that is counted."""


@dataclass(frozen=True)
class PlanLimits:
    answers: int = 45  # of a question, all its branches together: the most that are published
    members: int = 1_500  # of any set on the way
    looked_at: int = 0  # entities to be looked at one by one, over all readings, at least


USED_UP = "every name had its turns"


class NameQuota:
    """How often each name was used, and may be. An entity counts under its label, whatever its
    title adds; items of the schema (genres, occupations) are no names."""

    def __init__(self, facts: Facts, most: int | None) -> None:
        self._facts = facts
        self._most = most
        self._items = {item for entries in facts.schema.items.values() for item in entries}
        self._used: Counter[str] = Counter()

    def is_full(self, entity: str) -> bool:
        """Whether another question may not name it."""
        if self._most is None or entity in self._items:
            return False
        return self._used[self._facts.label(entity)] >= self._most

    def take(self, plan: Plan) -> None:
        """Count each name of a question once."""
        if self._most is not None:
            named = (entity for entity in plan.entities() if entity not in self._items)
            self._used.update(set(map(self._facts.label, named)))


@dataclass(frozen=True)
class Focus:
    """Where a plan begins: `entities` are all that bear the name, and have the relation. `name` is
    what the question calls them: a shared name, or a title of one entity's own."""

    name: str
    entities: tuple[str, ...]
    move: Move
    sets: Sets

    @property
    def ambiguous(self) -> bool:
        return len(self.entities) > 1


@dataclass
class Draft:
    """Steps so far, what they reach, and the relations that their filters use."""

    steps: list[PlanStep]
    at: Reached
    needed: int  # of readings that must lead to something
    filtered: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)

    @property
    def top(self) -> int:
        return len(self.steps) - 1

    def add(self, step: PlanStep, sets: Sets, types: Types = (), move: Move | None = None) -> None:
        """Take a step; types and move stay unless they are given."""
        self.steps.append(step)
        self.at = Reached(types or self.at.types, sets, move or self.at.last)

    def enough(self, sets: Sets, share: float = 0.5) -> bool:
        """Whether enough readings still lead to something."""
        alive = sum(map(bool, sets))
        return alive >= max(self.needed, share * self.at.alive)

    def plan(self) -> Plan:
        return Plan(steps=tuple(self.steps))


def sizes(sets: Sequence[frozenset[str]]) -> list[int]:
    """How large those are that hold anything."""
    return [len(s) for s in sets if s]


_ROUND_YEARS = ((80, 10), (16, 5))
"""Where years range so widely, bounds are multiples of the second number."""

_BETWEEN = 0.2  # the share of date conditions with two bounds


def conditions(relation: Relation, values: Neighbours, rng: Random) -> Iterator[Condition]:
    """A few conditions that may divide the members, likely ones first. `values`: of each member."""
    every = chain.from_iterable(values.values())
    match relation.value_kind:
        case "date":
            yield from _years(sorted(map(year, every)), rng)
        case "number":
            yield from _amounts(sorted(map(float, every)), rng)
        case "thing":
            yield from _holds(values, rng)


def _years(years: Sequence[int], rng: Random) -> Iterator[Condition]:
    if len(set(years)) < 2:
        return
    spread = years[-1] - years[0]
    unit = next((unit for width, unit in _ROUND_YEARS if spread >= width), 1)
    for _ in range(3):
        cut = -(-_inner(years, rng) // unit) * unit
        if rng.random() < _BETWEEN and cut + 2 * unit < years[-1]:
            last = max(cut + 2 * unit, cut + (years[-1] - cut) // 2 // unit * unit)
            yield Years(first=cut, last=last)
        elif rng.random() < 0.5:
            yield Years(first=cut)
        else:
            yield Years(last=cut - 1)


def _amounts(numbers: Sequence[float], rng: Random) -> Iterator[Condition]:
    """Bounds with as few digits as still divide the numbers."""
    if len(set(numbers)) < 2:
        return
    for _ in range(3):
        value = _inner(numbers, rng)
        rounded = (round(value / 10**n) * 10**n for n in range(len(str(value)) - 1, -1, -1))
        cut = float(next((n for n in rounded if numbers[0] < n < numbers[-1]), value))
        yield Amount(least=cut) if rng.random() < 0.5 else Amount(most=cut)


def _inner(values: Sequence[float], rng: Random) -> int:
    above = [value for value in values if value > values[0]]
    middle = values[len(values) // 4 : max(len(values) * 3 // 4, len(values) // 4 + 1)]
    chosen = [value for value in middle if value > values[0]] or above[:1]
    return int(rng.choice(chosen))


def _holds(values: Neighbours, rng: Random) -> Iterator[Condition]:
    common = Counter(v for own in values.values() for v in dict.fromkeys(own))
    dividing = sorted(v for v, count in common.items() if count < len(values)) or sorted(common)
    for _ in range(min(3, len(dividing))):
        weights = [common[v] for v in dividing]
        yield Holds(value=rng.choices(dividing, weights)[0])
