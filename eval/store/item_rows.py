"""Items of a run as lists show them: a few columns of some rows, read when they are asked for.

Nothing here reads a passage or an event's body, and no question becomes a model object.
"""

import sqlite3
import zlib
from collections.abc import Iterable
from typing import NamedTuple


class Place(NamedTuple):
    """Where an item stands: its number, its question's number in the set, its epoch."""

    item: int
    question: int
    epoch: int


class RawItem(NamedTuple):
    """An item as it lies in the file. `body`: the question's record, passages as references;
    `outcome` is there once the item has ended."""

    item: int
    id: str
    epoch: int
    status: str
    body: bytes
    outcome: bytes | None


class ItemRows:
    """Light queries on one run. Every method reads all that it returns before it does, so that no
    cursor holds the file's state. Raises sqlite3.Error where the file is damaged."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def version(self) -> int:
        """Changes whenever another connection has committed; costs next to nothing."""
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return version

    def places(self) -> list[Place]:
        """All items in order."""
        # In the index's order, so that the rows with their outcomes are not walked through.
        sql = "SELECT item, question, epoch FROM items ORDER BY question, epoch"
        return sorted(Place(*row) for row in self._connection.execute(sql))

    def statuses(self) -> dict[int, str]:
        """Item to status, from the index alone."""
        # The condition is always true; with it the index is taken.
        sql = "SELECT item, status FROM items WHERE status >= ''"
        return dict(self._connection.execute(sql).fetchall())

    def between(self, first: int, last: int) -> list[RawItem]:
        """The items with these numbers and those between them."""
        sql = """SELECT item, id, epoch, status, body, outcome
            FROM items JOIN questions ON n = question WHERE item BETWEEN ? AND ? ORDER BY item"""
        return [RawItem(*row) for row in self._connection.execute(sql, (first, last))]

    def number(self, id: str, epoch: int) -> int | None:
        """The item of a question by its id; None where there is none."""
        sql = "SELECT item FROM questions JOIN items ON question = n WHERE id = ? AND epoch = ?"
        row = self._connection.execute(sql, (id, epoch)).fetchone()
        return row[0] if row else None

    def last_events(self, items: Iterable[int]) -> dict[int, tuple[int, float]]:
        """Number and time of the last event of those of `items` that have one."""
        sql = "SELECT seq, at FROM events WHERE item = ? ORDER BY seq DESC LIMIT 1"
        rows = ((item, self._connection.execute(sql, (item,)).fetchone()) for item in items)
        return {item: row for item, row in rows if row}

    def failures(self) -> dict[int, bytes]:
        """Outcomes of the items that failed."""
        sql = "SELECT item, outcome FROM items WHERE status = 'failed'"
        return dict(self._connection.execute(sql).fetchall())

    def errors_between(self, scorer: str, first: int, last: int) -> dict[int, bytes]:
        """What `RunReader.saved_errors` reads of one item, of many, as it lies in the file."""
        sql = "SELECT item, body FROM item_errors WHERE scorer = ? AND item BETWEEN ? AND ?"
        try:
            return dict(self._connection.execute(sql, (scorer, first, last)).fetchall())
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            return {}

    def scores_version(self, scorers: Iterable[str]) -> tuple[int | None, ...]:
        """A checksum of what each of these scorers has saved; None where one has saved nothing."""
        sql = "SELECT body FROM scores WHERE digest = ?"
        rows = (self._connection.execute(sql, (digest,)).fetchone() for digest in scorers)
        return tuple(zlib.crc32(row[0]) if row else None for row in rows)
