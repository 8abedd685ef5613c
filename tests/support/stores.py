"""Changing what a run holds behind its back: as its writer would have written it, or as damage.

Packed rows are laid out first, as they were before they were packed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from branchwise.runs.store.connection import DATABASE, DamagedError
from branchwise.runs.store.run_file import layout_of
from branchwise.runs.store.tables import (
    BY_ITSELF,
    COLUMNS,
    PACKED,
    Layout,
    columns_of,
    insert_into,
    unpacked,
)

COUNTS = """UPDATE items SET
    events = (SELECT COUNT(*) FROM events WHERE events.item = items.item),
    responses = (SELECT COUNT(*) FROM responses WHERE responses.item = items.item)
    WHERE status IN ('done', 'failed')"""


def lay_out(connection: sqlite3.Connection, layout: Layout) -> None:
    layout.enable(connection)
    for packs in sorted(set(PACKED.values())):
        rows = connection.execute(f"SELECT {columns_of(packs)} FROM {packs}").fetchall()
        for pack in filter(None, (layout.read(packs, row) for row in rows)):
            connection.execute(f"DELETE FROM {packs} WHERE rowid = ?", pack[:1])
            for table, row in unpacked(packs, pack):
                connection.execute(insert_into(table), row)
    connection.execute("DELETE FROM packed_passages")


@contextmanager
def edited(run: Path) -> Iterator[sqlite3.Connection]:
    """A connection to change the run by; afterwards its counts and checksums are right again."""
    connection = sqlite3.connect(run / DATABASE, isolation_level=None)
    try:
        layout = layout_of(connection, run)
        connection.execute("BEGIN")
        lay_out(connection, layout)
        yield connection
        connection.execute(COUNTS)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        for table in tables & (COLUMNS.keys() - {"passages"}):
            (BY_ITSELF if table == "meta" else layout).enable(connection)
            *key, content = COLUMNS[table]
            content = content if table == "meta" else f"plain({content})"
            columns = ", ".join([*key, content])
            connection.execute(f"UPDATE {table} SET checksum = checksum('{table}', {columns})")
        connection.execute("COMMIT")
    finally:
        connection.close()


def execute(run: Path, sql: str, *values: Any) -> None:
    """One statement, as the run's writer would have written it."""
    with edited(run) as connection:
        connection.execute(sql, values)


def forget_ends(run: Path) -> None:
    """Put every item back to running, as a kill just before the last commit would."""
    execute(run, "UPDATE items SET status = 'running', outcome = NULL")


def damage(run: Path, sql: str, *values: Any) -> None:
    """One statement that leaves counts and checksums as they were."""
    connection = sqlite3.connect(run / DATABASE, isolation_level=None)
    with suppress(DamagedError):
        lay_out(connection, layout_of(connection, run))
    connection.execute(sql, values)
    connection.close()
