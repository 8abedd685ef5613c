"""A run's items as the store records them: rows, scores, error labels, and what changed."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from branchwise.agents.prediction import Prediction
from branchwise.agents.prompt_files import Prompts
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.items import AnsweredItem, Evidence, by_best_gold_set
from branchwise.eval.judging.settle import Settled, scorer_of
from branchwise.eval.scores import Scorer
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import Column, Task, get_task
from branchwise.runs.store import DamagedError, RunReader
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.store.reader import ItemRows, RawItem
from branchwise.ui.traces.lines import ItemLine, Values, one_line

ENDED = frozenset({"done", "failed"})
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError)
"""What reading a damaged record raises."""


def line_of(raw: RawItem) -> ItemLine:
    """The row without scores and labels. Of a damaged record, `error` says so."""
    line = ItemLine(raw.item, raw.id, raw.epoch, "", False, raw.status)
    try:
        body = orjson.loads(raw.body)
        question, ambiguous = one_line(str(body["question"])), bool(body.get("ambiguous"))
    except _DAMAGED as error:
        return _damaged(line, "question", error)
    line = replace(line, question=question, ambiguous=ambiguous)
    if raw.outcome is None or raw.status not in ENDED:
        return line
    try:
        outcome = orjson.loads(raw.outcome)
        failure, seconds = outcome.get("error"), outcome.get("seconds")
        # Input and output of all its model calls; a failed item has them by role alone.
        tokens, usage = outcome.get("tokens"), outcome.get("usage")
        if tokens is None and usage:
            tokens = sum(used["input"] + used["output"] for used in usage.values())
        return replace(
            line,
            tokens=None if tokens is None else int(tokens),
            seconds=None if seconds is None else float(seconds),
            error=None if failure is None else one_line(str(failure)),
        )
    except _DAMAGED as error:
        return _damaged(line, "outcome", error)


def _damaged(line: ItemLine, part: str, error: Exception) -> ItemLine:
    problem = f"the {part}'s record is damaged ({type(error).__name__}: {error})"
    return replace(line, error=one_line(problem))


def unread(item: int, problem: str) -> ItemLine:
    return ItemLine(item, "", 0, "", False, "failed", error=one_line(f"cannot be read: {problem}"))


def answered(raw: RawItem, question: Question | None = None) -> AnsweredItem | None:
    """As scorers read it, by default without passages; None if it has not ended or is damaged."""
    if raw.outcome is None:
        return None
    try:
        outcome = orjson.loads(raw.outcome)
        if question is None:
            question = Question.model_validate({**orjson.loads(raw.body), "passages": ()})
        failure = outcome.get("error")
        # A failed item is scored with an empty prediction, even if its record holds one.
        prediction = outcome["prediction"] if failure is None else {}
        return AnsweredItem(
            item=raw.item,
            question=question,
            prediction=Prediction.model_validate(prediction),
            epoch=raw.epoch,
            evidence=Evidence(tuple(outcome["evidence"])),
            how=outcome["how"],
            error=failure,
        )
    except _DAMAGED:
        return None


def readable_items(
    between: Callable[[int, int], list[RawItem]], first: int, last: int
) -> list[RawItem]:
    """The items that can be read: a damaged page of the file does not hide those on other pages."""
    try:
        return between(first, last)
    except DamagedError:
        if first >= last:
            return []
    middle = (first + last) // 2
    before = readable_items(between, first, middle)
    return before + readable_items(between, middle + 1, last)


@contextmanager
def as_input_errors(path: Path) -> Iterator[None]:
    """Report SQLite's errors about the run at `path` in one line, with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(
            f"{DATABASE} cannot be read ({error})",
            where=str(path),
            remedy="restore the file, or look at another run",
        ) from error


class Watch:
    """Notices which of a run's items changed: in status, in a running item's last event, or in how
    a failed one failed (it may have been tried again)."""

    def __init__(self, rows: ItemRows) -> None:
        self._rows = rows
        self._version = rows.version()
        self._read()

    def _read(self) -> None:
        self.statuses = self._rows.statuses()
        running = [item for item, status in self.statuses.items() if status == "running"]
        self._last, self._failures = self._rows.last_events(running), self._rows.failures()

    @property
    def failures(self) -> int:
        return len(self._failures)

    def changed(self) -> set[int] | None:
        """The items that changed; None if the file was not written to."""
        version = self._rows.version()
        if version == self._version:
            return None
        statuses, last, failures = self.statuses, self._last, self._failures
        self._version = version
        self._read()
        return {
            item
            for item, status in self.statuses.items()
            if status != statuses.get(item)
            or self._last.get(item) != last.get(item)
            or self._failures.get(item) != failures.get(item)
        }


class RunScores:
    """The scores of one run under its own scorer, the saved ones, else by names, one item at a
    time. `columns`: the metrics that are shown, empty for a task that this version does not
    know."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._task: Task | None = None
        self._digests: list[str] = []
        try:
            self._task = get_task(reader.task)
            self._digests = _digests(reader, self._task)
        except InputError:
            pass
        self.columns: tuple[Column, ...] = self._task.shown if self._task else ()
        self._version: tuple[int | None, ...] = ()
        self._forget()
        self.reload()

    def _forget(self) -> None:
        self._kept: dict[tuple[str, int], Values] = {}
        self._gold_sets: dict[tuple[str, int], int] = {}
        self.means: Values = ()
        self.failed = self.items = 0
        self._digest: str | None = None

    def reload(self) -> bool:
        """Read what was saved; returns whether it changed."""
        try:
            version = self._reader.rows.scores_version(self._digests)
        except InputError:
            version = (None,)
        if version == self._version:
            return False
        self._version = version
        self._forget()
        for digest in self._digests:
            try:
                if saved := self._reader.saved_scores(digest):
                    self._take(saved)
                    self._digest = digest
                    break
            except (*_DAMAGED, InputError):
                self._kept = {}
        return True

    def _take(self, saved: Mapping[str, Any]) -> None:
        kept = {(row["id"], row["epoch"]): self._values(row["metrics"]) for row in saved["items"]}
        means = saved["aggregates"]["all"]
        self.means = self._values({key: means[key]["mean"] for key in means})
        counts = saved["counts"]
        self.items, self.failed, self._kept = counts["items"], counts["failed"], kept
        for row in saved["items"]:
            if isinstance(number := row.get("gold_set"), int) and number >= 0:
                self._gold_sets[row["id"], row["epoch"]] = number

    def kept(self, id: str, epoch: int, *, failed: bool, failures: int) -> Values | None:
        """The saved metrics of an item that ended; None if there are none, or if they may be of
        a failed attempt: scores of nothing, and fewer `failures` in the run now."""
        values = self._kept.get((id, epoch)) if self._task else ()
        if values and not failed and failures < self.failed and not any(values):
            return None
        return values

    def by_names(self, item: AnsweredItem) -> Values:
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
        """Where the item's answers were lost as it was saved; None if that is outdated."""
        if self._digest is None:
            return None
        try:
            record = self._reader.saved_errors(self._digest, item)
            if record is None or not self._holds(record, failed=failed):
                return None
            return ItemErrors.from_json(record)
        except (*_DAMAGED, InputError):
            return None

    def kept_labels(
        self, first: int, last: int, failed: Mapping[int, bool]
    ) -> dict[int, tuple[str, ...]]:
        """Saved error labels of the items in `failed`, as far as they are of how each ended."""
        labels: dict[int, tuple[str, ...]] = {}
        if self._digest is None:
            return labels
        try:
            saved = self._reader.rows.errors_between(self._digest, first, last)
        except InputError:
            return labels
        for item, body in saved.items():
            try:
                record = orjson.loads(body)
                if item in failed and self._holds(record, failed=failed[item]):
                    labels[item] = tuple(sorted(map(str, record["labels"])))
            except _DAMAGED:
                continue
        return labels

    def _holds(self, record: Mapping[str, Any], *, failed: bool) -> bool:
        """Whether saved errors are of how the item ended and tell all that is told now."""
        is_told = self._digest != self._digests[-1] or "unmentioned" in record
        return is_told and (record["error"] is not None) is failed

    def _values(self, metrics: Mapping[str, float | None]) -> Values:
        return tuple(metrics[column.key] for column in self.columns)


def _digests(reader: RunReader, task: Task) -> list[str]:
    """Digests under which the run's scores may be, the run's own choice before names alone."""
    digests = []
    if chosen := reader.meta.get("scoring"):
        try:
            choice = ScoringChoice(**chosen).resolved(reader.system)
            folder = reader.system.get("prompts")
            prompts = Prompts.load(Path(folder) if folder and Path(folder).is_dir() else None)
            digests.append(scorer_of(task, choice, prompts, Settled(())).digest)
        except (InputError, TypeError):
            pass  # the run's own scores cannot be told apart
    by_names = Scorer(task.name, task.version, task.matcher).digest
    return list(dict.fromkeys([*digests, by_names]))
