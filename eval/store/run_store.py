"""A run folder open for writing: made once, continued any number of times."""

import fcntl
import importlib.resources
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import orjson

from branchwise.agents.journal import Asker
from branchwise.corpora.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.store.connection import DATABASE, DRAFT, FORMAT
from branchwise.eval.store.folding import fold_question
from branchwise.eval.store.journal import INSERT_PASSAGE, ItemJournal
from branchwise.eval.store.opening import begin_with, lay_down
from branchwise.eval.store.reader import Event, RunReader
from branchwise.eval.store.spec import RunSpec
from branchwise.eval.store.writer import Statement, Writer

LOCK = "lock"


class PendingItem(NamedTuple):
    """An item that has not ended. `resumed`: an earlier process began it."""

    item: int
    question: Question
    epoch: int
    resumed: bool


class RunStore:
    """The writing side of a run folder; one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        RunReader.check(path)
        self._lock = _lock(path)
        try:
            self.reader = RunReader.open(path)
            self.writer = Writer(path / DATABASE)
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is queued, then let other processes in."""
        # The reader first: the last to close folds the WAL back, and a reader cannot.
        self.reader.close()
        self.writer.close()
        os.close(self._lock)

    def pending(self, *, retry_failed: bool = False) -> Iterator[PendingItem]:
        """Items to run, in question order; `retry_failed` takes in those that ended in an error."""
        wanted = ("pending", "running", "failed") if retry_failed else ("pending", "running")
        for item, n, epoch, status in self.reader.items_with_status(wanted):
            yield PendingItem(item, self.reader.question(n), epoch, status != "pending")

    def begin(self, pending: PendingItem) -> ItemJournal:
        """The journal of an item; its first commit marks the item as running.

        The events of an earlier, unfinished attempt are discarded; its responses are replayed.
        A fork's item begins with the events that were copied for it.
        """
        item, asker = pending.item, Asker(pending.question.id, pending.epoch)
        opening = list(self.reader.opening())
        copied = [begin_with(item)] if opening else []
        if not pending.resumed:
            return ItemJournal(self.writer, item, {}, [*copied, _running(item)], asker, opening)
        discard = ("DELETE FROM events WHERE item = ?", [(item,)])
        recorded = self.reader.responses(item)
        first = [discard, *copied, _running(item)]
        return ItemJournal(self.writer, item, recorded, first, asker, opening)


def _running(item: int) -> Statement:
    return ("UPDATE items SET status = 'running', outcome = NULL WHERE item = ?", [(item,)])


def create_run(
    path: Path, spec: RunSpec, questions: Sequence[Question], opening: Sequence[Event] = ()
) -> None:
    """Make a run folder with all its items pending.

    `opening`: the first events of a fork's one item. The file appears under its name only when it
    is complete. Raises InputError where something is there already, or where the folder cannot be
    written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        _check_vacant(path)
        lock = _lock(path)
        try:
            _check_vacant(path)
            _fill(path / DRAFT, spec, questions, opening)
            (path / DRAFT).rename(path / DATABASE)
        finally:
            os.close(lock)
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"cannot make a run here ({error})",
            where=str(path),
            remedy="choose another folder with --out",
        ) from error


def _fill(
    draft: Path, spec: RunSpec, questions: Sequence[Question], opening: Sequence[Event]
) -> None:
    # What a process that was killed right here has left is begun anew.
    draft.unlink(missing_ok=True)
    schema = importlib.resources.files("branchwise.eval.store").joinpath("schema.sql").read_text()
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        # A draft that fails is thrown away: a journal to roll back with would only be left behind.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.executescript(f"BEGIN; {schema}")
        meta = {"format": FORMAT, **asdict(spec)}
        rows = [(key, orjson.dumps(value).decode()) for key, value in meta.items()]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        for n, question in enumerate(questions):
            body, passages = fold_question(question)
            connection.execute("INSERT INTO questions VALUES (?, ?, ?)", (n, question.id, body))
            connection.executemany(INSERT_PASSAGE, passages)
        # A fork's item keeps its epoch, so that it is told as the one that it takes up.
        epochs = [spec.fork["epoch"]] if spec.fork else range(spec.epochs)
        items = [(n, epoch) for epoch in epochs for n in range(len(questions))]
        connection.executemany("INSERT INTO items (question, epoch) VALUES (?, ?)", items)
        if spec.fork:
            lay_down(connection, opening)
        connection.execute("COMMIT")
    finally:
        connection.close()


def is_vacant(path: Path) -> bool:
    """Whether a folder holds no more than a process leaves that is killed before it has a run."""
    return path.is_dir() and {entry.name for entry in path.iterdir()} <= {LOCK, DRAFT}


def _check_vacant(path: Path) -> None:
    """Raise InputError where the folder holds more than a killed process leaves."""
    if is_vacant(path):
        return
    remedy = "choose another --out"
    if (path / DATABASE).exists():
        remedy = f"continue it with `branchwise resume {path}` or {remedy}"
    raise InputError("the folder is not empty", where=str(path), remedy=remedy)


def _lock(path: Path) -> int:
    """Hold the run folder for this process; the system lets go of it however the process ends."""
    try:
        handle = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})",
            where=str(path),
            remedy="make the folder writable, or work on a copy of it",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(
            "another process is writing this run",
            where=str(path),
            remedy="wait for it or stop it; then resume",
        ) from None
    return handle
