"""Metrics and error labels of a run's items: the saved ones, else by names, one item at a time."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from branchwise.agents.prompt_files import Prompts
from branchwise.base.errors import InputError
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.items import AnsweredItem, by_best_gold_set
from branchwise.eval.judging.settle import Settled, scorer_of
from branchwise.eval.scores import Scorer
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import Column, Task, get_task
from branchwise.runs.store import RunReader
from branchwise.ui.traces.lines import Values

_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, InputError)
"""What reading damaged records raises; they count as not saved."""


class RunScores:
    """The scores of one run under its own scorer; read again by `reload` when they were saved anew.

    `columns`: the metrics that are shown, empty for a task that this version does not know.
    """

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._task = _known_task(reader.task)
        self.columns: tuple[Column, ...] = self._task.shown if self._task else ()
        self._digests = _digests(reader, self._task) if self._task else []
        self._kept: dict[tuple[str, int], Values] = {}
        self._gold_sets: dict[tuple[str, int], int] = {}
        self.failed = 0
        self.means: Values = ()
        self.items = 0
        self.digest: str | None = None
        self.version: tuple[int | None, ...] = ()
        self.reload()

    def reload(self) -> bool:
        """Read what was saved; returns whether it changed."""
        try:
            version = self._reader.rows.scores_version(self._digests)
        except InputError:
            version = (None,)
        if version == self.version:
            return False
        self.version = version
        self._kept, self._gold_sets, self.means = {}, {}, ()
        self.failed, self.items, self.digest = 0, 0, None
        for digest in self._digests:
            try:
                if saved := self._reader.saved_scores(digest):
                    self._take(saved)
                    self.digest = digest
                    break
            except _DAMAGED:
                self._kept = {}
        return True

    def kept(self, id: str, epoch: int, *, failed: bool, failures: int) -> Values | None:
        """The saved metrics of an item that ended; None if there are none or they are outdated.

        Saved scores may be of a pass in which the item failed: with fewer failures in the run now
        (`failures`), a score of nothing may be that of the failed attempt.
        """
        values = self._kept.get((id, epoch)) if self._task else ()
        if values and not failed and failures < self.failed and not any(values):
            return None
        return values

    def by_names(self, item: AnsweredItem) -> Values:
        """The metrics of one item, matched by names alone."""
        if self._task is None:
            return ()
        return self._values(self._task.score(by_best_gold_set(self._task, item)))

    def by_gold_set(self, item: AnsweredItem) -> AnsweredItem:
        """The item by the gold set that it was scored against; by names where no score is kept."""
        if not item.question.alternatives or self._task is None:
            return item
        known = self._gold_sets.get((item.question.id, item.epoch))
        if known is None or known >= len(item.question.gold_sets):
            return by_best_gold_set(self._task, item)
        return replace(item, question=item.question.by_gold_set(known), gold_set=known)

    def kept_errors(self, item: int, *, failed: bool) -> ItemErrors | None:
        """Where the item's answers were lost, as it was saved; None where it was not, or is
        outdated."""
        if self.digest is None:
            return None
        try:
            record = self._reader.saved_errors(self.digest, item)
            if record is None or not self._holds(record, failed=failed):
                return None
            return ItemErrors.from_json(record)
        except _DAMAGED:
            return None

    def kept_labels(
        self, first: int, last: int, failed: Mapping[int, bool]
    ) -> dict[int, tuple[str, ...]]:
        """Saved error labels of the items from `first` to `last` that ended.

        `failed` says of each how it ended; labels of an attempt that ended otherwise are old.
        """
        if self.digest is None:
            return {}
        found: dict[int, tuple[str, ...]] = {}
        try:
            saved = self._reader.rows.errors_between(self.digest, first, last)
        except InputError:
            return found
        for item, body in saved.items():
            try:
                record = orjson.loads(body)
                if item in failed and self._holds(record, failed=failed[item]):
                    found[item] = tuple(sorted(map(str, record["labels"])))
            except _DAMAGED:
                continue
        return found

    def _holds(self, record: Mapping[str, Any], *, failed: bool) -> bool:
        """Whether saved errors are of how the item ended, and tell all that is told of them now.

        By names alone those that do not are worked out again; a model's alignment is kept.
        """
        by_names = self.digest == self._digests[-1]
        tells = not by_names or "unmentioned" in record
        return tells and (record["error"] is not None) is failed

    def _take(self, saved: Mapping[str, Any]) -> None:
        kept = {(row["id"], row["epoch"]): self._values(row["metrics"]) for row in saved["items"]}
        means = saved["aggregates"]["all"]
        self.means = self._values({key: means[key]["mean"] for key in means})
        self.items, self.failed = saved["counts"]["items"], saved["counts"]["failed"]
        self._kept = kept
        sets = ((row["id"], row["epoch"], row.get("gold_set")) for row in saved["items"])
        self._gold_sets = {
            (id, epoch): number
            for id, epoch, number in sets
            if isinstance(number, int) and number >= 0
        }

    def _values(self, metrics: Mapping[str, float | None]) -> Values:
        return tuple(metrics[column.key] for column in self.columns)


def _known_task(name: str) -> Task | None:
    try:
        return get_task(name)
    except InputError:
        return None


def _digests(reader: RunReader, task: Task) -> list[str]:
    """Digests under which the run's scores may be, the run's own choice before names alone."""
    by_names = Scorer(task.name, task.version, task.matcher).digest
    return list(dict.fromkeys([*_with_models(reader, task), by_names]))


def _with_models(reader: RunReader, task: Task) -> list[str]:
    chosen = reader.meta.get("scoring")
    if not chosen:
        return []
    # Only for runs that asked models: these modules take their time to load.

    try:
        choice = ScoringChoice(**chosen).resolved(reader.system)
        folder = reader.system.get("prompts")
        prompts = Prompts.load(Path(folder) if folder and Path(folder).is_dir() else None)
        return [scorer_of(task, choice, prompts, Settled(())).digest]
    except (InputError, TypeError):
        return []
