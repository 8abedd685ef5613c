"""The one thread that writes to a run's SQLite file.

Callers hand over batches of statements; the thread commits everything that is waiting in one
transaction, so many items share a commit. A batch is atomic: all of it is there, or none.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.eval.store.connection import connect

Statement = tuple[str, Sequence[Sequence[Any]]]
"""SQL and the rows to execute it with."""


class StoreError(Exception):
    """The run could not be written (a full disk, a removed folder). What is committed is safe."""


class _Batch(NamedTuple):
    statements: Sequence[Statement]
    done: "Future[None]"


class Writer:
    """Accepts batches from any thread and event loop, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._failure: StoreError | None = None
        self._thread = threading.Thread(target=self._work, name="run-store", daemon=True)
        self._thread.start()

    async def commit(self, statements: Sequence[Statement]) -> None:
        """Write a batch; returns once it is committed. Raises StoreError."""
        await asyncio.wrap_future(self._put(statements))

    def commit_now(self, statements: Sequence[Statement]) -> None:
        """The same for callers without an event loop; blocks."""
        self._put(statements).result()

    def close(self) -> None:
        """Write what is queued and end the thread. Safe to call twice."""
        self._queue.put(None)
        self._thread.join()

    def _put(self, statements: Sequence[Statement]) -> "Future[None]":
        if self._failure:
            raise self._failure
        done: Future[None] = Future()
        # From here on a cancelled waiter cannot cancel the write that others share.
        done.set_running_or_notify_cancel()
        self._queue.put(_Batch(statements, done))
        return done

    def _work(self) -> None:
        connection = connect(self._path)
        try:
            while batches := self._take():
                self._write(connection, batches)
        finally:
            connection.close()

    def _take(self) -> list[_Batch]:
        """All that is waiting, at least one; empty at the end."""
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

    def _write(self, connection: sqlite3.Connection, batches: Sequence[_Batch]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            for batch in batches:
                for sql, rows in batch.statements:
                    connection.executemany(sql, rows)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._failure = StoreError(f"{self._path}: cannot write: {error}")
        for batch in batches:
            if self._failure:
                batch.done.set_exception(self._failure)
            else:
                batch.done.set_result(None)
