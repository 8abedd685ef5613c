"""A run folder open for writing: made once, continued any number of times."""

import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import orjson

from branchwise.agents.journal import Asker
from branchwise.base.atomic import give_usual_mode
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.runs.store.connection import DATABASE, DRAFT, FORMAT, PAGE_SIZE
from branchwise.runs.store.item_rows import Place
from branchwise.runs.store.journal import Beginning, ItemJournal
from branchwise.runs.store.opening import begin_with, lay_down
from branchwise.runs.store.packing import pack_passages
from branchwise.runs.store.passage_references import fold_question
from branchwise.runs.store.reader import RunReader
from branchwise.runs.store.run_file import OPENING_COUNT, QUESTION_COUNT, RUN_ID
from branchwise.runs.store.spec import RunSpec
from branchwise.runs.store.tables import BY_ITSELF, PACKS, Layout, schema
from branchwise.runs.store.verifying import check_whole
from branchwise.runs.store.writer import Statement, Writer
from branchwise.trace.events import Event

LOCK = "lock"


class PendingItem(NamedTuple):
    """An item that has not ended. `resumed`: an earlier process started it."""

    item: int
    question: Question
    epoch: int
    resumed: bool


class RunStore:
    """The writing side of a run folder; one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        RunReader.check(path)
        self._lock = hold(path)
        try:
            # Before any write, which would go where a damaged page says.
            check_whole(path)
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
        """Write what is queued, then release the folder."""
        # The reader first: the last to close folds the WAL back, and a reader cannot.
        self.reader.close()
        self.writer.close()
        os.close(self._lock)

    def pending(self, *, retry_failed: bool = False) -> Iterator[PendingItem]:
        """Items to run, in question order; `retry_failed` includes failed ones, and those of which
        a reply was cut at the token limit."""
        cut = frozenset(self.reader.cut_items() if retry_failed else ())
        wanted = ("pending", "running", *(("failed", "done") if retry_failed else ()))
        for item, n, epoch, status in self.reader.items_with_status(wanted):
            if status == "done" and item not in cut:
                continue
            yield PendingItem(item, self.reader.question(n), epoch, status != "pending")

    def begin(self, pending: PendingItem) -> ItemJournal:
        """The journal of an item; its first commit marks the item as running."""
        return ItemJournal(self.writer, self.beginning(pending))

    def beginning(self, pending: PendingItem) -> Beginning:
        """What an item's journal begins with, here or in another process.

        The events of an earlier, unfinished attempt are discarded; its responses are replayed,
        without those that were cut at the token limit if it had ended.
        A fork's item starts with the events copied for it.
        """
        item, asker = pending.item, Asker(pending.question.id, pending.epoch)
        opening = list(self.reader.opening())
        layout = self.writer.layout
        copied = [begin_with(layout, item)] if opening else []
        if not pending.resumed:
            return Beginning(item, {}, [*copied, _running(layout, item)], asker, opening)
        discard = ("DELETE FROM events WHERE item = ?", [(item,)])
        recorded = self.reader.responses(item)
        drop: list[Statement] = []
        if item in self.reader.cut_items():
            cut = [key for key, one in recorded.items() if key[0].kind == "model" and _is_cut(one)]
            recorded = {key: one for key, one in recorded.items() if key not in cut}
            where = "item = ? AND kind = ? AND role = ? AND digest = ? AND occurrence = ?"
            rows = [(item, key.kind, key.role, key.digest, number) for key, number in cut]
            drop = [(f"DELETE FROM responses WHERE {where}", rows)]  # noqa: S608 - names of ours
        first = [*self._unpack(item), *drop, discard, *copied, _running(layout, item)]
        return Beginning(item, recorded, first, asker, opening)

    def _unpack(self, item: int) -> list[Statement]:
        """Lay out the responses of a failed item again: the next attempt adds to them."""
        layout, rows = self.writer.layout, self.reader.packed_rows(item)
        if not rows:
            return []
        responses = [row for table, row in rows if table == "responses"]
        remove = ("DELETE FROM packed_items WHERE item = ?", [(item,)])
        return [remove, (layout.insert("responses"), responses)]


def _is_cut(response: Mapping[str, Any]) -> bool:
    return response.get("finish") == "length"


def _running(layout: Layout, item: int) -> Statement:
    return (layout.end_item(), [("running", None, None, None, item)])


def create_run(
    path: Path, spec: RunSpec, questions: Sequence[Question], opening: Sequence[Event] = ()
) -> None:
    """Make a run folder with all its items pending.

    `opening`: the first events of a fork's one item. The file appears under its name only when it
    is complete. Raises InputError if the folder is not empty or cannot be written.
    """
    with new_file(path) as connection:
        layout = begin_file(connection, spec, len(questions), len(opening))
        for n, question in enumerate(questions):
            put_question(connection, layout, n, question)
        ids = [question.id for question in questions]
        rows = [(*place, "pending", None, None, None) for place in places(spec, ids)]
        connection.executemany(layout.insert("items"), rows)
        if spec.fork:
            lay_down(connection, layout, opening)
        pack_passages(connection, layout)


@contextmanager
def new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """A run's file with its tables, to be filled; it appears under its name when it is complete.

    Raises InputError if the folder is not empty or cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        check_vacant(path)
        lock = hold(path)
        try:
            check_vacant(path)
            with _draft(path / DRAFT) as connection:
                yield connection
            (path / DRAFT).rename(path / DATABASE)
        finally:
            os.close(lock)
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"cannot make a run here ({error})",
            where=str(path),
            remedy="choose another folder with --out",
        ) from error


@contextmanager
def _draft(file: Path) -> Iterator[sqlite3.Connection]:
    # Start again on what a process killed right here has left.
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        # A failed draft is discarded: a rollback journal would only be left behind.
        connection.execute("PRAGMA journal_mode = OFF")
        give_usual_mode(file)
        # Some twenty tables and indexes, most of them small, take a page each.
        connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        # Packed rows leave room inside the file, which is given back when it is closed.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.executescript(f"BEGIN; {schema()}")
        yield connection
        connection.execute("COMMIT")
        connection.executescript("PRAGMA incremental_vacuum")
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    finally:
        connection.close()


def begin_file(
    connection: sqlite3.Connection, spec: RunSpec, questions: int, opening: int
) -> Layout:
    """Write the run's settings into a new file; returns how its rows are written."""
    run_id = secrets.token_hex(8)
    meta = {"format": FORMAT, RUN_ID: run_id, QUESTION_COUNT: questions, OPENING_COUNT: opening}
    meta |= asdict(spec)
    BY_ITSELF.enable(connection)
    rows = [(key, orjson.dumps(value).decode()) for key, value in meta.items()]
    connection.executemany(BY_ITSELF.insert("meta"), rows)
    layout = Layout.of_run(run_id)
    layout.enable(connection)
    for table in PACKS:
        connection.execute(layout.create(table))
    return layout


def put_question(
    connection: sqlite3.Connection, layout: Layout, n: int, question: Question
) -> None:
    """Write a question and its passages."""
    body, passages = fold_question(question)
    connection.execute(layout.insert("questions"), (n, question.id, body))
    connection.executemany(layout.insert_passage(), passages)


def places(spec: RunSpec, questions: Sequence[str]) -> list[Place]:
    """The items of a run over the questions with these ids."""
    # A fork's item keeps its epoch, which identifies the original item.
    epochs = [spec.fork["epoch"]] if spec.fork else range(spec.epochs)
    pairs = ((n, epoch) for epoch in epochs for n in range(len(questions)))
    return [Place(item, *pair) for item, pair in enumerate(pairs, 1)]


def is_vacant(path: Path) -> bool:
    """Whether a folder holds no more than a process leaves that was killed before it made a run."""
    return path.is_dir() and {entry.name for entry in path.iterdir()} <= {LOCK, DRAFT}


def check_vacant(path: Path) -> None:
    """Raise InputError if a folder is there and holds more than a killed process leaves."""
    if not path.exists() or is_vacant(path):
        return
    remedy = "choose another --out"
    if (path / DATABASE).exists():
        remedy = f"continue it with `branchwise resume {path}` or {remedy}"
    raise InputError("the folder is not empty", where=str(path), remedy=remedy)


def hold(path: Path) -> int:
    """Lock the run folder for this process; the system releases it however the process ends."""
    try:
        handle = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
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
