"""Changing what a run holds behind its back: as its writer would have written it, or as damage."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from branchwise.eval.store.connection import DATABASE
from branchwise.eval.store.run_file import layout_of
from branchwise.eval.store.tables import BY_ITSELF, COLUMNS

COUNTS = """UPDATE items SET
    events = (SELECT COUNT(*) FROM events WHERE events.item = items.item),
    responses = (SELECT COUNT(*) FROM responses WHERE responses.item = items.item)
    WHERE status IN ('done', 'failed')"""


@contextmanager
def edited(run: Path) -> Iterator[sqlite3.Connection]:
    """A connection to change the run by; afterwards its counts and checksums are right again."""
    connection = sqlite3.connect(run / DATABASE, isolation_level=None)
    try:
        layout = layout_of(connection, run)
        connection.execute("BEGIN")
        yield connection
        connection.execute(COUNTS)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        for table in tables & (COLUMNS.keys() - {"passages"}):
            (BY_ITSELF if table == "meta" else layout).enable(connection)
            columns = ", ".join(COLUMNS[table])
            connection.execute(f"UPDATE {table} SET checksum = checksum('{table}', {columns})")
        connection.execute("COMMIT")
    finally:
        connection.close()


def execute(run: Path, sql: str, *values: Any) -> None:
    """One statement, as the run's writer would have written it."""
    with edited(run) as connection:
        connection.execute(sql, values)


def damage(run: Path, sql: str, *values: Any) -> None:
    """One statement that leaves counts and checksums as they were."""
    connection = sqlite3.connect(run / DATABASE, isolation_level=None)
    connection.execute(sql, values)
    connection.close()
