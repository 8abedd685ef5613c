"""Which predicted text stands for which gold entity, pair by pair, as the strict score counts."""

from dataclasses import dataclass
from typing import NamedTuple


class GoldPair(NamedTuple):
    """A gold entity under a gold branch: indices into `GoldBranches.names` and its set there."""

    branch: int
    entity: int


class Right(NamedTuple):
    """A predicted text that was counted as a gold entity under its own branch."""

    pair: GoldPair
    branch: str
    text: str


class Wrong(NamedTuple):
    """A predicted text that was counted as wrong, under its predicted branch."""

    branch: str
    text: str


@dataclass(frozen=True)
class BranchMatches:
    """The pairs behind a `SetScore`: `right`, `wrong`, and the gold pairs that are `missing`.

    len(right) is the score's `right`, len(right) + len(missing) its `gold`. `wrong` names at least
    as many texts as are counted wrong: several texts that write one entity of another branch out
    are one wrong entity. Texts that are further forms of an entity already counted are in neither.
    """

    right: tuple[Right, ...]
    missing: tuple[GoldPair, ...]
    wrong: tuple[Wrong, ...]
