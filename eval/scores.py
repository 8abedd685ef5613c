"""Scores of a run: every item's metrics, and their means with intervals."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.eval.alignment import LEFTOVER_THRESHOLD, MATCHER
from branchwise.eval.bootstrap import RESAMPLES, Aggregate, aggregate
from branchwise.eval.items import Accepted, AnsweredItem
from branchwise.eval.predictions_file import MISSING
from branchwise.eval.tasks import Metrics, Task

SUBSETS = ("all", "ambiguous", "unambiguous")


@dataclass(frozen=True)
class Scorer:
    """What scores depend on besides the items; its digest names them in a run's store.

    `model` and `judge`: the models that aligned branches and accepted answers, without their
    addresses; `prompts`: digest of what they were told. None where names alone decide.
    """

    task: str
    version: int
    matcher: str = MATCHER
    threshold: float = LEFTOVER_THRESHOLD
    seed: int = 0
    resamples: int = RESAMPLES
    model: str | None = None
    judge: str | None = None
    prompts: str | None = None

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of the SHA-256 of the canonical description."""
        canonical = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Counts:
    """How items ended. A failed one counts 0; `answered` gave at least one entity or output.

    A format error is an answer that could not be read; its item is not failed, but empty.
    `missing` are questions that a predictions file does not answer: empty too. `pending` items of
    a run have not ended: they are in no mean yet.
    """

    items: int
    answered: int
    failed: int
    format_errors: int
    missing: int = 0
    pending: int = 0


@dataclass(frozen=True)
class ItemScore:
    """One item's metrics; None is unscored on purpose.

    `matcher` says what aligned its branches where a model was to (`llm`, or `lexical` where that
    brought nothing, which `problem` explains); `accepted` is what a judge settled.
    """

    id: str
    epoch: int
    ambiguous: bool
    metrics: Metrics
    matcher: str | None = None
    problem: str | None = None
    accepted: tuple[Accepted, ...] = ()

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
        return record


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

    def questions(self, subset: str) -> int:
        """How many questions a subset has, scored or not."""
        wanted = {"ambiguous": (True,), "unambiguous": (False,)}.get(subset, (True, False))
        return len({item.id for item in self.items if item.ambiguous in wanted})

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: scorer, digest, counts, aggregates by subset and metric, items."""
        return {
            "scorer": self.scorer.to_json(),
            "digest": self.digest,
            "counts": dict(vars(self.counts)),
            "aggregates": {
                subset: {metric: found.to_json() for metric, found in metrics.items()}
                for subset, metrics in self.aggregates.items()
            },
            "items": [item.to_json() for item in self.items],
        }


def score_items(
    task: Task, items: Iterable[AnsweredItem], *, scorer: Scorer | None = None, seed: int = 0
) -> Scores:
    """Score items of one question set; their order changes nothing.

    A failed item is scored with an empty prediction, whatever it holds. `scorer` describes the
    scoring where models took part in it; without one it is the task's own.
    """
    ordered = sorted(items, key=lambda item: (item.question.id, item.epoch))
    shown = any(item.evidence.passages for item in ordered)
    unscored = () if shown else tuple(c.key for c in task.columns if c.needs_evidence)
    rows = tuple(_score(task, item, unscored) for item in ordered)
    return Scores(
        scorer or Scorer(task.name, task.version, task.matcher, seed=seed),
        _count(ordered),
        _aggregates(task, rows, seed),
        rows,
    )


def _score(task: Task, item: AnsweredItem, unscored: Sequence[str]) -> ItemScore:
    if item.error is not None:
        item = replace(item, prediction=Prediction())
    metrics = {**task.score(item), **dict.fromkeys(unscored)}
    matched = item.matched
    return ItemScore(
        item.question.id,
        item.epoch,
        item.question.ambiguous,
        metrics,
        matched.by if matched else None,
        matched.problem if matched else None,
        item.accepted,
    )


def _count(items: Sequence[AnsweredItem]) -> Counts:
    return Counts(
        items=len(items),
        answered=sum(item.error is None and _is_answered(item.prediction) for item in items),
        failed=sum(item.error is not None for item in items),
        format_errors=sum(item.error is None and item.how == "failed" for item in items),
        missing=sum(item.how == MISSING for item in items),
    )


def _is_answered(prediction: Prediction) -> bool:
    """Whether any branch holds a text that is not blank, or there is other output."""
    texts = (text for branch in prediction.answers.values() for text in branch)
    return prediction.task_output is not None or any(text.strip() for text in texts)


def _aggregates(
    task: Task, rows: Sequence[ItemScore], seed: int
) -> dict[str, dict[str, Aggregate]]:
    chosen = {
        "all": rows,
        "ambiguous": [row for row in rows if row.ambiguous],
        "unambiguous": [row for row in rows if not row.ambiguous],
    }
    metrics = [column.key for column in task.columns]
    return {
        subset: aggregate(
            {metric: question_means(chosen[subset], metric) for metric in metrics}, seed=seed
        )
        for subset in SUBSETS
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
