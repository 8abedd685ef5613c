"""Breakdowns: scores and ceilings by a property of the question, or by what was spent on it."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from branchwise.corpora.errors import InputError, did_you_mean
from branchwise.corpora.text import one_line
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings.ceilings import CeilingScores, ceiling_metrics
from branchwise.eval.ceilings.traced import TracedItem, in_order
from branchwise.eval.question_scores import ItemScore, aggregates_of
from branchwise.eval.tasks import Column, totals_of


@dataclass(frozen=True)
class Bins:
    """Bins that begin at each of the ascending `edges`; the last one is open.

    Fixed, not quantiles, so that a bin holds the same in every run. The first edge is the least
    value that can be.
    """

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
UNKNOWN, OTHERS = "unknown", "others"
MAX_LABELS = 30
"""Bins of a property that is a word; rarer ones are in `OTHERS`. Words come from question files."""
_MAX_LABEL = 60  # characters

_Place = tuple[int, str]  # where a bin stands among the others, and its label
_UNKNOWN_PLACE: _Place = (2**62, UNKNOWN)
_OTHERS_PLACE: _Place = (2**62 - 1, OTHERS)


@dataclass(frozen=True)
class Grouping:
    """A property to break down by: its name, what it says in words, and its bins for an item.

    `bins` gives None for an item without the property, and several bins where it has several
    values: the item counts in each. `is_spent`: it is of what a system did and not of the question.
    """

    name: str
    words: str
    bins: Callable[[TracedItem], Sequence[_Place] | None]
    is_spent: bool = False


@dataclass(frozen=True)
class Bin:
    """The items with a value: how many, of how many questions, and their scores by metric."""

    label: str
    questions: int
    items: int
    aggregates: Mapping[str, Aggregate]

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        found = {metric: value.to_json() for metric, value in self.aggregates.items()}
        return dict(vars(self)) | {"aggregates": found}


@dataclass(frozen=True)
class Breakdown:
    """The bins of a grouping that hold anything, in order, `UNKNOWN` last."""

    name: str
    words: str
    bins: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return dict(vars(self)) | {"bins": [found.to_json() for found in self.bins]}


def breakdown(
    by: str,
    items: Iterable[TracedItem],
    scores: CeilingScores,
    columns: Sequence[Column],
    *,
    seed: int = 0,
) -> Breakdown:
    """Scores in the bins of one of `GROUPINGS`: of the task's `columns`, and ceilings.

    `scores` are the same items' ceilings.

    Epochs of a question are averaged within a bin; where they fall into several (by calls), the
    question counts once in each. Questions without the property are in `UNKNOWN`; where none has
    it there are no bins. Raises InputError for a name that is no grouping.
    """
    grouping = get_grouping(by)
    ordered = in_order(items)
    places = {item.key: grouping.bins(item) for item in ordered}
    if not any(places.values()):
        return Breakdown(grouping.name, grouping.words, ())
    kept = _most_common(places.values())
    known = {(row.id, row.epoch): row.metrics for row in scores.items}
    totals = totals_of(columns)
    own = [column.key for column in columns if column.key != scores.recall]
    added = [*own, *(name for total in totals.values() for name in total.sums)]
    rows: dict[_Place, list[ItemScore]] = defaultdict(list)
    for item in ordered:
        row = item.row({m: item.metrics.get(m) for m in added} | dict(known[item.key]))
        found = places[item.key] or [_UNKNOWN_PLACE]
        for place in {p if p in kept else _OTHERS_PLACE for p in found}:
            rows[place].append(row)
    metrics = (*own, *ceiling_metrics(scores.recall))
    bins = tuple(
        Bin(
            place[1],
            len({row.id for row in rows[place]}),
            len(rows[place]),
            aggregates_of(rows[place], metrics, seed, totals),
        )
        for place in sorted(rows)
    )
    return Breakdown(grouping.name, grouping.words, bins)


def bins_of(grouping: Grouping, items: Iterable[TracedItem]) -> dict[str, set[str]]:
    """The ids of the questions in each bin, by its label, in order; without the property, none."""
    found: dict[_Place, set[str]] = defaultdict(set)
    placed = {item.key: grouping.bins(item) or () for item in items}
    kept = _most_common(placed.values())
    for (id, _), places in placed.items():
        for place in places:
            found[place if place in kept else _OTHERS_PLACE].add(id)
    return {place[1]: found[place] for place in sorted(found)}


def get_grouping(name: str) -> Grouping:
    """The grouping of this name, or by the values of a key of questions' `meta` (`meta.KEY`).

    Raises InputError that says which there are.
    """
    if name in GROUPINGS:
        return GROUPINGS[name]
    if (key := name.removeprefix(META)) != name and key:
        return Grouping(name, one_line(key)[:_MAX_LABEL], partial(_meta, key))
    remedy = f"{did_you_mean(name, GROUPINGS, cutoff=0.5)}; or meta.KEY, a key of questions' meta"
    raise InputError(f"there is no breakdown by {name[:80]!r}", remedy=remedy)


def _most_common(places: Iterable[Sequence[_Place] | None]) -> set[_Place]:
    counts = Counter(place for found in places for place in set(found or ()))
    ranked = sorted(counts, key=lambda place: (-counts[place], place))
    return {*ranked[:MAX_LABELS], _UNKNOWN_PLACE}


def _binned(
    bins: Bins, value: Callable[[TracedItem], int | None]
) -> Callable[[TracedItem], Sequence[_Place] | None]:
    def places(item: TracedItem) -> Sequence[_Place] | None:
        number = value(item)
        if number is None:
            return None
        place = bins.place(number)
        return [(place, bins.label(place))]

    return places


def _branches(item: TracedItem) -> int | None:
    """Gold branches that have answers."""
    return len({pair.branch for pair in item.pairs}) or None


def _answers(item: TracedItem) -> int | None:
    return len(item.pairs) or None


def _steps(item: TracedItem) -> int | None:
    return len(item.item.question.plan) or None


def _calls(item: TracedItem) -> int | None:
    return len(item.evidence.calls) if item.evidence else None


def _tokens(item: TracedItem) -> int | None:
    return item.evidence.tokens if item.evidence else None


def _operations(item: TracedItem) -> Sequence[_Place] | None:
    """The kinds of step in the plan, each once."""
    steps = item.item.question.plan
    return _labels(step.get("op") for step in steps if isinstance(step, Mapping))


def _domain(item: TracedItem) -> Sequence[_Place] | None:
    return _labels([item.item.question.meta.get("domain")])


def _meta(key: str, item: TracedItem) -> Sequence[_Place]:
    """The values of a key: words, numbers, or a list of them."""
    value = item.item.question.meta.get(key)
    listed = value if isinstance(value, list | tuple) else [value]
    known = dict.fromkeys(one for one in listed if isinstance(one, str | int | float))
    return [(_rank(one), label) for one in known for _, label in _labels([str(one)])]


def _rank(value: str | float) -> int:
    """Whole numbers are in their order, before others by their words."""
    is_small = isinstance(value, int) and 0 <= value < _OTHERS_PLACE[0]
    return int(value) if is_small else _OTHERS_PLACE[0] - 1


def _labels(values: Iterable[Any]) -> Sequence[_Place]:
    """Bins of words; other types give no value."""
    texts = (one_line(v[: 4 * _MAX_LABEL]) for v in values if isinstance(v, str))
    return [(0, text[:_MAX_LABEL]) for text in dict.fromkeys(texts) if text]


_SIZES = Bins((0, 1, 2, 3, 6, 11, 21))
_THOUSANDS = (1, 2, 5, 10, 20, 50, 100, 200)

GROUPINGS: Mapping[str, Grouping] = {
    grouping.name: grouping
    for grouping in (
        Grouping("branches", "gold branches", _binned(Bins((0, 1, 2, 3, 6, 10)), _branches)),
        Grouping("steps", "steps of the plan", _binned(Bins((0, 1, 2, 3, 4, 5, 7)), _steps)),
        Grouping("operations", "operations in the plan (each of them)", _operations),
        Grouping("domain", "domain", _domain),
        Grouping("answers", "gold answers, all branches together", _binned(_SIZES, _answers)),
        Grouping("calls", "tool calls made", _binned(Bins((0, 1, 2, 3, 5, 9, 17)), _calls), True),
        Grouping(
            "tokens",
            "tokens spent, input and output",
            _binned(Bins((0, *(1000 * k for k in _THOUSANDS))), _tokens),
            True,
        ),
    )
}
"""What can be broken down by, by name."""
