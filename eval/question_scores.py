"""Items' metrics, and what they come to over questions: a question's epochs are averaged first."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev
from typing import Any, Protocol, TypeVar

from branchwise.eval.bootstrap import Aggregate, Summed, aggregate, aggregate_all_sums
from branchwise.eval.items import Accepted
from branchwise.eval.tasks import Metrics, Total

SUBSETS = ("all", "ambiguous", "unambiguous")


@dataclass(frozen=True)
class ItemScore:
    """One item's metrics; None is unscored on purpose.

    `matcher` says what aligned its branches where a model was to (`llm`, or `lexical` where that
    brought nothing, which `problem` explains); `accepted` is what a judge settled. `failures`: by
    plug-in metric, why it has no value. `gold_set`: which of its question's gold sets it was scored
    against, from 0, where there are several.
    """

    id: str
    epoch: int
    ambiguous: bool
    metrics: Metrics
    matcher: str | None = None
    problem: str | None = None
    accepted: tuple[Accepted, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    gold_set: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Without what does not apply."""
        record: dict[str, Any] = {
            "id": self.id,
            "epoch": self.epoch,
            "ambiguous": self.ambiguous,
            "metrics": dict(self.metrics),
        }
        if self.matcher:
            record |= {"matcher": self.matcher, "problem": self.problem}
        if self.accepted:
            record["accepted"] = [vars(pair) for pair in self.accepted]
        if self.failures:
            record["failures"] = dict(self.failures)
        if self.gold_set is not None:
            record["gold_set"] = self.gold_set
        return record


def told_subsets(has: Callable[[str], bool]) -> tuple[str, ...]:
    """The subsets that have questions: ambiguous, unambiguous, then `all` if it differs from both.

    `has`: whether a subset has any questions.
    """
    kinds = tuple(kind for kind in SUBSETS if kind != "all" and has(kind))
    return kinds if len(kinds) == 1 else (*kinds, "all")


class _OfQuestion(Protocol):
    """A row that says what kind of question it is of."""

    @property
    def ambiguous(self) -> bool: ...


_Row = TypeVar("_Row", bound=_OfQuestion)


def of_subset(rows: Iterable[_Row], subset: str) -> list[_Row]:
    """The rows of one of `SUBSETS`."""
    wanted = {"ambiguous": (True,), "unambiguous": (False,)}.get(subset, (True, False))
    return [row for row in rows if row.ambiguous in wanted]


def aggregates_of(
    rows: Sequence[ItemScore],
    metrics: Sequence[str],
    seed: int = 0,
    totals: Mapping[str, Total] = {},
) -> dict[str, Aggregate]:
    """Each metric over the questions of the rows: its mean, or what `totals` has for it."""
    means = [metric for metric in metrics if metric not in totals]
    found = aggregate({metric: question_means(rows, metric) for metric in means}, seed=seed)
    summed = {
        metric: Summed([*question_sums(rows, total).values()], total.of)
        for metric in metrics
        if (total := totals.get(metric))
    }
    found |= aggregate_all_sums(summed, seed=seed)
    return {metric: found[metric] for metric in metrics}


def aggregates_by_subset(
    rows: Sequence[ItemScore],
    metrics: Sequence[str],
    seed: int = 0,
    totals: Mapping[str, Total] = {},
) -> dict[str, dict[str, Aggregate]]:
    """The same for all, ambiguous and unambiguous questions."""
    return {
        subset: aggregates_of(of_subset(rows, subset), metrics, seed, totals) for subset in SUBSETS
    }


def question_sums(rows: Iterable[ItemScore], total: Total) -> dict[str, tuple[float, ...] | None]:
    """Question id to the addends of a total, each the mean over the question's epochs.

    In order of first mention. Epochs in which one is unscored stay out; None where all are.
    """
    by_question: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for row in rows:
        vectors = by_question[row.id]
        if (vector := total.vector(row.metrics)) is not None:
            vectors.append(vector)
    return {
        id: tuple(sum(values) / len(vectors) for values in zip(*vectors, strict=True)) or None
        for id, vectors in by_question.items()
    }


def question_means(rows: Iterable[ItemScore], metric: str) -> list[float | None]:
    """Mean of a metric over the epochs of each question, questions in order of first mention.

    Epochs in which it is unscored stay out; None where all are.
    """
    by_question: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        values = by_question[row.id]
        if (value := row.metrics[metric]) is not None:
            values.append(value)
    return [sum(values) / len(values) if values else None for values in by_question.values()]


def question_deviation(rows: Iterable[ItemScore], metric: str) -> float | None:
    """Sample standard deviation of a metric over questions; None for fewer than two scored ones."""
    known = [mean for mean in question_means(rows, metric) if mean is not None]
    return stdev(known) if len(known) > 1 else None
