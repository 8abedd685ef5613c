"""Scores of a run: every item's metrics, and their means over questions with intervals.

A question's epochs are averaged first; questions are what is drawn for an interval.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import stdev
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from branchwise.base.plugins.call import PluginFailure
from branchwise.base.text import counted, printable
from branchwise.eval.alignment import LEFTOVER_THRESHOLD, MATCHER
from branchwise.eval.bootstrap import RESAMPLES, Aggregate, Summed, aggregate, aggregate_all_sums
from branchwise.eval.items import Accepted, AnsweredItem, best_gold_sets
from branchwise.eval.predictions_file import MISSING
from branchwise.eval.tasks import Column, Metrics, Task, Total, get_task, totals_of

if TYPE_CHECKING:
    from branchwise.eval.plugin_metrics import MetricPlugin

_MAX_ID = 80
_LATER = frozenset({"metrics", "decoding", "variant", "pairs"})
SUBSETS = ("all", "ambiguous", "unambiguous")


@dataclass(frozen=True)
class ItemScore:
    """One item's metrics; None is unscored on purpose. `matcher`: what aligned its branches where a
    model was to (`llm`, or `lexical` for the reason in `problem`); `accepted`: what a judge
    settled. `failures`: by plug-in metric, why it has no value. `gold_set`: which of several gold
    sets it was scored against, from 0; `set`: of several question sets joined, which."""

    id: str
    epoch: int
    ambiguous: bool
    metrics: Metrics
    matcher: str | None = None
    problem: str | None = None
    accepted: tuple[Accepted, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    gold_set: int | None = None
    set: str = ""

    def to_json(self) -> dict[str, Any]:
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


class MetricFailures(dict[str, list[ItemScore]]):
    """By plug-in metric the items that it brought nothing for; printed, a line for each metric."""

    def __init__(self, scored: Iterable["Scores"]) -> None:
        super().__init__()
        self._items = [item for scores in scored for item in scores.items]
        for item in self._items:
            for metric in item.failures:
                self.setdefault(metric, []).append(item)

    @property
    def lines(self) -> list[str]:
        """How many items each metric left unscored, and why the first of them."""
        lines, of_all = [], counted(len(self._items), "item")
        for metric, failed in self.items():
            first = failed[0]
            epoch = f" in epoch {first.epoch}" if any(item.epoch for item in failed) else ""
            why = printable(first.failures[metric].removeprefix(f"{metric}: "))
            where = f"the first: question {printable(first.id)[:_MAX_ID]}{epoch}"
            lines.append(f"{metric} failed on {len(failed):,} of {of_all} ({where}: {why})")
        return lines

    def __repr__(self) -> str:
        return "\n".join(self.lines) or "no metric failed"


def told_subsets(has: Callable[[str], bool]) -> tuple[str, ...]:
    """The subsets that have questions: `all`, the last, only where it differs from the others."""
    parts = tuple(subset for subset in SUBSETS if subset != "all" and has(subset))
    return parts if len(parts) == 1 else (*parts, "all")


class _OfQuestion(Protocol):
    @property
    def ambiguous(self) -> bool: ...


_Row = TypeVar("_Row", bound=_OfQuestion)


def of_subset(rows: Iterable[_Row], subset: str) -> list[_Row]:
    wanted = {"ambiguous": (True,), "unambiguous": (False,)}.get(subset, (True, False))
    return [row for row in rows if row.ambiguous in wanted]


def aggregates_of(
    rows: Sequence[ItemScore], metrics: Sequence[str], totals: Mapping[str, Total] = {}
) -> dict[str, Aggregate]:
    """Each metric over the questions of the rows: its mean, or what `totals` has for it."""
    means: dict[str, list[float | None]] = {}
    summed: dict[str, Summed] = {}
    for metric in metrics:
        if total := totals.get(metric):
            summed[metric] = Summed([*question_sums(rows, total).values()], total.of)
        else:
            means[metric] = question_means(rows, metric)
    aggregates = aggregate(means) | aggregate_all_sums(summed)
    return {metric: aggregates[metric] for metric in metrics}


def aggregates_by_subset(
    rows: Sequence[ItemScore], metrics: Sequence[str], totals: Mapping[str, Total] = {}
) -> dict[str, dict[str, Aggregate]]:
    """The same for all, ambiguous and unambiguous questions."""
    return {subset: aggregates_of(of_subset(rows, subset), metrics, totals) for subset in SUBSETS}


def question_sums(rows: Iterable[ItemScore], total: Total) -> dict[str, tuple[float, ...] | None]:
    """Question id to the addends of a total, each the mean over the epochs that are scored; in
    order of first mention, None where none is."""
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
    """Mean of a metric over the scored epochs of each question, in order of first mention; None
    where none is."""
    vectors = question_sums(rows, Total((metric,), float)).values()
    return [None if vector is None else vector[0] for vector in vectors]


def question_deviation(rows: Iterable[ItemScore], metric: str) -> float | None:
    """Sample standard deviation of a metric over questions; None for fewer than two scored ones."""
    known = [mean for mean in question_means(rows, metric) if mean is not None]
    return stdev(known) if len(known) > 1 else None


@dataclass(frozen=True)
class Scorer:
    """What scores depend on besides the items; its digest names them in a run's store. `model` and
    `judge`: the models that aligned branches and accepted answers, without their addresses, None
    where names alone decide; `prompts`: digest of what they were told. `metrics`: of plug-ins, each
    as its column and its source. `decoding`: by role, where a system says it. `variant`: another
    way to score the task's items; `pairs`: which a judge graded, if not all."""

    task: str
    version: int
    matcher: str = MATCHER
    threshold: float = LEFTOVER_THRESHOLD
    seed: int = 0
    resamples: int = RESAMPLES
    model: str | None = None
    judge: str | None = None
    prompts: str | None = None
    metrics: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    decoding: Mapping[str, Any] = field(default_factory=dict, hash=False)
    variant: str = ""
    pairs: str = ""

    def to_json(self) -> dict[str, Any]:
        """Without what was added later if it is empty, so that digests stay what they were."""
        return {key: value for key, value in vars(self).items() if value or key not in _LATER}

    @property
    def scored_task(self) -> Task:
        return get_task(self.task, self.variant)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its reports: the task's, then those of plug-ins."""
        further = (
            Column(**{key: value for key, value in metric.items() if key != "source"}, unit="value")
            for metric in self.metrics
        )
        return (*self.scored_task.columns, *further)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of the SHA-256 of the canonical description."""
        canonical = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Counts:
    """How items ended. A failed one counts 0; `answered` gave at least one entity or output. A
    format error is an answer that could not be read, `missing` a question that a predictions file
    does not answer: both are empty, not failed. `pending` items of a run are in no mean yet. A
    reply of a `cut` one met the token limit; `interrupted` ones failed since their server broke
    off."""

    items: int
    answered: int
    failed: int
    format_errors: int
    missing: int = 0
    pending: int = 0
    cut: int = 0
    interrupted: int = 0


@dataclass(frozen=True)
class Scores:
    """Scores of one run, or of a predictions file.

    `aggregates` maps a subset (all, ambiguous, unambiguous) to the metrics' means over questions,
    epochs of one question averaged first; a subset without questions has n = 0 everywhere.
    """

    scorer: Scorer
    counts: Counts
    aggregates: Mapping[str, Mapping[str, Aggregate]]
    items: tuple[ItemScore, ...]

    @property
    def digest(self) -> str:
        return self.scorer.digest

    @property
    def failures(self) -> MetricFailures:
        """By metric the items for which a plug-in's brought nothing; they are in no mean of it."""
        return MetricFailures([self])

    def without_plugins(self) -> "Scores":
        """The same scores without plug-in metrics, under the digest that goes with that."""
        further = {metric["key"] for metric in self.scorer.metrics}
        if not further:
            return self

        def own(metrics: Mapping[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in metrics.items() if key not in further}

        rows = (replace(item, metrics=own(item.metrics), failures={}) for item in self.items)
        aggregates = {subset: own(values) for subset, values in self.aggregates.items()}
        scorer = replace(self.scorer, metrics=())
        return replace(self, scorer=scorer, aggregates=aggregates, items=tuple(rows))

    def mean(self, metric: str, subset: str) -> Aggregate:
        """The mean of a metric; empty (n = 0) if the items were not scored with it."""
        return self.aggregates[subset].get(metric, Aggregate(None, 0, None, None))

    def questions(self, subset: str) -> int:
        return len({item.id for item in of_subset(self.items, subset)})

    def to_json(self) -> dict[str, Any]:
        return {
            "scorer": self.scorer.to_json(),
            "digest": self.digest,
            "counts": dict(vars(self.counts)),
            "aggregates": {
                subset: {metric: value.to_json() for metric, value in metrics.items()}
                for subset, metrics in self.aggregates.items()
            },
            "items": [item.to_json() for item in self.items],
        }


def all_columns(scored: Iterable[Scores]) -> list[Column]:
    """The columns of several scores of one task: the task's, then those of plug-ins in any."""
    return list({c.key: c for scores in scored for c in scores.scorer.columns}.values())


def common_columns(scored: Sequence[Scores]) -> list[Column]:
    """The plug-ins' columns that all of several scores have: those that can be compared."""
    own = {column.key for column in scored[0].scorer.scored_task.columns}
    held = [{column.key for column in scores.scorer.columns} for scores in scored]
    shared = (c for c in all_columns(scored) if all(c.key in keys for keys in held))
    return [column for column in shared if column.key not in own]


def score_items(
    task: Task,
    items: Iterable[AnsweredItem],
    *,
    scorer: Scorer | None = None,
    metrics: Sequence["MetricPlugin"] = (),
) -> Scores:
    """Score items of one question set; their order changes nothing. A failed item is scored with an
    empty prediction, and one whose question has alternatives by its best gold set
    (`best_gold_sets`). `scorer`: by default the task's own. `metrics`: of plug-ins; where one
    brings nothing the item is unscored, and says why."""
    decided = best_gold_sets(task, items)
    ordered = sorted(decided, key=lambda item: (item.question.id, item.epoch))
    shown = any(item.evidence.passages for item in ordered)
    unscored = () if shown else tuple(c.key for c in task.columns if c.needs_evidence)
    rows = tuple(_score(task, item, unscored, metrics) for item in ordered)
    scorer = scorer or Scorer(task.name, task.version, task.matcher)
    if metrics:
        scorer = replace(scorer, metrics=tuple(metric.to_json() for metric in metrics))
    keys = [*(column.key for column in task.columns), *(metric.name for metric in metrics)]
    aggregates = aggregates_by_subset(rows, keys, totals_of(task.columns))
    return Scores(scorer, _count(ordered), aggregates, rows)


def _score(
    task: Task, item: AnsweredItem, unscored: Sequence[str], further: Sequence["MetricPlugin"]
) -> ItemScore:
    item = item.as_scored
    metrics = {**task.score(item), **dict.fromkeys(unscored)}
    failures = {}
    for metric in further:
        try:
            metrics[metric.name] = metric.of(item)
        except PluginFailure as failure:
            metrics[metric.name], failures[metric.name] = None, failure.line
    return ItemScore(
        item.question.id,
        item.epoch,
        item.question.ambiguous,
        metrics,
        item.matched.by if item.matched else None,
        item.matched.problem if item.matched else None,
        item.accepted,
        failures,
        item.gold_set,
    )


def _count(items: Sequence[AnsweredItem]) -> Counts:
    ended = [item for item in items if item.error is None]
    return Counts(
        items=len(items),
        answered=sum(item.has_texts or item.prediction.task_output is not None for item in ended),
        failed=len(items) - len(ended),
        format_errors=sum(item.how == "failed" for item in ended),
        missing=sum(item.how == MISSING for item in items),
        cut=sum(item.cut for item in items),
        interrupted=sum(item.is_interrupted for item in items),
    )
