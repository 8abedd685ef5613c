"""What scoring leaves in a run: scores, item errors, what could be looked up, models' judgements.

A missing table counts as empty. SQLite keeps scorers and a running run apart, without a lock."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import orjson

from branchwise.agents.journal import CallKey, Slot
from branchwise.base.errors import InputError, warn
from branchwise.eval.judging.consultant import MemoryJudgements
from branchwise.runs.store.connection import (
    DATABASE,
    DamagedError,
    StoreError,
    connect,
    connect_to_read,
    transaction,
)
from branchwise.runs.store.run_file import layout_of
from branchwise.runs.store.tables import BY_ITSELF, Layout, columns_of, create_table, insert_into


def save_scores(
    run: Path,
    scorer_digest: str,
    scores: Mapping[str, Any],
    errors: Iterable[tuple[int, Mapping[str, Any]]] = (),
) -> None:
    """Save scores in the run, one row per scorer, and each item's errors, all or nothing."""
    # One at a time: as JSON, those of thousands of items take more memory than the run.
    rows = ((scorer_digest, item, orjson.dumps(record)) for item, record in errors)
    score_row = (scorer_digest, orjson.dumps(scores))
    with _results_of(run, "the scores cannot be kept") as connection:
        connection.execute(insert_into("scores", "INSERT OR REPLACE"), score_row)
        connection.execute("DELETE FROM item_errors WHERE scorer = ?", (scorer_digest,))
        connection.executemany(insert_into("item_errors"), rows)


def save_scored_run(run: Path, settings: str, body: bytes) -> None:
    with _results_of(run, "the scores cannot be kept") as connection:
        connection.execute(insert_into("scored_runs", "INSERT OR REPLACE"), (settings, body))


def keep_reach(run: Path, key: str, reach: Mapping[str, Any]) -> None:
    with _results_of(run, "the answers found in the corpus cannot be kept") as connection:
        connection.execute(insert_into("reach", "INSERT OR REPLACE"), (key, orjson.dumps(reach)))


@contextmanager
def _results_of(run: Path, problem: str) -> Iterator[sqlite3.Connection]:
    with transaction(run, problem) as connection:
        layout_of(connection, run).enable(connection)
        for table in ("item_errors", "reach", "scored_runs"):
            connection.execute(create_table(table))
        yield connection


SUFFIX = ".judgements.sqlite"

_WHERE = "WHERE role = ? AND digest = ? AND sample = ?"

_NOT_WRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})


class StoredJudgements:
    """Judgements in the SQLite file at `path`, each reply committed before it is used. A file that
    cannot be written is only read, with one warning. Raises InputError for a file that is no
    database or of a damaged run (a damaged reply in a separate file is asked for again), StoreError
    where a write fails otherwise."""

    def __init__(self, path: Path) -> None:
        # A plug-in may change the working directory before first use.
        self.path = path.absolute()
        self._unwritten = MemoryJudgements()
        self._reading: sqlite3.Connection | None = None
        self._writing: sqlite3.Connection | None = None
        self._layout: Layout | None = None
        self._lock = threading.Lock()
        self._is_closed = self._is_read_only = False

    def recall(self, key: CallKey, sample: int = 0) -> Slot:
        slot = self._unwritten.recall(key, sample)
        return slot if slot.value is not None else Slot(key, sample, self._read(key, sample))

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        # On another thread: a transaction of the run may have to end first.
        problem = await asyncio.to_thread(self._write, slot, orjson.dumps(value))
        if problem:
            warn(problem)
        if self._is_read_only:
            await self._unwritten.keep(slot, value)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        return None

    def close(self) -> None:
        """Wait for a write in progress, then close the file. Safe to call twice."""
        with self._lock:
            self._is_closed = True
            # The reader first: the last to close folds the WAL back, and a reader cannot.
            for connection in (self._reading, self._writing):
                if connection is not None:
                    connection.close()
            self._reading = self._writing = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _read(self, key: CallKey, sample: int) -> Mapping[str, Any] | None:
        try:
            if self._reading is None:
                if not self.path.exists():
                    return None
                self._reading = connect_to_read(self.path)
            layout = self._layout_by(self._reading)
            sql = f"SELECT {columns_of('judgements')} FROM judgements {_WHERE}"  # noqa: S608 - names of ours
            stored = self._reading.execute(sql, (key.role, key.digest, sample)).fetchone()
        except sqlite3.Error as error:
            if "no such table" in str(error):
                return None
            if self.path.name == DATABASE:
                raise DamagedError(self.path.parent, str(error)) from error
            problem = f"cannot be read as kept judgements ({error})"
            remedy = "restore the file, or move it away"
            raise InputError(problem, where=str(self.path), remedy=remedy) from error
        if stored is None:
            return None
        if row := layout.read("judgements", stored):
            with suppress(orjson.JSONDecodeError):
                record = orjson.loads(row[3])
                if isinstance(record, dict):
                    return record
        if self.path.name == DATABASE:
            raise DamagedError(self.path.parent, "a judgement is not what was written")
        warn(f"{self.path}: a damaged reply of {key.role} is requested again")
        return None

    def _write(self, slot: Slot, body: bytes) -> str | None:
        """Commit a row; returns a warning the first time that nothing can be written."""
        with self._lock:
            if self._is_closed or self._is_read_only:
                return None
            try:
                row = (slot.key.role, slot.key.digest, slot.occurrence, body)
                insert = insert_into("judgements", "INSERT OR REPLACE")
                self._connected().execute(insert, row)
            except sqlite3.Error as error:
                # The low byte is the kind of error, the rest says more about it.
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NOT_WRITABLE:
                    problem = f"{self.path}: the model's reply cannot be kept: {error}"
                    raise StoreError(problem) from error
                self._is_read_only = True
                return (
                    f"{self.path}: cannot be written ({error}): the models' replies are not kept,"
                    " and scoring again requests them again; make it writable, or score a copy"
                )
        return None

    def _connected(self) -> sqlite3.Connection:
        if self._writing is None:
            connection = connect(self.path)
            try:
                self._layout_by(connection).enable(connection)
                connection.execute(create_table("judgements"))
            except BaseException:
                connection.close()
                raise
            self._writing = connection
        return self._writing

    def _layout_by(self, connection: sqlite3.Connection) -> Layout:
        if self._layout is None:
            in_run = self.path.name == DATABASE
            self._layout = layout_of(connection, self.path.parent) if in_run else BY_ITSELF
        return self._layout


def run_judgements(run: Path) -> StoredJudgements:
    return StoredJudgements(run / DATABASE)


def file_judgements(predictions: Path) -> StoredJudgements:
    return StoredJudgements(predictions.with_name(predictions.name + SUFFIX))
