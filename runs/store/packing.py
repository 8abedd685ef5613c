"""Rows that will not change any more, packed: an ended item as one row, passages in blocks.

An item's events and responses say most things twice, and passages of one corpus resemble each
other: compressed together they take a third of what they take one by one. Packing runs inside the
caller's transaction. A row that is not what was written stays where it is, as do the others of its
item.
"""

import sqlite3
from collections.abc import Iterator, Sequence

import orjson

from branchwise.corpora.passages import passage_id
from branchwise.runs.store.bodies import MAX_BODY
from branchwise.runs.store.tables import COLUMNS, ENDED, Layout, Row, hash_number

PER_BLOCK = 128
"""Passages of a block."""
PLACES = 1024
"""Numbers for them: `packed_passages.place` is the block's number times this, and the passage's
number in it."""
PACKED = {"events": "packed_items", "responses": "packed_items", "passages": "passage_blocks"}
"""Where rows of these tables are, once they are packed."""


def pack_ended(connection: sqlite3.Connection, layout: Layout, *, also_rest: bool = False) -> None:
    """Pack the ended items, and passages in full blocks; `also_rest`: in one more, those left."""
    ended = ", ".join(f"'{status}'" for status in ENDED)
    sql = f"""SELECT DISTINCT events.item FROM events JOIN items ON items.item = events.item
        WHERE status IN ({ended})"""  # noqa: S608 - words of ours
    for (item,) in connection.execute(sql).fetchall():
        _pack_item(connection, layout, item)
    pack_passages(connection, layout, only_full=not also_rest)


def pack_passages(
    connection: sqlite3.Connection, layout: Layout, *, only_full: bool = False
) -> None:
    """Pack passages in blocks. `only_full`: as many as fill theirs."""
    sql = f"SELECT rowid, {layout.columns('passages')} FROM passages ORDER BY rowid"  # noqa: S608 - names of ours
    rows = connection.execute(sql).fetchall()
    whole = [row for row in rows if layout.read("passages", row[1:])]
    count = len(whole) - len(whole) % PER_BLOCK if only_full else len(whole)
    for start in range(0, count, PER_BLOCK):
        some = whole[start : min(start + PER_BLOCK, count)]
        sql = "SELECT COALESCE(MAX(block), 0) + 1 FROM passage_blocks"
        ((block,),) = connection.execute(sql).fetchall()
        body = orjson.dumps([row[2:] for row in some])
        connection.execute(layout.insert("passage_blocks"), (block, body))
        places = [(hash_number(row[1]), block * PLACES + n) for n, row in enumerate(some)]
        connection.executemany("INSERT OR IGNORE INTO packed_passages VALUES (?, ?)", places)
        connection.executemany("DELETE FROM passages WHERE rowid = ?", [(row[0],) for row in some])


def _pack_item(connection: sqlite3.Connection, layout: Layout, item: int) -> None:
    found: dict[str, list[Row]] = {}
    for table in ("responses", "events"):
        sql = f"SELECT {layout.columns(table)} FROM {table} WHERE item = ? ORDER BY rowid"  # noqa: S608 - names of ours
        rows = [layout.read(table, row) for row in connection.execute(sql, (item,)).fetchall()]
        if None in rows:
            return
        found[table] = [row for row in rows if row]
    body = packed_item(found["responses"], found["events"])
    if len(body) > MAX_BODY:
        return
    connection.execute(layout.insert("packed_items"), (item, body))
    for table in found:
        connection.execute(f"DELETE FROM {table} WHERE item = ?", (item,))  # noqa: S608 - names of ours


def packed_item(responses: Sequence[Row], events: Sequence[Row]) -> bytes:
    """The rows as the body of one: a line of JSON (all columns but item and body, and the body's
    length), then the bodies."""
    heads = [[(*row[1:-1], len(row[-1])) for row in rows] for rows in (responses, events)]
    bodies = [row[-1] for rows in (responses, events) for row in rows]
    return b"\n".join([orjson.dumps(heads), b"".join(bodies)])


def unpacked(table: str, row: Row) -> Iterator[tuple[str, Row]]:
    """Table and row of everything that a row of `packed_items` or `passage_blocks` packs.

    Raises ValueError, TypeError or LookupError where the row was never packed so.
    """
    if table == "passage_blocks":
        for passage in block_passages(row[-1]):
            yield "passages", passage
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


def block_passages(body: bytes) -> list[Row]:
    """The passages of a block, as rows."""
    return [block_passage(record) for record in read_block(body)]


def read_block(body: bytes) -> list[Row]:
    """Id, title and text of a block's passages."""
    records: list[Row] = orjson.loads(body)
    return records


def block_passage(record: Row) -> Row:
    """One of them as a row. Their hashes are made again, so that they check the content."""
    id, title, text = record
    return (passage_id(f"{id}\n{title}", text), id, title, text)
