"""A plan in the making, with the sets that it has reached, one for each reading of the name that it
begins with; and how it may fail."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.moves import Move, Types
from branchwise.worlds.questions.plans import Plan, PlanStep

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
