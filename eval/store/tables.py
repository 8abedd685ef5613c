"""The tables of a store, and the checksum that each row carries.

A row's checksum is the CRC-32 of its table's name, its key and its content, seeded with a number of
the run's own: it detects a flipped byte and a row of another table or run (mixed-up pages of the
disk). Of damage that is not a single burst of 32 bits, one case in four billion is missed. Passages
need none: their key is a hash of their content. Runs from before there were checksums (format 1)
stay as they are: they are read and continued without.
"""

import functools
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson

from branchwise.corpora.passages import passage_id

COLUMNS = {
    "meta": ("key", "value"),
    "questions": ("n", "id", "body"),
    "passages": ("hash", "id", "title", "text"),
    "items": ("item", "question", "epoch", "status", "events", "responses", "outcome"),
    "opening": ("seq", "kind", "at", "body"),
    "events": ("item", "seq", "kind", "at", "body"),
    "responses": ("item", "kind", "role", "digest", "occurrence", "body"),
    "scores": ("digest", "body"),
    "item_errors": ("scorer", "item", "body"),
    "reach": ("key", "body"),
    "judgements": ("role", "digest", "sample", "body"),
}
"""By table: what its checksum covers, in this order. The content is last."""

LATER = {
    "opening": "seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, at REAL NOT NULL,"
    " body BLOB NOT NULL{}",
    "item_errors": "scorer TEXT NOT NULL, item INTEGER NOT NULL, body BLOB NOT NULL{},"
    " PRIMARY KEY (scorer, item)",
    "reach": "key TEXT PRIMARY KEY, body BLOB NOT NULL{}",
    "judgements": "role TEXT NOT NULL, digest TEXT NOT NULL, sample INTEGER NOT NULL,"
    " body BLOB NOT NULL{}, PRIMARY KEY (role, digest, sample)",
}
"""Tables that are made on first use."""
ENDED = ("done", "failed")
"""States of an item that has an outcome."""
_NEW_COLUMNS = ("events", "responses")
"""Of items: missing in format 1."""


_KINDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("n", "item", "question", "epoch", "seq", "occurrence", "sample"), int),
    "at": float,
    "body": bytes,
    **dict.fromkeys(("events", "responses"), (int, type(None))),
    "outcome": (bytes, type(None)),
}
"""What a column holds; the others hold text."""


def row_checksum(seed: int, table: str, row: Sequence[Any]) -> int:
    """The checksum of a row's columns. Raises TypeError for a value that no row of ours holds."""
    *key, content = row
    if isinstance(content, bytes):
        return zlib.crc32(content, zlib.crc32(orjson.dumps([table, *key]), seed))
    return zlib.crc32(orjson.dumps([table, *row]), seed)


@dataclass(frozen=True)
class Layout:
    """How the rows of one store are written and read. `seed`: None if rows have no checksum."""

    seed: int | None

    @classmethod
    def of_run(cls, run_id: str) -> "Layout":
        """The layout of the run with this number."""
        return cls(zlib.crc32(run_id.encode()))

    def enable(self, connection: sqlite3.Connection) -> None:
        """Let the connection's statements write checksums."""

        def checksum(table: str, *row: Any) -> int:
            return row_checksum(self.seed or 0, table, row)

        connection.create_function("checksum", -1, checksum, deterministic=True)

    def insert(self, table: str, verb: str = "INSERT") -> str:
        """SQL that takes the table's columns in order."""
        return _insert(table, verb, self._has_checksum(table))

    def end_item(self) -> str:
        """SQL that takes status, events, responses, outcome and the item's number."""
        if self.seed is None:
            return "UPDATE items SET status = ?1, outcome = ?4 WHERE item = ?5"
        return """UPDATE items SET status = ?1, events = ?2, responses = ?3, outcome = ?4,
            checksum = checksum('items', item, question, epoch, ?1, ?2, ?3, ?4) WHERE item = ?5"""

    def count_rows(self) -> str:
        """SQL that takes an item's numbers of events and of responses, and the item's number."""
        return """UPDATE items SET events = ?1, responses = ?2, checksum = checksum('items', item,
            question, epoch, status, ?1, ?2, outcome) WHERE item = ?3"""

    def copy_opening(self) -> str:
        """SQL that takes an item's number and makes the opening its first events."""
        columns = "?1, seq, kind, at, body"
        checksum = f", checksum('events', {columns})" if self.seed is not None else ""
        return f"INSERT INTO events SELECT {columns}{checksum} FROM opening"  # noqa: S608 - names of ours

    def create(self, table: str) -> str:
        """SQL that makes one of the later tables, if it is missing."""
        checksum = ", checksum INTEGER NOT NULL" if self._has_checksum(table) else ""
        return f"CREATE TABLE IF NOT EXISTS {table} ({LATER[table].format(checksum)})"

    def columns(self, table: str) -> str:
        """The table's columns as a query names them, the checksum (if any) last."""
        return _columns(table, self._has_checksum(table), self.seed is None)

    def width(self, table: str) -> int:
        """How many values `columns` names."""
        return len(COLUMNS[table]) + self._has_checksum(table)

    def is_whole(self, table: str, row: Sequence[Any]) -> bool:
        """Whether a row, as `columns` reads it, is what was written; in format 1, whether its
        values have the right types."""
        if self.seed is None:
            kinds = zip(COLUMNS[table], row, strict=True)
            return all(isinstance(value, _KINDS.get(column, str)) for column, value in kinds)
        try:
            if table == "passages":
                hash, id, title, text = row
                return bool(hash == passage_id(f"{id}\n{title}", text))
            return bool(row_checksum(self.seed, table, row[:-1]) == row[-1])
        except (TypeError, ValueError):
            return False

    def _has_checksum(self, table: str) -> bool:
        return self.seed is not None and table != "passages"


BY_ITSELF = Layout(0)
"""For files that do not belong to a run, and for the table that says which run it is."""


@functools.cache
def _insert(table: str, verb: str, has_checksum: bool) -> str:
    columns = COLUMNS[table]
    marks = ", ".join(f"?{n}" for n in range(1, len(columns) + 1))
    if has_checksum:
        return f"{verb} INTO {table} VALUES ({marks}, checksum('{table}', {marks}))"
    return f"{verb} INTO {table} VALUES ({marks})"


@functools.cache
def _columns(table: str, has_checksum: bool, is_first_format: bool) -> str:
    names = [
        f"NULL AS {name}"
        if is_first_format and table == "items" and name in _NEW_COLUMNS
        else f"{table}.{name}"
        for name in COLUMNS[table]
    ]
    return ", ".join([*names, *([f"{table}.checksum"] if has_checksum else ())])


def schema() -> str:
    """SQL that makes the tables of a new run."""
    return files("branchwise.eval.store").joinpath("schema.sql").read_text()


Entry = tuple[str, str, str, str | None]
"""Of SQLite's schema table: type, name, table, SQL."""


@functools.cache
def expected_schema() -> tuple[frozenset[Entry], frozenset[Entry]]:
    """What a run's schema must have, and what it may have besides."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(schema())
        must = read_schema(connection)
        for table in LATER:
            connection.execute(BY_ITSELF.create(table))
        return must, read_schema(connection) - must
    finally:
        connection.close()


def read_schema(connection: sqlite3.Connection) -> frozenset[Entry]:
    """The schema of a file."""
    sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    return frozenset(connection.execute(sql).fetchall())
