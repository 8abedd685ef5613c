"""The tables of a store, and the checksum that each row carries.

A row's checksum is the CRC-32 of its table's name, its key and its content, seeded with a number of
the run's own: it detects a flipped byte and a row of another table or run (mixed-up pages of the
disk). Of damage that is not a single burst of 32 bits, one case in four billion is missed. Passages
need none: their key is a hash of their content. Bodies are compressed (bodies.py), and checksums
are those of what was compressed.
"""

import functools
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson

from branchwise.corpora.passages import passage_id
from branchwise.runs.store.bodies import expand, squeeze

Row = tuple[Any, ...]
"""A row's values in the order of its columns."""

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
    "scored_runs": ("settings", "body"),
    "packed_items": ("item", "body"),
    "passage_blocks": ("block", "body"),
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
    "scored_runs": "settings TEXT PRIMARY KEY, body BLOB NOT NULL{}",
    "packed_items": "item INTEGER PRIMARY KEY, body BLOB NOT NULL{}",
    "passage_blocks": "block INTEGER PRIMARY KEY, body BLOB NOT NULL{}",
    "packed_passages": "hash INTEGER PRIMARY KEY, place INTEGER NOT NULL",
}
"""Tables that are made on first use. `packed_passages`: by hash, a passage's block and its place
there; its content is checked by the hash."""
PACKS = ("packed_items", "passage_blocks", "packed_passages")
"""Those of a run whose rows are packed."""
_PLAIN = frozenset({"meta", "passages", "opening", "events", "responses"})
"""Tables whose contents are not compressed: there they are until they are packed (packing.py)."""
ENDED = ("done", "failed")
"""States of an item that has an outcome."""


def row_checksum(seed: int, table: str, row: Sequence[Any]) -> int:
    """The checksum of a row's columns. Raises TypeError for a value that no row of ours holds."""
    *key, content = row
    if isinstance(content, bytes):
        return zlib.crc32(content, zlib.crc32(orjson.dumps([table, *key]), seed))
    return zlib.crc32(orjson.dumps([table, *row]), seed)


def hash_number(hash: str) -> int:
    """A passage's hash as the key of `packed_passages`."""
    return int.from_bytes(bytes.fromhex(hash), "big", signed=True)


@dataclass(frozen=True)
class Layout:
    """How the rows of one store are written and read. `seed`: of their checksums."""

    seed: int

    @classmethod
    def of_run(cls, run_id: str) -> "Layout":
        """The layout of the run with this number."""
        return cls(zlib.crc32(run_id.encode()))

    def enable(self, connection: sqlite3.Connection) -> None:
        """Let the connection's statements write checksums and compressed bodies."""

        def checksum(table: str, *row: Any) -> int:
            return row_checksum(self.seed, table, row)

        def plain(body: bytes | None) -> bytes | None:
            return body if body is None else expand(body)

        connection.create_function("checksum", -1, checksum, deterministic=True)
        connection.create_function("squeeze", 1, squeeze, deterministic=True)
        connection.create_function("plain", 1, plain, deterministic=True)
        connection.create_function("hash_number", 1, hash_number, deterministic=True)

    def insert(self, table: str, verb: str = "INSERT") -> str:
        """SQL that takes the table's columns in order."""
        return _insert(table, verb)

    def insert_passage(self) -> str:
        """SQL that takes a passage's columns in order, and leaves alone what is there already."""
        return """INSERT OR IGNORE INTO passages SELECT ?1, ?2, ?3, ?4
            WHERE NOT EXISTS (SELECT 1 FROM packed_passages WHERE hash = hash_number(?1))"""

    def end_item(self) -> str:
        """SQL that takes status, events, responses, outcome and the item's number."""
        return """UPDATE items SET status = ?1, events = ?2, responses = ?3, outcome = squeeze(?4),
            checksum = checksum('items', item, question, epoch, ?1, ?2, ?3, ?4) WHERE item = ?5"""

    def copy_opening(self) -> str:
        """SQL that takes an item's number and makes the opening its first events."""
        columns = "?1, seq, kind, at, body"
        return f"INSERT INTO events SELECT {columns}, checksum('events', {columns}) FROM opening"  # noqa: S608 - names of ours

    def create(self, table: str) -> str:
        """SQL that makes one of the later tables, if it is missing."""
        checksum = ", checksum INTEGER NOT NULL" if _has_checksum(table) else ""
        return f"CREATE TABLE IF NOT EXISTS {table} ({LATER[table].format(checksum)})"

    def columns(self, table: str) -> str:
        """The table's columns as a query names them, the checksum (if any) last."""
        return _columns(table)

    def width(self, table: str) -> int:
        """How many values `columns` names."""
        return len(COLUMNS[table]) + _has_checksum(table)

    def read(self, table: str, row: Sequence[Any]) -> tuple[Any, ...] | None:
        """A row as `columns` reads it, as it was written, without its checksum; None if it is not
        what was written."""
        try:
            if table == "passages":
                hash, id, title, text = row
                return tuple(row) if hash == passage_id(f"{id}\n{title}", text) else None
            *values, checksum = row
            if table not in _PLAIN and values[-1] is not None:
                values[-1] = expand(values[-1])
            whole = row_checksum(self.seed, table, values) == checksum
        except (TypeError, ValueError, AttributeError):
            return None
        return tuple(values) if whole else None


BY_ITSELF = Layout(0)
"""For files that do not belong to a run, and for the table that says which run it is."""


@functools.cache
def _insert(table: str, verb: str) -> str:
    marks = [f"?{n}" for n in range(1, len(COLUMNS[table]) + 1)]
    values = list(marks) if table in _PLAIN else [*marks[:-1], f"squeeze({marks[-1]})"]
    if _has_checksum(table):
        values.append(f"checksum('{table}', {', '.join(marks)})")
    return f"{verb} INTO {table} VALUES ({', '.join(values)})"


@functools.cache
def _columns(table: str) -> str:
    names = [*COLUMNS[table], *(["checksum"] if _has_checksum(table) else ())]
    return ", ".join(f"{table}.{name}" for name in names)


def _has_checksum(table: str) -> bool:
    return table != "passages"


def schema() -> str:
    """SQL that makes the tables of a new run."""
    return files("branchwise.runs.store").joinpath("schema.sql").read_text()


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
