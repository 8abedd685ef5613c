"""What a run that was stopped before its system was open is told once that is."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from branchwise.runs.store.connection import DATABASE, connect, fold_log
from branchwise.runs.store.tables import BY_ITSELF
from branchwise.runs.store.writer import StoreError


def complete_spec(run: Path, identity: Mapping[str, Any], digest: str) -> None:
    """Write what answers depend on, which `RunSpec` left empty. Raises StoreError."""
    known = {"identity": identity, "system_digest": digest}
    rows = [(key, orjson.dumps(value).decode()) for key, value in known.items()]
    try:
        with closing(connect(run / DATABASE)) as connection:
            BY_ITSELF.enable(connection)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(BY_ITSELF.insert("meta", "INSERT OR REPLACE"), rows)
            connection.execute("COMMIT")
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{run}: the run cannot be written: {error}") from error
