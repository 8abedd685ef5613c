"""Spread over epochs: how much the same system differs from itself, and what asking again finds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.ceilings.traced import TracedItem, in_order, means, of_subset
from branchwise.eval.scores import SUBSETS, ItemScore

MEAN_RECALL, UNION_RECALL, GAIN = "mean_recall", "union_recall", "gain"
UNION_METRICS = (MEAN_RECALL, UNION_RECALL, GAIN)


@dataclass(frozen=True)
class MetricSpread:
    """How one metric spreads, over the `n` questions that have it in every epoch.

    `within`: mean over questions of the standard deviation of a question's epochs. `between`:
    standard deviation of the epochs' means. Both divide by the number of epochs less one.
    `best` and `worst`: the highest and the lowest epoch mean. All None where n is 0.
    """

    n: int
    within: float | None = None
    between: float | None = None
    best: float | None = None
    worst: float | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return dict(vars(self))


@dataclass(frozen=True)
class EpochSpread:
    """Spread of a run, by subset (all, ambiguous, unambiguous) and metric.

    `union`: over the questions that ended in every epoch, the mean of strict recall, the recall of
    all epochs' right pairs together, and the gain, one less the other: what asking again finds.
    """

    epochs: int
    metrics: Mapping[str, Mapping[str, MetricSpread]]
    union: Mapping[str, Mapping[str, Aggregate]]

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return {
            "epochs": self.epochs,
            "metrics": {
                subset: {metric: spread.to_json() for metric, spread in found.items()}
                for subset, found in self.metrics.items()
            },
            "union": {
                subset: {metric: value.to_json() for metric, value in found.items()}
                for subset, found in self.union.items()
            },
        }


def epoch_spread(
    items: Iterable[TracedItem], metrics: Sequence[str], *, seed: int = 0
) -> EpochSpread | None:
    """Spread of these metrics of the items over their epochs; None where there is only one.

    Epochs are compared on the same questions: one that has not ended in every epoch (a run that
    goes on), or is unscored in one, stays out, and `n` says how many are left.
    """
    ordered = in_order(items)
    epochs = sorted({item.item.epoch for item in ordered})
    if len(epochs) < 2:
        return None
    rows = [item.row({metric: item.metrics.get(metric) for metric in metrics}) for item in ordered]
    union = _union_rows(ordered, epochs)
    return EpochSpread(
        len(epochs),
        {
            subset: {metric: _spread(chosen, metric, epochs) for metric in metrics}
            for subset in SUBSETS
            for chosen in [of_subset(rows, subset)]
        },
        {subset: means(of_subset(union, subset), UNION_METRICS, seed) for subset in SUBSETS},
    )


def _spread(rows: Iterable[ItemScore], metric: str, epochs: Sequence[int]) -> MetricSpread:
    values: dict[str, dict[int, float]] = defaultdict(dict)
    for row in rows:
        if (value := row.metrics[metric]) is not None:
            values[row.id][row.epoch] = value
    # A row a question, a column an epoch.
    table = [[of[e] for e in epochs] for of in values.values() if len(of) == len(epochs)]
    if not table:
        return MetricSpread(0)
    epoch_means = [fmean(column) for column in zip(*table, strict=True)]
    return MetricSpread(
        len(table),
        fmean(map(stdev, table)),
        stdev(epoch_means),
        max(epoch_means),
        min(epoch_means),
    )


def _union_rows(items: Sequence[TracedItem], epochs: Sequence[int]) -> list[ItemScore]:
    """A row a question, with `UNION_METRICS`; unscored without gold."""
    by_question: dict[str, list[TracedItem]] = defaultdict(list)
    for item in items:
        by_question[item.item.question.id].append(item)
    rows = []
    for asked in by_question.values():
        first = asked[0]
        if len(asked) < len(epochs) or not first.pairs:
            continue
        right: frozenset[GoldPair] = frozenset().union(*(item.right for item in asked))
        mean = fmean(len(item.right) / len(item.pairs) for item in asked)
        union = len(right) / len(first.pairs)
        found = (mean, union, union - mean)
        rows.append(first.row(dict(zip(UNION_METRICS, found, strict=True))))
    return rows
