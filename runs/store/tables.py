"""The tables of a store: a checksum with each row, compressed bodies, and packed rows.

A row's checksum is the CRC-32 of its table's name, key and content, seeded with a number of the
run's own: it detects a flipped byte and a row of another table or run. Passages need none: their
key is a hash of their content.

Bodies are compressed by zstd with a dictionary of what records look like (`bodies.dictionary`, made
by `benchmarks/store_dictionary.py`), which never changes, or runs could not be read any more.

What will not change any more is packed, in the caller's transaction: an ended item as one row,
passages in blocks, which take a third of what they take one by one. A row that is not what was
written stays where it is, as do the others of its item."""

import functools
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson
import zstandard

from branchwise.corpora.passages import passage_id

Row = tuple[Any, ...]
Statement = tuple[str, Sequence[Sequence[Any]]]

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
"""Tables whose contents are not compressed: there they are until they are packed."""

ENDED = ("done", "failed")


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

    def read(self, table: str, row: Sequence[Any]) -> tuple[Any, ...] | None:
        """A row of `columns_of` without its checksum; None if it is not what was written."""
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


INSERT_PASSAGE = """INSERT OR IGNORE INTO passages SELECT ?1, ?2, ?3, ?4
    WHERE NOT EXISTS (SELECT 1 FROM packed_passages WHERE hash = hash_number(?1))"""
"""Takes a passage's columns in order, and leaves alone what is there already."""
END_ITEM = """UPDATE items SET status = ?1, events = ?2, responses = ?3, outcome = squeeze(?4),
    checksum = checksum('items', item, question, epoch, ?1, ?2, ?3, ?4) WHERE item = ?5"""
COPY_OPENING = """INSERT INTO events
    SELECT ?1, seq, kind, at, body, checksum('events', ?1, seq, kind, at, body) FROM opening"""
"""Takes an item's number and makes the opening its first events."""


@functools.cache
def insert_into(table: str, verb: str = "INSERT") -> str:
    marks = [f"?{n}" for n in range(1, len(COLUMNS[table]) + 1)]
    values = list(marks) if table in _PLAIN else [*marks[:-1], f"squeeze({marks[-1]})"]
    if table != "passages":
        values.append(f"checksum('{table}', {', '.join(marks)})")
    return f"{verb} INTO {table} VALUES ({', '.join(values)})"


@functools.cache
def columns_of(table: str) -> str:
    """The table's columns as a query names them, the checksum (if any) last."""
    names = [*COLUMNS[table], *(() if table == "passages" else ("checksum",))]
    return ", ".join(f"{table}.{name}" for name in names)


def create_table(table: str) -> str:
    """SQL that makes one of the later tables, if it is missing."""
    checksum = "" if table == "packed_passages" else ", checksum INTEGER NOT NULL"
    return f"CREATE TABLE IF NOT EXISTS {table} ({LATER[table].format(checksum)})"


def schema() -> str:
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
            connection.execute(create_table(table))
        return must, read_schema(connection) - must
    finally:
        connection.close()


def read_schema(connection: sqlite3.Connection) -> frozenset[Entry]:
    sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    return frozenset(connection.execute(sql).fetchall())


LEVEL = 6
MAX_BODY = 1 << 26  # bytes

MAX_RATIO = 256
"""A body that would become smaller than this is kept as it is: a file cannot unpack to more than
this many times its own size."""

_of_thread = threading.local()


def squeeze(body: bytes | None) -> bytes | None:
    """The body compressed, or as it is where that would not pay or could not be read back."""
    if body is None or len(body) > MAX_BODY:
        return body
    if not hasattr(_of_thread, "compressor"):
        _of_thread.compressor = zstandard.ZstdCompressor(level=LEVEL, dict_data=_dictionary())
    frame: bytes = _of_thread.compressor.compress(body)
    return frame if len(frame) < len(body) <= MAX_RATIO * len(frame) else body


def expand(stored: bytes) -> bytes:
    """The body as `squeeze` was given it. Raises ValueError for a damaged or too large frame."""
    if not stored.startswith(zstandard.FRAME_HEADER):
        return stored
    try:
        size = zstandard.frame_content_size(stored)
        if not 0 <= size <= min(MAX_BODY, MAX_RATIO * len(stored)):
            raise ValueError("a body unpacks to more than was ever packed")
        if not hasattr(_of_thread, "decompressor"):
            _of_thread.decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary())
        body: bytes = _of_thread.decompressor.decompress(stored)
    except zstandard.ZstdError as error:
        raise ValueError(f"a body cannot be unpacked ({error})") from None
    return body


@functools.cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    data = files("branchwise.runs.store").joinpath("bodies.dictionary").read_bytes()
    return zstandard.ZstdCompressionDict(data)


PER_BLOCK = 128

PLACES = 1024
"""Numbers for them: `packed_passages.place` is the block's number times this, and the passage's
number in it."""

PACKED = {"events": "packed_items", "responses": "packed_items", "passages": "passage_blocks"}
"""Where rows of these tables are, once they are packed."""


def pack_ended(connection: sqlite3.Connection, layout: Layout, *, also_rest: bool = False) -> None:
    """Pack the ended items, and passages in full blocks; `also_rest`: in one more, those left."""
    sql = """SELECT DISTINCT events.item FROM events JOIN items ON items.item = events.item
        WHERE status IN ('done', 'failed')"""
    for (item,) in connection.execute(sql).fetchall():
        _pack_item(connection, layout, item)
    pack_passages(connection, layout, only_full=not also_rest)


def pack_passages(
    connection: sqlite3.Connection, layout: Layout, *, only_full: bool = False
) -> None:
    """Pack passages in blocks. `only_full`: as many as fill theirs."""
    sql = f"SELECT rowid, {columns_of('passages')} FROM passages ORDER BY rowid"  # noqa: S608 - names of ours
    rows = connection.execute(sql).fetchall()
    whole = [row for row in rows if layout.read("passages", row[1:])]
    count = len(whole) - len(whole) % PER_BLOCK if only_full else len(whole)
    for start in range(0, count, PER_BLOCK):
        some = whole[start : min(start + PER_BLOCK, count)]
        sql = "SELECT COALESCE(MAX(block), 0) + 1 FROM passage_blocks"
        ((block,),) = connection.execute(sql).fetchall()
        body = orjson.dumps([row[2:] for row in some])
        connection.execute(insert_into("passage_blocks"), (block, body))
        places = [(hash_number(row[1]), block * PLACES + n) for n, row in enumerate(some)]
        connection.executemany("INSERT OR IGNORE INTO packed_passages VALUES (?, ?)", places)
        connection.executemany("DELETE FROM passages WHERE rowid = ?", [(row[0],) for row in some])


def _pack_item(connection: sqlite3.Connection, layout: Layout, item: int) -> None:
    intact: dict[str, list[Row]] = {}
    for table in ("responses", "events"):
        sql = f"SELECT {columns_of(table)} FROM {table} WHERE item = ? ORDER BY rowid"  # noqa: S608 - names of ours
        rows = [layout.read(table, row) for row in connection.execute(sql, (item,)).fetchall()]
        if None in rows:
            return
        intact[table] = [row for row in rows if row]
    body = packed_item(intact["responses"], intact["events"])
    if len(body) > MAX_BODY:
        return
    connection.execute(insert_into("packed_items"), (item, body))
    for table in intact:
        connection.execute(f"DELETE FROM {table} WHERE item = ?", (item,))  # noqa: S608 - names of ours


def packed_item(responses: Sequence[Row], events: Sequence[Row]) -> bytes:
    """The rows as a line of JSON (keys, and lengths of bodies), then the bodies."""
    heads = [[(*row[1:-1], len(row[-1])) for row in rows] for rows in (responses, events)]
    bodies = [row[-1] for rows in (responses, events) for row in rows]
    return b"\n".join([orjson.dumps(heads), b"".join(bodies)])


def unpacked(table: str, row: Row) -> Iterator[tuple[str, Row]]:
    """Table and row of all that a row packs. Raises ValueError, TypeError or LookupError."""
    if table == "passage_blocks":
        for passage in orjson.loads(row[-1]):
            yield "passages", block_passage(passage)
        return
    item, body = row
    end = body.index(b"\n")
    at = end + 1
    for name, heads in zip(("responses", "events"), orjson.loads(body[:end]), strict=True):
        for *key, length in heads:
            if len(key) + 2 != len(COLUMNS[name]) or not 0 <= length <= len(body) - at:
                raise ValueError("the row of an item packs no such rows")
            yield name, (item, *key, body[at : at + length])
            at += length


def block_passage(record: Row) -> Row:
    """A block's passage (id, title, text) as a row, its hash made again: it checks the content."""
    id, title, text = record
    return (passage_id(f"{id}\n{title}", text), id, title, text)
