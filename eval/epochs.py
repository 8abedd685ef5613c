"""Spread over epochs: how much the same system differs from itself, and what asking again finds."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean, stdev
from typing import Any, TypeVar

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_scores import GoldPair
from branchwise.eval.ceilings import TracedItem, in_order
from branchwise.eval.items import GoldKey
from branchwise.eval.scores import SUBSETS, ItemScore, aggregates_by_subset, of_subset
from branchwise.eval.tasks import Column, Total

T = TypeVar("T")
MEAN_RECALL, UNION_RECALL, GAIN = "mean_recall", "union_recall", "gain"
UNION_METRICS = (MEAN_RECALL, UNION_RECALL, GAIN)


@dataclass(frozen=True)
class MetricSpread:
    """How one metric spreads, over the `n` questions that have it in every epoch; None for none.

    `within`: mean over questions of the standard deviation of a question's epochs (None of a score
    that is not a mean). `between`: standard deviation of the epochs' means. Both divide by the
    number of epochs less one. `best` and `worst`: the highest and the lowest epoch mean; `trials`:
    all, in order. `best_of`: for k = 1, 2, ..., what the best of k epochs has (`best_of_k`); of an
    exact match this is pass@k. `worst_of`: what the worst of k has; of an exact match pass^k.
    `agreement`: share of pairs of epochs of a question that have the same value.
    """

    n: int
    within: float | None = None
    between: float | None = None
    best: float | None = None
    worst: float | None = None
    trials: tuple[float, ...] = ()
    best_of: tuple[float, ...] = ()
    worst_of: tuple[float, ...] = ()
    agreement: float | None = None

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class EpochSpread:
    """Spread of a run, by subset (all, ambiguous, unambiguous) and metric. `union`: over the
    questions that ended in every epoch, the mean of recall, the recall of all epochs' right pairs
    together (by gold set), and the gain: what asking again finds."""

    epochs: int
    metrics: Mapping[str, Mapping[str, MetricSpread]]
    union: Mapping[str, Mapping[str, Aggregate]]

    def to_json(self) -> dict[str, Any]:
        return {
            "epochs": self.epochs,
            "metrics": {
                subset: {metric: spread.to_json() for metric, spread in spreads.items()}
                for subset, spreads in self.metrics.items()
            },
            "union": {
                subset: {metric: value.to_json() for metric, value in values.items()}
                for subset, values in self.union.items()
            },
        }


def epoch_spread(items: Iterable[TracedItem], columns: Sequence[Column]) -> EpochSpread | None:
    """Spread of these metrics over the items' epochs; None where there is only one. A question that
    is unscored in an epoch stays out."""
    ordered = in_order(items)
    epochs = sorted({item.item.epoch for item in ordered})
    if len(epochs) < 2:
        return None
    rows = [item.row(item.metrics) for item in ordered]
    union = _union_rows(ordered, epochs)
    return EpochSpread(
        len(epochs),
        {
            subset: {column.key: _spread(chosen, column, epochs) for column in columns}
            for subset in SUBSETS
            for chosen in [of_subset(rows, subset)]
        },
        aggregates_by_subset(union, UNION_METRICS),
    )


def _spread(rows: Iterable[ItemScore], column: Column, epochs: Sequence[int]) -> MetricSpread:
    if column.total:
        return _spread_of_total(rows, column.total, epochs)
    table = _in_every_epoch({(r.id, r.epoch): r.metrics.get(column.key) for r in rows}, epochs)
    if not table:
        return MetricSpread(0)
    means = tuple(fmean(values) for values in zip(*table, strict=True))
    sizes = range(1, len(epochs) + 1)
    within, ends = fmean(map(stdev, table)), (stdev(means), max(means), min(means))
    best = tuple(fmean(best_of_k(row, k) for row in table) for k in sizes)
    # The worst is the best with every sign turned.
    worst = tuple(0.0 - fmean(best_of_k([-v for v in row], k) for row in table) for k in sizes)
    agreement = fmean(map(_agreement, table))
    return MetricSpread(len(table), within, *ends, means, best, worst, agreement)


def best_of_k(values: Sequence[float], k: int) -> float:
    """The mean of the highest of k values, over all ways to choose them. Of values that are 0 or 1
    it is pass@k without bias (Chen et al. 2021, arXiv:2107.03374, section 2.1): 1 - C(n - c, k) /
    C(n, k), c being those that are 1."""
    # A value is the highest of its choices with k - 1 of the `below` values below it.
    highest = (value * comb(below, k - 1) for below, value in enumerate(sorted(values)))
    return sum(highest) / comb(len(values), k)


def _agreement(values: Sequence[float]) -> float:
    """Share of the pairs that are equal; means of epochs are rounded as differences are."""
    counts = Counter(round(value, 12) for value in values).values()
    return sum(comb(count, 2) for count in counts) / comb(len(values), 2)


def _spread_of_total(
    rows: Iterable[ItemScore], total: Total, epochs: Sequence[int]
) -> MetricSpread:
    table = _in_every_epoch({(r.id, r.epoch): total.vector(r.metrics) for r in rows}, epochs)
    by_epoch = zip(*table, strict=True)
    by_epoch_scores = [total.of(*map(sum, zip(*vectors, strict=True))) for vectors in by_epoch]
    scores = [score for score in by_epoch_scores if score is not None]
    if len(scores) < len(epochs):
        return MetricSpread(len(table))
    ends = stdev(scores), max(scores), min(scores)
    return MetricSpread(len(table), None, *ends, tuple(scores))


def _in_every_epoch(
    values: Mapping[tuple[str, int], T | None], epochs: Sequence[int]
) -> list[list[T]]:
    """A row a question that has a value in every epoch, a column an epoch."""
    by_question: dict[str, dict[int, T]] = defaultdict(dict)
    for (id, epoch), value in values.items():
        if value is not None:
            by_question[id][epoch] = value
    return [[of[e] for e in epochs] for of in by_question.values() if len(of) == len(epochs)]


def _union_rows(items: Sequence[TracedItem], epochs: Sequence[int]) -> list[ItemScore]:
    """A row a question, with `UNION_METRICS`; unscored without gold."""
    by_question: dict[str, list[TracedItem]] = defaultdict(list)
    for item in items:
        by_question[item.item.question.id].append(item)
    rows = []
    for asked in by_question.values():
        if len(asked) < len(epochs) or not asked[0].pairs:
            continue
        right: dict[GoldKey, set[GoldPair]] = defaultdict(set)
        for item in asked:
            right[item.item.gold_key] |= item.right
        counts = {item.item.gold_key: len(item.pairs) for item in asked}
        mean = fmean(len(item.right) / len(item.pairs) for item in asked)
        union = max(len(pairs) / counts[key] for key, pairs in right.items())
        rows.append(asked[0].row({MEAN_RECALL: mean, UNION_RECALL: union, GAIN: union - mean}))
    return rows
