"""A run's SQLite file: opening it, and what is said when it cannot be read or written."""

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from errno import EACCES
from functools import cached_property
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.files import cannot_read
from branchwise.base.text import one_line

DATABASE = "run.sqlite"
DRAFT = f"{DATABASE}.new"
FORMAT = 3
"""The version of the store's layout; others are refused."""

PAGE_SIZE = 1024  # bytes
FOLDING_WAIT = 2000  # milliseconds


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the writer. WAL: readers never wait, and a killed process loses nothing."""
    # Opened on one thread and used on another, but never on two at once.
    connection = sqlite3.connect(path, isolation_level=None, timeout=30.0, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


@contextmanager
def transaction(run: Path, problem: str) -> Iterator[sqlite3.Connection]:
    """One change of a run beside its writer, all or nothing; StoreError with `problem`."""
    try:
        with closing(connect(run / DATABASE)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{run}: {problem}: {error}") from error


def fold_log(connection: sqlite3.Connection) -> None:
    """Write the log into the file, as the last connection does when it closes: a reader, which may
    be the last, cannot. Beside an active reader the log stays."""
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout = {FOLDING_WAIT}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def fold_left_log(path: Path) -> None:
    """Write a killed process's log into the file, unless nothing may be written."""
    if _has(path, "-wal"):
        with suppress(sqlite3.Error), closing(connect(path)) as connection:
            fold_log(connection)


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection; works beside a writer and after a kill."""
    if _has(path, "-journal") and os.access(path.parent, os.W_OK):
        # A process was killed as it turned on the log, a change that only a writable connection
        # rolls back. Waits for one that is in the middle of it.
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=30.0)) as writable:
            writable.execute("SELECT 1 FROM sqlite_master").fetchall()
    uri = f"{path.resolve().as_uri()}?mode=ro"
    # A complete file in a folder without room for WAL's other files.
    if not os.access(path.parent, os.W_OK) and not _has(path, "-wal"):
        uri += "&immutable=1"
    connection = sqlite3.connect(uri, uri=True, timeout=30.0, check_same_thread=False)
    try:
        # The file is untrusted: code in its schema is not run, and its pages are checked.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _has(path: Path, suffix: str) -> bool:
    """Whether such a file is beside it; an empty one, which a reader may leave, is none."""
    try:
        return path.with_name(f"{path.name}{suffix}").stat().st_size > 0
    except FileNotFoundError:
        return False


_IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DENIED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_STOPPED = {sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_FULL}
_OTHERWISE = _IN_USE | _DENIED | _STOPPED
"""What SQLite says of files that may be whole."""

_TORN = "its pages do not fit together"
_WORDS = {sqlite3.SQLITE_NOTADB: "it is not a database", sqlite3.SQLITE_CORRUPT: _TORN}


class DamagedError(InputError):
    """A run's file is damaged; the rest of it is readable. `share` of whole items: by default
    counted when the message is read, which reads the whole file."""

    def __init__(self, run: Path, damage: str, share: str | None = None) -> None:
        self.run, self.damage, self._share = run, one_line(damage)[:200], share
        remedy = f"save what is whole: branchwise recover {shlex.quote(str(run))} --out NEW"
        super().__init__(f"is damaged ({self.damage})", where=str(run / DATABASE), remedy=remedy)

    def __str__(self) -> str:
        return self._line

    @cached_property
    def _line(self) -> str:
        from branchwise.runs.store.verifying import verify_run

        share = self._share or verify_run(self.run).share
        return f"{self.where}: {self.what}; {share}; {self.remedy}"


def words_of(error: sqlite3.Error) -> str:
    """What is wrong with a file that SQLite cannot read, in words of ours where there are any."""
    return _WORDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error))


def check_line(line: str) -> str | None:
    """What a line of `PRAGMA integrity_check` says, in words; None if nothing is wrong."""
    if line == "ok":
        return None
    problem = one_line(line.removeprefix("*** in database main ***"))
    return _TORN if "malformed" in problem else f"{_TORN}: {problem}"


@contextmanager
def reading(run: Path) -> Iterator[None]:
    """Make SQLite's errors and invalid records a DamagedError, or an InputError where the file may
    be whole."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in _OTHERWISE:
            raise DamagedError(run, words_of(error)) from error
        if not os.access(run / DATABASE, os.R_OK):
            denied = PermissionError(EACCES, os.strerror(EACCES))
            raise cannot_read(run / DATABASE, denied) from None
        remedy = "try again when no other process uses it"
        has_log = _has(run / DATABASE, "-wal") or _has(run / DATABASE, "-journal")
        if has_log and not os.access(run, os.W_OK):
            remedy = "the run was interrupted: to read it, copy the folder to a writable place"
        raise InputError(
            f"{DATABASE} cannot be read as a run ({error})", where=str(run), remedy=remedy
        ) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        # pydantic's and orjson's are ValueErrors.
        raise DamagedError(run, "a record of the run is damaged") from error


class StoreError(Exception):
    """The run could not be written (a full disk, a removed folder). What is committed is safe."""
