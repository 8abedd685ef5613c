"""Properties of items that scores are broken down by, and the bins of their values."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from branchwise.base.text import one_line
from branchwise.eval.items import AnsweredItem


@dataclass(frozen=True)
class Bins:
    """Bins that begin at each of the ascending `edges`, fixed so that a bin holds the same in every
    run. The last is open; the first edge is the least value that can be."""

    edges: tuple[int, ...]

    def place(self, value: int) -> int:
        """Number of the bin that a value is in, from 0."""
        return max(0, bisect_right(self.edges, value) - 1)

    def label(self, place: int) -> str:
        """ "2", "3-5", "1,000-1,999", or "17+" for the last."""
        first = self.edges[place]
        if place == len(self.edges) - 1:
            return f"{first:,}+"
        last = self.edges[place + 1] - 1
        return f"{first:,}" if first == last else f"{first:,}-{last:,}"


META = "meta."
"""What names of groupings by a key of questions' `meta` begin with."""
UNKNOWN, OTHERS = "unknown", "others"
MAX_LABELS = 30
"""Bins of a property that is a word; rarer ones are in `OTHERS`. Words come from question files."""
_MAX_LABEL = 60  # characters

BinPlace = tuple[int, str]
"""Where a bin stands among the others, and its label."""
UNKNOWN_PLACE: BinPlace = (2**62, UNKNOWN)
OTHERS_PLACE: BinPlace = (2**62 - 1, OTHERS)


@dataclass(frozen=True)
class ScoredItem:
    """An item and its metrics."""

    item: AnsweredItem
    metrics: Mapping[str, float | None] = field(default_factory=dict, kw_only=True)

    @property
    def key(self) -> tuple[str, int]:
        return self.item.question.id, self.item.epoch


@dataclass(frozen=True)
class Grouping:
    """A property to break down by: its name, what it says in words, and its bins for an item.
    `bins` gives None for an item without the property, and several bins where it has several
    values: the item counts in each. `is_spent`: it is of what a system did and not of the question.
    """

    name: str
    words: str
    bins: Callable[[ScoredItem], Sequence[BinPlace] | None]
    is_spent: bool = False


def binned(
    bins: Bins, value: Callable[[ScoredItem], int | None]
) -> Callable[[ScoredItem], Sequence[BinPlace] | None]:
    """The bin of a number, where an item has it."""

    def places(item: ScoredItem) -> Sequence[BinPlace] | None:
        number = value(item)
        if number is None:
            return None
        place = bins.place(number)
        return [(place, bins.label(place))]

    return places


def labels(values: Iterable[Any]) -> Sequence[BinPlace]:
    """Bins of words; other types give no value."""
    texts = (one_line(v[: 4 * _MAX_LABEL]) for v in values if isinstance(v, str))
    return [(0, text[:_MAX_LABEL]) for text in dict.fromkeys(texts) if text]


def by_meta(name: str) -> Grouping:
    """By the values of a key of questions' `meta`: `meta.KEY`."""
    key = name.removeprefix(META)
    return Grouping(name, one_line(key)[:_MAX_LABEL], partial(_meta, key))


def _meta(key: str, item: ScoredItem) -> Sequence[BinPlace]:
    """The values of a key: words, numbers, or a list of them."""
    value = item.item.question.meta.get(key)
    listed = value if isinstance(value, list | tuple) else [value]
    places, last = [], OTHERS_PLACE[0] - 1
    for own in dict.fromkeys(own for own in listed if isinstance(own, str | int | float)):
        # Whole numbers are in their order, before others by their words.
        rank = int(own) if isinstance(own, int) and 0 <= own <= last else last
        places += [(rank, label) for _, label in labels([str(own)])]
    return places
