"""Items of a run for lists: a few columns of some rows, read on demand.

Nothing here reads a passage or an event's body, and no question becomes a model object.
"""

import zlib
from collections.abc import Iterable
from typing import NamedTuple

from branchwise.runs.store.damage import DamagedError
from branchwise.runs.store.run_file import RunFile


class Place(NamedTuple):
    """Where an item stands: its number, its question's number in the set, its epoch."""

    item: int
    question: int
    epoch: int


class RawItem(NamedTuple):
    """An item as stored. `body`: the question's record, with passages as references; `outcome` is
    present once the item has ended."""

    item: int
    id: str
    epoch: int
    status: str
    body: bytes
    outcome: bytes | None


class ItemRows:
    """Light queries on one run. Every method reads everything before it returns, so that no cursor
    pins the file's state. Raises DamagedError if the file is damaged."""

    def __init__(self, file: RunFile) -> None:
        self._file = file

    def version(self) -> int:
        """Changes whenever another connection has committed; costs almost nothing."""
        ((version,),) = self._file.query("PRAGMA data_version")
        return int(version)

    def places(self) -> list[Place]:
        """All items in order."""
        # In the index's order, so that rows with their outcomes are not read.
        sql = "SELECT item, question, epoch FROM items ORDER BY question, epoch"
        places = sorted(Place(*row) for row in self._file.query(sql))
        if self._file.item_count != len(places):
            raise DamagedError(self._file.run, f"{len(places)} items of {self._file.item_count}")
        return places

    def statuses(self) -> dict[int, str]:
        """Item to status, from the index alone."""
        # The condition is always true; it makes SQLite use the index.
        return dict(self._file.query("SELECT item, status FROM items WHERE status >= ''"))

    def between(self, first: int, last: int) -> list[RawItem]:
        """The items with these numbers and those between them."""
        layout = self._file.layout
        width = layout.width("items")
        columns = f"{layout.columns('items')}, {layout.columns('questions')}"
        sql = f"""SELECT {columns} FROM items JOIN questions ON n = question
            WHERE item BETWEEN ? AND ? ORDER BY item"""  # noqa: S608 - names of ours
        found = []
        for row in self._file.query(sql, (first, last)):
            item, _, epoch, status, _, _, outcome = self._file.checked("items", row[:width])
            _, id, body = self._file.checked("questions", row[width:])
            found.append(RawItem(item, id, epoch, status, body, outcome))
        return found

    def number(self, id: str, epoch: int) -> int | None:
        """The item of a question by its id; None if there is none."""
        sql = "SELECT item FROM questions JOIN items ON question = n WHERE id = ? AND epoch = ?"
        row = next(self._file.query(sql, (id, epoch)), None)
        return row[0] if row else None

    def last_events(self, items: Iterable[int]) -> dict[int, tuple[int, float]]:
        """Number and time of the last event of those of `items`, all running, that have one."""
        sql = "SELECT seq, at FROM events WHERE item = ? ORDER BY seq DESC LIMIT 1"
        found = {item: list(self._file.query(sql, (item,))) for item in items}
        return {item: (seq, at) for item, rows in found.items() for seq, at in rows}

    def failures(self) -> dict[int, bytes]:
        """Outcomes of the items that failed."""
        rows = self._file.each("items", "WHERE status = 'failed'")
        return {item: outcome for item, *_, outcome in rows}

    def errors_between(self, scorer: str, first: int, last: int) -> dict[int, bytes]:
        """What `RunReader.saved_errors` reads of one item, for many items, as stored."""
        rest = "WHERE scorer = ? AND item BETWEEN ? AND ?"
        rows = self._file.each("item_errors", rest, (scorer, first, last))
        return {item: body for _, item, body in rows}

    def scores_version(self, scorers: Iterable[str]) -> tuple[int | None, ...]:
        """A checksum of what each of these scorers has saved; None if a scorer has saved
        nothing."""
        found = [self._file.rows("scores", "WHERE digest = ?", (digest,)) for digest in scorers]
        return tuple(zlib.crc32(rows[0][1]) if rows else None for rows in found)
