"""What scoring leaves in a run: scores, where each item's answers were lost, what was looked up.

The tables of the latter two are made on first use.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from branchwise.runs.store.connection import DATABASE, connect, fold_log
from branchwise.runs.store.run_file import layout_of
from branchwise.runs.store.tables import Layout
from branchwise.runs.store.writer import StoreError


def save_scores(
    run: Path,
    scorer_digest: str,
    scores: Mapping[str, Any],
    errors: Iterable[tuple[int, Mapping[str, Any]]] = (),
) -> None:
    """Save scores in the run, one row per scorer, and each item's errors by its number.

    Replaces what was saved under the same digest, all or nothing. Raises StoreError if it cannot
    write.
    """
    # One at a time: as JSON, those of thousands of items take more memory than the run.
    rows = ((scorer_digest, item, orjson.dumps(found)) for item, found in errors)
    score_row = (scorer_digest, orjson.dumps(scores))
    try:
        with closing(connect(run / DATABASE)) as connection:
            layout = _prepared(connection, run)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(layout.insert("scores", "INSERT OR REPLACE"), score_row)
            connection.execute("DELETE FROM item_errors WHERE scorer = ?", (scorer_digest,))
            connection.executemany(layout.insert("item_errors"), rows)
            connection.execute("COMMIT")
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{run}: the scores cannot be kept: {error}") from error


def save_scored_run(run: Path, settings: str, body: bytes) -> None:
    """Save a scored run under the digest of its settings. Raises StoreError if it cannot write."""
    try:
        with closing(connect(run / DATABASE)) as connection:
            layout = _prepared(connection, run)
            insert = layout.insert("scored_runs", "INSERT OR REPLACE")
            connection.execute(insert, (settings, body))
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{run}: the scores cannot be kept: {error}") from error


def keep_reach(run: Path, key: str, reach: Mapping[str, Any]) -> None:
    """Save what was found in the run's corpus and graph. Raises StoreError if it cannot write."""
    try:
        with closing(connect(run / DATABASE)) as connection:
            layout = _prepared(connection, run)
            row = (key, orjson.dumps(reach))
            connection.execute(layout.insert("reach", "INSERT OR REPLACE"), row)
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(
            f"{run}: the answers found in the corpus cannot be kept: {error}"
        ) from error


def _prepared(connection: sqlite3.Connection, run: Path) -> Layout:
    """How rows are written; makes the tables first."""
    layout = layout_of(connection, run)
    layout.enable(connection)
    for table in ("item_errors", "reach", "scored_runs"):
        connection.execute(layout.create(table))
    return layout
