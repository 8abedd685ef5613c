"""What scoring leaves in a run: scores, where each item's answers were lost, what was looked up.

The tables of the latter two are made when they are first filled, in older runs, too.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from branchwise.eval.store.connection import DATABASE, connect, fold_log
from branchwise.eval.store.writer import StoreError

_CREATE = (
    """CREATE TABLE IF NOT EXISTS item_errors (
        scorer TEXT NOT NULL, item INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (scorer, item)
    )""",
    "CREATE TABLE IF NOT EXISTS reach (key TEXT PRIMARY KEY, body BLOB NOT NULL)",
)


def save_scores(
    run: Path,
    scorer_digest: str,
    scores: Mapping[str, Any],
    errors: Iterable[tuple[int, Mapping[str, Any]]] = (),
) -> None:
    """Keep scores beside the run, one row a scorer, and each item's errors by its number.

    What was kept under the same digest is replaced, all or nothing. Raises StoreError where it
    cannot be.
    """
    rows = [(scorer_digest, item, orjson.dumps(found)) for item, found in errors]
    score_row = (scorer_digest, orjson.dumps(scores))
    try:
        with closing(_opened(run)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT OR REPLACE INTO scores VALUES (?, ?)", score_row)
            connection.execute("DELETE FROM item_errors WHERE scorer = ?", (scorer_digest,))
            connection.executemany("INSERT INTO item_errors VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{run}: the scores cannot be kept: {error}") from error


def keep_reach(run: Path, key: str, reach: Mapping[str, Any]) -> None:
    """Keep what was looked up of the run's corpus and graph. Raises StoreError where it cannot."""
    try:
        with closing(_opened(run)) as connection:
            row = (key, orjson.dumps(reach))
            connection.execute("INSERT OR REPLACE INTO reach VALUES (?, ?)", row)
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{run}: what was looked up cannot be kept: {error}") from error


def _opened(run: Path) -> sqlite3.Connection:
    connection = connect(run / DATABASE)
    try:
        for statement in _CREATE:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection
