"""A run's items as the store records them: as rows, where the file is damaged, and what changed."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.runs.store import DamagedError
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.store.reader import ItemRows, RawItem
from branchwise.ui.traces.lines import MAX_TEXT, ItemLine, Values, one_line

MAX_ID = 500
ENDED = frozenset({"done", "failed"})
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError)
"""What reading a damaged record raises."""


def line_of(raw: RawItem) -> ItemLine:
    """The row without scores and labels. Of a damaged record, `error` says so."""
    try:
        question, ambiguous = _asked(orjson.loads(raw.body))
    except _DAMAGED as error:
        return _damaged(raw, "question", error)
    if raw.outcome is None or raw.status not in ENDED:
        return ItemLine(raw.item, raw.id, raw.epoch, question, ambiguous, raw.status)
    try:
        outcome = orjson.loads(raw.outcome)
        failure, tokens, seconds = outcome.get("error"), _tokens(outcome), outcome.get("seconds")
        return ItemLine(
            number=raw.item,
            id=raw.id,
            epoch=raw.epoch,
            question=question,
            ambiguous=ambiguous,
            status=raw.status,
            tokens=tokens,
            seconds=None if seconds is None else float(seconds),
            error=None if failure is None else one_line(str(failure)),
        )
    except _DAMAGED as error:
        return _damaged(raw, "outcome", error, question, ambiguous)


def scored(line: ItemLine, values: Values, labels: tuple[str, ...] | None) -> ItemLine:
    """The row with its metrics and its labels."""
    return replace(line, scores=values, labels=labels)


def unread(item: int, problem: str) -> ItemLine:
    """The row of an item that cannot be read at all."""
    return ItemLine(item, "", 0, "", False, "failed", error=one_line(f"cannot be read: {problem}"))


def answered(raw: RawItem, question: Question | None = None) -> AnsweredItem | None:
    """The item as scorers read it; None where it has not ended or its record is damaged.

    `question`: None reads it without the passages that it brought, which no metric looks at.
    """
    if raw.outcome is None:
        return None
    try:
        outcome = orjson.loads(raw.outcome)
        if question is None:
            question = Question.model_validate({**orjson.loads(raw.body), "passages": ()})
        failure = outcome.get("error")
        # A failed item is scored with an empty prediction, even if its record holds one.
        said = outcome["prediction"] if failure is None else {}
        return AnsweredItem(
            item=raw.item,
            question=question,
            prediction=Prediction.model_validate(said),
            epoch=raw.epoch,
            evidence=Evidence(tuple(outcome["evidence"])),
            how=outcome["how"],
            error=failure,
        )
    except _DAMAGED:
        return None


def _asked(body: Mapping[str, Any]) -> tuple[str, bool]:
    return one_line(str(body["question"])), bool(body.get("ambiguous"))


def _tokens(outcome: Mapping[str, Any]) -> int | None:
    """Input and output of all its model calls; a failed item has them by role alone."""
    if (tokens := outcome.get("tokens")) is not None:
        return int(tokens)
    usage = outcome.get("usage")
    return sum(used["input"] + used["output"] for used in usage.values()) if usage else None


def _damaged(
    raw: RawItem, what: str, error: Exception, question: str = "", ambiguous: bool = False
) -> ItemLine:
    problem = one_line(f"the {what}'s record is damaged ({type(error).__name__}: {error})")
    return ItemLine(
        raw.item, raw.id, raw.epoch, question, ambiguous, raw.status, error=problem[:MAX_TEXT]
    )


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
        return [
            *readable_items(between, first, middle),
            *readable_items(between, middle + 1, last),
        ]


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
        self.statuses = rows.statuses()
        self._last = rows.last_events(self._running())
        self._failures = rows.failures()

    @property
    def failures(self) -> int:
        """How many items had failed."""
        return len(self._failures)

    def changed(self) -> set[int] | None:
        """The items that changed; None if the file was not written to."""
        version = self._rows.version()
        if version == self._version:
            return None
        before, last, failures = self.statuses, self._last, self._failures
        self._version, self.statuses = version, self._rows.statuses()
        self._last = self._rows.last_events(self._running())
        self._failures = self._rows.failures()
        return {
            item
            for item, status in self.statuses.items()
            if status != before.get(item)
            or self._last.get(item) != last.get(item)
            or self._failures.get(item) != failures.get(item)
        }

    def _running(self) -> list[int]:
        return [item for item, status in self.statuses.items() if status == "running"]
