"""A plan while it is made: what may be asked of a set of entities, and the sets so far."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from branchwise.kg.schema import Relation, Schema
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import Plan, PlanStep

Types = tuple[str, ...]
"""Concrete types, in the schema's order."""

Sayable = Callable[[str, bool], bool]
"""Whether a relation can be put into words, as a step that gives its subjects (True) or values."""

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Move:
    """A relation in one direction, with the types at both ends. `own`: it is of the domain itself,
    not of what all domains have in common."""

    relation: str
    inverse: bool
    sources: Types
    results: Types
    own: bool = True

    @property
    def back(self) -> tuple[str, bool]:
        """The same relation the other way round."""
        return self.relation, not self.inverse


@dataclass(frozen=True)
class Moves:
    """The moves and filters of one domain.

    `own` are names of the domain's relations, `shared` those of what all domains have in common.
    Relations that the schema cannot put into words are left out.
    """

    schema: Schema
    own: Collection[str]
    shared: Collection[str]
    sayable: Sayable
    _found: dict[tuple[str, Types], Sequence[Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def all(self) -> tuple[Move, ...]:
        """Every move from entities to entities, in the schema's order."""
        return tuple(chain.from_iterable(map(self._both_ways, self._names(self._leads_on))))

    @cached_property
    def filters(self) -> tuple[str, ...]:
        """Relations that members may be chosen by."""
        relations = self.schema.relations
        return tuple(
            name
            for name in self._names(_has_predicate)
            if self.sayable(name, bool(relations[name].object))
        )

    def onward(self, types: Types) -> Sequence[Move]:
        """Moves that every member may have."""
        return self._kept("onward", types, self._onward)

    def towards(self, types: Types) -> Sequence[Move]:
        """Moves that lead to entities that may be among some of these types."""
        return self._kept("towards", types, self._towards)

    def filters_of(self, types: Types) -> Sequence[str]:
        """Filters that every member may be chosen by."""
        return self._kept("filters", types, self._filters_of)

    def _kept(
        self, what: str, types: Types, find: Callable[[Types], Sequence[_Found]]
    ) -> Sequence[_Found]:
        """What was found for these types before: samplers ask thousands of times."""
        if (what, types) not in self._found:
            self._found[what, types] = find(types)
        return self._found[what, types]

    def _onward(self, types: Types) -> list[Move]:
        return [move for move in self.all if set(types) <= set(move.sources)]

    def _towards(self, types: Types) -> list[Move]:
        return [move for move in self.all if self.common(types, move.results)]

    def _filters_of(self, types: Types) -> list[str]:
        subjects = self.schema.subjects
        relations = self.schema.relations
        return [n for n in self.filters if set(types) <= set(subjects(relations[n]))]

    def common(self, one: Types, other: Types) -> Types:
        """Both types together; none where nothing covers them: no parent, and neither side."""
        both = tuple(name for name in self.schema.concrete if name in {*one, *other})
        return both if both in (one, other) or self._has_noun(both) else ()

    def _names(self, wanted: Callable[[Relation], bool]) -> Iterable[str]:
        known = {*self.own, *self.shared}
        return (n for n, found in self.schema.relations.items() if n in known and wanted(found))

    def _leads_on(self, relation: Relation) -> bool:
        return bool(relation.object)

    def _both_ways(self, name: str) -> Iterable[Move]:
        relation = self.schema.relations[name]
        ends = self.schema.subjects(relation), self.schema.objects(relation)
        for inverse, (sources, results) in ((False, ends), (True, ends[::-1])):
            if self.sayable(name, inverse):
                yield Move(name, inverse, sources, results, name in self.own)

    def _has_noun(self, types: Types) -> bool:
        """Whether there is a word for what is of any of these types."""
        return len(types) == 1 or any(
            all(self.schema.is_a(name, parent) for name in types)
            for parent in self.schema.types
            if parent not in self.schema.concrete
        )


def _has_predicate(relation: Relation) -> bool:
    if relation.date is not None:
        return "date" in relation.predicates
    if relation.number is not None:
        return "number" in relation.predicates
    return bool({"award", "type"} & set(relation.predicates))


Sets = tuple[frozenset[str], ...]
Neighbours = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Reached:
    """The sets after some steps; `last` is the move that they were reached by."""

    types: Types
    sets: Sets
    last: Move

    @property
    def everything(self) -> list[str]:
        """What is in any of the sets, sorted."""
        return sorted(frozenset().union(*self.sets))

    @property
    def alive(self) -> int:
        """How many readings lead to something."""
        return sum(map(bool, self.sets))

    def links(self, facts: Facts, move: Move) -> Neighbours:
        """What each member is related to."""
        return facts.related(move.relation, move.inverse, self.everything)


def joined(sets: Sets, links: Neighbours) -> Sets:
    """What the members of each set are related to."""
    return tuple(frozenset(v for member in s for v in links.get(member, ())) for s in sets)


def counts(sets: Sets, links: Neighbours) -> list[Counter[str]]:
    """Of what the members of each set are related to, by how many of them."""
    return [Counter(v for member in s for v in links.get(member, ())) for s in sets]


def kept(sets: Sets, keep: Callable[[str], bool]) -> Sets:
    """The members of each set that are wanted."""
    return tuple(frozenset(filter(keep, s)) for s in sets)


def changed(before: Sets, after: Sets) -> bool:
    """Whether most of the readings that lead on are changed."""
    alive = [(b, a) for b, a in zip(before, after, strict=True) if a]
    return 2 * sum(b != a for b, a in alive) >= max(1, len(alive))


class RejectedError(Exception):
    """A plan or question that is not taken; the message is the reason that is counted."""


@dataclass(frozen=True)
class PlanLimits:
    """Bounds of what plans reach."""

    answers: int = 45  # of a question, all its branches together: the most that are published
    members: int = 1_500  # of any set on the way


@dataclass(frozen=True)
class Focus:
    """Where a plan begins: `entities` are all that bear the name, and have the relation.

    `name` is what the question calls them: a shared name, or a title of one entity's own.
    """

    name: str
    entities: tuple[str, ...]
    move: Move
    sets: Sets

    @property
    def ambiguous(self) -> bool:
        """Whether the name has several readings."""
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
        """The place of the latest step."""
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
        """The finished plan."""
        return Plan(steps=tuple(self.steps))


def sizes(sets: Sequence[frozenset[str]]) -> list[int]:
    """How large those are that hold anything."""
    return [len(s) for s in sets if s]
