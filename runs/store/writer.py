"""The one thread that writes to a run's SQLite file.

Callers hand over batches of statements; the thread commits everything that is waiting in one
transaction, so many items share a commit. A batch is atomic: all of it is committed, or none.
Items that have ended are packed, some at a time, and the last ones when the file is closed.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.runs.store.connection import connect, fold_log
from branchwise.runs.store.packing import pack_ended
from branchwise.runs.store.run_file import layout_of

Statement = tuple[str, Sequence[Sequence[Any]]]
"""SQL and the rows to execute it with."""
_PACKED_AT_ONCE = 16
"""Items; a millisecond each, in which no other is written."""


class StoreError(Exception):
    """The run could not be written (a full disk, a removed folder). What is committed is safe."""


class _Batch(NamedTuple):
    statements: Sequence[Statement]
    done: "asyncio.Future[None]"
    ends_item: bool


class Writer:
    """Accepts batches from any event loop, in order. Raises StoreError if it cannot be opened.
    `layout`: how statements write rows. After a failed write nothing more is written: every later
    batch fails for the same reason.
    """

    def __init__(self, path: Path) -> None:
        # A plug-in may change the working directory.
        self._path = path.absolute()
        self._failure: str | None = None
        try:
            self._connection = connect(self._path)
            self._file = self._path.stat().st_ino
            self.layout = layout_of(self._connection, path.parent)
            self.layout.enable(self._connection)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(_cannot_write(path, error)) from error
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="run-store", daemon=True)
        self._thread.start()

    async def commit(self, statements: Sequence[Statement], *, ends_item: bool = False) -> None:
        """Write a batch; returns once it is committed. Raises StoreError.

        `ends_item`: an item will not change any more. Cancelling the caller does not take the batch
        back.
        """
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
        """What cannot be packed (the disk is full) stays as it is: it is written."""
        if self._failure:
            return
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            pack_ended(connection, self.layout, also_rest=is_last)
            connection.execute("COMMIT")
            if is_last:
                connection.executescript("PRAGMA incremental_vacuum")
        except sqlite3.Error:
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
