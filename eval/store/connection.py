"""Opening a run's SQLite file."""

import os
import sqlite3
from pathlib import Path

DATABASE = "run.sqlite"
FORMAT = 1
"""Version of the store's layout; a newer one is refused, an older one would be migrated."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the writer. WAL: readers never wait, and a killed process loses nothing."""
    # Opened on one thread and used on another, but never on two at once.
    connection = sqlite3.connect(path, isolation_level=None, timeout=30.0, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection; works beside a writer and after a kill."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    if _is_archived(path):
        uri += "&immutable=1"
    # Opened on one thread and used on another, but never on two at once.
    return sqlite3.connect(uri, uri=True, timeout=30.0, check_same_thread=False)


def _is_archived(path: Path) -> bool:
    """Whether the file is whole by itself, in a folder that has no room for WAL's other files."""
    log = path.with_name(f"{path.name}-wal")
    return not os.access(path.parent, os.W_OK) and not log.exists()
