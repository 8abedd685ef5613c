"""Sets on their way through a plan: one for each reading of the name that the plan begins with."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from branchwise.corpora.synthesis.facts import Facts
from branchwise.corpora.synthesis.moves import Move, Types

Sets = tuple[frozenset[str], ...]
Links = Mapping[str, tuple[str, ...]]


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

    def links(self, facts: Facts, move: Move) -> Links:
        """What each member is related to."""
        return facts.related(move.relation, move.inverse, self.everything)


def joined(sets: Sets, links: Links) -> Sets:
    """What the members of each set are related to."""
    return tuple(frozenset(v for member in s for v in links.get(member, ())) for s in sets)


def counts(sets: Sets, links: Links) -> list[Counter[str]]:
    """Of what the members of each set are related to, by how many of them."""
    return [Counter(v for member in s for v in links.get(member, ())) for s in sets]


def kept(sets: Sets, keep: Callable[[str], bool]) -> Sets:
    """The members of each set that are wanted."""
    return tuple(frozenset(filter(keep, s)) for s in sets)


def changed(before: Sets, after: Sets) -> bool:
    """Whether most of the readings that lead on are changed."""
    alive = [(b, a) for b, a in zip(before, after, strict=True) if a]
    return 2 * sum(b != a for b, a in alive) >= max(1, len(alive))
