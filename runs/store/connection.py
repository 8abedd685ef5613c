"""Opening a run's SQLite file."""

import contextlib
import os
import sqlite3
from pathlib import Path

DATABASE = "run.sqlite"
DRAFT = f"{DATABASE}.new"
FORMAT = 3
"""The version of the store's layout; others are refused."""

PAGE_SIZE = 1024
"""Bytes."""
FOLDING_WAIT = 2000
"""Milliseconds."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the writer. WAL: readers never wait, and a killed process loses nothing."""
    # Opened on one thread and used on another, but never on two at once.
    connection = sqlite3.connect(path, isolation_level=None, timeout=30.0, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def fold_log(connection: sqlite3.Connection) -> None:
    """Write the log into the file, as the last connection does when it closes.

    A concurrent reader may be the last to close, and cannot do it. An active reader is given a
    moment; then the log stays, and is read with the file as before.
    """
    with contextlib.suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout = {FOLDING_WAIT}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def fold_left_log(path: Path) -> None:
    """Write a killed process's log into the file, so that the file alone holds all of the run.

    Where nothing may be written the log stays, and is read with the file as before.
    """
    if _has(path, "-wal"):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(connect(path)) as connection:
            fold_log(connection)


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection; works beside a writer and after a kill."""
    if _has(path, "-journal") and os.access(path.parent, os.W_OK):
        _roll_back(path)
    uri = f"{path.resolve().as_uri()}?mode=ro"
    if _is_archived(path):
        uri += "&immutable=1"
    # Opened on one thread and used on another, but never on two at once.
    connection = sqlite3.connect(uri, uri=True, timeout=30.0, check_same_thread=False)
    try:
        # The file is untrusted: code in its schema is not run, and its pages are checked.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def log_is_out_of_reach(path: Path) -> bool:
    """Whether the latest writes are in a log that cannot be read in this folder."""
    return not os.access(path.parent, os.W_OK) and (_has(path, "-wal") or _has(path, "-journal"))


def _is_archived(path: Path) -> bool:
    """Whether the file is complete by itself, in a folder without room for WAL's other files."""
    return not os.access(path.parent, os.W_OK) and not _has(path, "-wal")


def _roll_back(path: Path) -> None:
    """Roll back what a process did that was killed just as it turned on the log.

    That one change does not go through the log, and only a writable connection rolls it back. Waits
    for another process that is in the middle of it.
    """
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(path, timeout=30.0)) as connection,
    ):
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()


def _has(path: Path, suffix: str) -> bool:
    """Whether such a file exists beside it. An empty one, which a reader may leave, does not
    count."""
    try:
        return path.with_name(f"{path.name}{suffix}").stat().st_size > 0
    except FileNotFoundError:
        return False
