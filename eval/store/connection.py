"""Opening a run's SQLite file."""

import sqlite3
from pathlib import Path

DATABASE = "run.sqlite"
FORMAT = 1
"""Version of the store's layout; a newer one is refused, an older one would be migrated."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the writer. WAL: readers never wait, and a killed process loses nothing."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30.0)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection; works beside a writer and after a kill."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=30.0)
