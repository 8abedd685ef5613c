"""A run folder open for writing: the writer's thread, the journals of items, and what is pending.

The thread commits all waiting batches of statements in one transaction, each whole or not at all.
Ended items are packed, some at a time, and the last ones when the file is closed."""

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import orjson

from branchwise.agents.journal import Asker, CallKey, Slot
from branchwise.corpora.questions import Question
from branchwise.runs.store.connection import DATABASE, StoreError, connect, fold_log
from branchwise.runs.store.new_run import hold
from branchwise.runs.store.passages import StoredPassage, fold
from branchwise.runs.store.reader import RunReader, open_run
from branchwise.runs.store.run_file import layout_of
from branchwise.runs.store.tables import (
    COPY_OPENING,
    END_ITEM,
    INSERT_PASSAGE,
    Statement,
    insert_into,
    pack_ended,
)
from branchwise.runs.store.verifying import check_whole
from branchwise.trace.events import Event

_PACKED_AT_ONCE = 16
"""Items; a millisecond each, in which no other is written."""


class _Batch(NamedTuple):
    statements: Sequence[Statement]
    done: "asyncio.Future[None]"
    ends_item: bool


class Writer:
    """Accepts batches from any event loop, in order; after a failed write every later one fails."""

    def __init__(self, path: Path) -> None:
        # A plug-in may change the working directory.
        self._path = path.absolute()
        self._failure: str | None = None
        try:
            self._connection = connect(self._path)
            self._file = self._path.stat().st_ino
            self._layout = layout_of(self._connection, path.parent)
            self._layout.enable(self._connection)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(_cannot_write(path, error)) from error
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="run-store", daemon=True)
        self._thread.start()

    async def commit(self, statements: Sequence[Statement], *, ends_item: bool = False) -> None:
        """Return once the batch is committed; cancelling keeps it. Raises StoreError."""
        if self._failure:
            raise StoreError(self._failure)
        done = asyncio.get_running_loop().create_future()
        self._queue.put(_Batch(statements, done, ends_item))
        await done

    def close(self) -> None:
        """Write what is queued and end the thread. Safe to call twice."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        with contextlib.closing(self._connection):
            ended = 0
            while batches := self._take():
                self._write(batches)
                self._wake(batches)
                ended += sum(batch.ends_item for batch in batches)
                if ended >= _PACKED_AT_ONCE:
                    ended = 0
                    self._pack()
            self._pack(is_last=True)
            fold_log(self._connection)

    def _pack(self, *, is_last: bool = False) -> None:
        if self._failure:
            return
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            pack_ended(connection, self._layout, also_rest=is_last)
            connection.execute("COMMIT")
            if is_last:
                connection.executescript("PRAGMA incremental_vacuum")
        except sqlite3.Error:  # a full disk: what cannot be packed is written all the same
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()

    def _take(self) -> list[_Batch]:
        """All waiting batches, at least one; empty at the end."""
        first = self._queue.get()
        batches: list[_Batch] = []
        while first is not None:
            batches.append(first)
            try:
                first = self._queue.get_nowait()
            except queue.Empty:
                return batches
        if batches:
            self._queue.put(None)
        return batches

    def _write(self, batches: Sequence[_Batch]) -> None:
        if self._failure:
            return
        connection = self._connection
        try:
            # A deleted file still accepts writes, which would be lost.
            if self._path.stat().st_ino != self._file:
                raise FileNotFoundError("it was replaced by another file")
            connection.execute("BEGIN IMMEDIATE")
            for batch in batches:
                for sql, rows in batch.statements:
                    connection.executemany(sql, rows)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - without this thread every item waits for ever
            self._failure = _cannot_write(self._path, error)
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()

    def _wake(self, batches: Sequence[_Batch]) -> None:
        waiting: defaultdict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]]
        waiting = defaultdict(list)
        for batch in batches:
            waiting[batch.done.get_loop()].append(batch.done)
        for loop, futures in waiting.items():
            with contextlib.suppress(RuntimeError):  # the loop is closed: there is no waiter left
                loop.call_soon_threadsafe(_settle, futures, self._failure)


def _cannot_write(path: Path, error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    problem = f"{path}: cannot write: {reason}"
    if isinstance(error, FileNotFoundError):
        return f"{problem}; the run was deleted or moved while it was being written"
    return f"{problem}; what was committed is safe; continue with: branchwise resume {path.parent}"


def _settle(futures: Sequence["asyncio.Future[None]"], failure: str | None) -> None:
    """Wake the waiters, on their loop: one hand-over per transaction, however many there are."""
    for future in futures:
        if future.done():
            continue
        if failure:
            future.set_exception(StoreError(failure))
        else:
            future.set_result(None)


Recorded = Mapping[tuple[CallKey, int], Mapping[str, Any]]


class Beginning(NamedTuple):
    """An item's earlier responses, `first` statements, asker; `opening`: events of these."""

    item: int
    recorded: Recorded
    first: Sequence[Statement]
    asker: Asker | None = None
    opening: Sequence[Event] = ()


class Commits(Protocol):
    """Where statements are committed: the run's writer, or the way to it from another process."""

    async def commit(self, statements: Sequence[Statement], *, ends_item: bool = False) -> None: ...


class ItemJournal:
    """Implements `agents.journal.Journal` for an item. Events wait in memory and travel with the
    next response, so tracing costs no commits; of an unfinished attempt only the responses are
    used."""

    def __init__(self, writer: Commits, beginning: Beginning) -> None:
        self._writer = writer
        self._item, self._recorded, first, self._asker, self.opening = beginning
        self._kept, self._first = set(self._recorded), list(first)
        self._occurrences: dict[CallKey, int] = {}
        self._events: list[tuple[int, int, str, float, bytes]] = []
        self._passages: list[StoredPassage] = []
        self._seq = len(self.opening)
        # A tool result comes twice, as a response and as an event, but is folded once. The
        # artifact is held beside its id so that the id stays its own.
        self._folds: dict[int, tuple[Any, dict[str, Any]]] = {}

    def recall(self, key: CallKey) -> Slot:
        occurrence = self._occurrences.get(key, 0)
        self._occurrences[key] = occurrence + 1
        return Slot(key, occurrence, self._recorded.get((key, occurrence)), self._asker)

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        body = self._folded(value)
        key = slot.key
        row = (self._item, key.kind, key.role, key.digest, slot.occurrence, body)
        insert = insert_into("responses", "INSERT OR REPLACE")
        # Counted first: if the caller is cancelled, the row is written all the same.
        self._kept.add((key, slot.occurrence))
        await self._writer.commit([*self._take(), (insert, [row])])

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        self._events.append((self._item, self._seq, kind, time.time(), self._folded(data)))
        self._seq += 1

    async def finish(self, status: str, outcome: Mapping[str, Any]) -> None:
        """Write the item's remaining events and its final row, all or nothing."""
        await self._writer.commit(self.ending(status, outcome), ends_item=True)

    def ending(self, status: str, outcome: Mapping[str, Any]) -> list[Statement]:
        """The statements of `finish`, which are one batch."""
        row = (status, self._seq, len(self._kept), orjson.dumps(outcome), self._item)
        return [*self._take(), (END_ITEM, [row])]

    def _folded(self, record: Mapping[str, Any]) -> bytes:
        artifact = record.get("artifact")
        known = self._folds.pop(id(artifact), None)
        if known is None:
            slim, passages = fold(record)
            self._passages += passages
            if passages and artifact is not None:
                kept = {"content": slim["content"], "artifact": slim["artifact"]}
                self._folds[id(artifact)] = (artifact, kept)
        else:
            slim = {**record, **known[1]}
        return orjson.dumps(slim)

    def _take(self) -> list[Statement]:
        passages, events, statements = self._passages, self._events, self._first
        self._passages, self._events, self._first = [], [], []
        if passages:
            statements.append((INSERT_PASSAGE, passages))
        if events:
            statements.append((insert_into("events"), events))
        return statements


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
            self.reader = open_run(path)
            self.writer = Writer(path / DATABASE)
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        # The reader first: the last to close folds the WAL back, and a reader cannot.
        self.reader.close()
        self.writer.close()
        os.close(self._lock)

    def pending(self, *, retry_failed: bool = False) -> Iterator[PendingItem]:
        """Items to run, in order; `retry_failed`: failed ones and those with a cut reply, too."""
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
        """What an item's journal begins with: events of an unfinished attempt are discarded, its
        responses replayed, without cut ones if it had ended; a fork's item starts with the events
        copied for it."""
        item, asker = pending.item, Asker(pending.question.id, pending.epoch)
        opening = list(self.reader.opening())
        running = (END_ITEM, [("running", None, None, None, item)])
        copied: list[Statement] = [(COPY_OPENING, [(item,)])] if opening else []
        if not pending.resumed:
            return Beginning(item, {}, [*copied, running], asker, opening)
        discard = ("DELETE FROM events WHERE item = ?", [(item,)])
        recorded = self.reader.responses(item)
        changes: list[Statement] = []
        if rows := self.reader.packed_rows(item):
            # A failed item's responses are laid out again: the next attempt adds to them.
            responses = [row for table, row in rows if table == "responses"]
            changes = [
                ("DELETE FROM packed_items WHERE item = ?", [(item,)]),
                (insert_into("responses"), responses),
            ]
        if item in self.reader.cut_items():
            kept = {
                (key, number): response
                for (key, number), response in recorded.items()
                if key.kind != "model" or response.get("finish") != "length"
            }
            where = "item = ? AND kind = ? AND role = ? AND digest = ? AND occurrence = ?"
            keys = [
                (item, key.kind, key.role, key.digest, number)
                for key, number in recorded
                if (key, number) not in kept
            ]
            recorded = kept
            changes.append((f"DELETE FROM responses WHERE {where}", keys))  # noqa: S608 - names of ours
        return Beginning(item, recorded, [*changes, discard, *copied, running], asker, opening)
