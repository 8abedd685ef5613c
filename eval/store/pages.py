"""Rows of a damaged SQLite file, page by page, whatever leads to the pages.

SQLite reaches a row from its table's root; if a page on the way is damaged, everything beyond it is
unreachable. Here every page that looks like a leaf of a table yields its rows. They are unchecked
and may belong to any table: the caller tells by their checksums.

Source of the format: https://www.sqlite.org/fileformat2.html, sections 1.3, 1.5, 1.6, 2.1 and 4.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.eval.store.connection import PAGE_SIZE

_LEAF_OF_TABLE = 0x0D
_FIRST_HEADER, _LOG_HEADER, _FRAME_HEADER = 100, 32, 24
_SIZES = [512 << n for n in range(8)]
_OUR_SIZES = (PAGE_SIZE, 4096)
"""Of runs as they are made, and as they were before."""
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer by its serial type."""


class SqliteRecord(NamedTuple):
    """A row as stored in a page; an INTEGER PRIMARY KEY is None among the values."""

    rowid: int
    values: tuple[Any, ...]


def page_records(database: Path) -> Iterator[SqliteRecord]:
    """The rows of all pages of a database file that are in use.

    Where neither the file nor its log says how long its pages are, each length that a run may have
    is tried; what is read by a wrong one is no row of a run.
    """
    data = Pages(database)
    for size in data.sizes:
        yield from Pages(database, size).records()


class Pages:
    """The pages of a database file, in the version that its log (`-wal`) has, if any.

    `size`: the length of its pages; by default the first of `sizes`, those that it may be.
    """

    def __init__(self, database: Path, size: int | None = None) -> None:
        self._data = database.read_bytes()
        log = database.with_name(f"{database.name}-wal")
        self._log = log.read_bytes() if log.exists() else b""
        self.sizes = _page_sizes(self._data, self._log)
        self._size = size or self.sizes[0]
        self._newer = self._frames()
        self.count = max(len(self._data) // self._size, *self._newer, 0)
        self._usable = self._size - (self._page(1)[20:21] or b"\0")[0]
        if not 480 <= self._usable <= self._size:
            self._usable = self._size

    def records(self) -> Iterator[SqliteRecord]:
        """The rows of all pages that are in use."""
        free = self._free()
        for number in range(1, self.count + 1):
            if number not in free:
                yield from self._records_of(self._page(number), number)

    def _page(self, number: int) -> bytes:
        if number in self._newer:
            return self._newer[number]
        return self._data[(number - 1) * self._size : number * self._size]

    def _frames(self) -> dict[int, bytes]:
        """Pages in the log, the last version of each that was committed."""
        committed: dict[int, bytes] = {}
        waiting: dict[int, bytes] = {}
        salts = self._log[16:24]
        step = _FRAME_HEADER + self._size
        for at in range(_LOG_HEADER, len(self._log) - step + 1, step):
            number, commit, *_ = struct.unpack(">II", self._log[at : at + 8])
            if self._log[at + 8 : at + 16] != salts:
                break  # Left from before the log was restarted.
            waiting[number] = self._log[at + _FRAME_HEADER : at + step]
            if commit:
                committed |= waiting
                waiting = {}
        return committed

    def _free(self) -> set[int]:
        """Pages outside all tables; they may hold deleted rows."""
        free: set[int] = set()
        trunk = int.from_bytes(self._page(1)[32:36], "big")
        while 0 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            page = self._page(trunk)
            leaves = min(int.from_bytes(page[4:8], "big"), self._usable // 4 - 2)
            free |= {int.from_bytes(page[8 + 4 * n : 12 + 4 * n], "big") for n in range(leaves)}
            trunk = int.from_bytes(page[:4], "big")
        return free

    def _records_of(self, page: bytes, number: int) -> Iterator[SqliteRecord]:
        start = _FIRST_HEADER if number == 1 else 0
        if page[start : start + 1] != bytes([_LEAF_OF_TABLE]):
            return
        cells = int.from_bytes(page[start + 3 : start + 5], "big")
        for n in range(min(cells, self._usable // 4)):
            place = start + 8 + 2 * n
            at = int.from_bytes(page[place : place + 2], "big")
            try:
                yield self._record(page, at)
            except (IndexError, ValueError, struct.error):
                continue

    def _record(self, page: bytes, at: int) -> SqliteRecord:
        length, at = _varint(page, at)
        rowid, at = _varint(page, at)
        if length > len(self._data) + len(self._log):
            raise ValueError("longer than the file")
        payload = self._payload(page, at, length)
        return SqliteRecord(rowid - (1 << 64) if rowid >> 63 else rowid, tuple(_values(payload)))

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        """The row's bytes: those in the page, and those in the chain of pages behind it."""
        most = self._usable - 35
        if length <= most:
            return page[at : at + length]
        least = (self._usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._usable - 4)
        here = here if here <= most else least
        parts = [page[at : at + here]]
        following = int.from_bytes(page[at + here : at + here + 4], "big")
        rest = length - here
        while rest > 0:
            if not 0 < following <= self.count:
                raise ValueError("the chain ends too soon")
            further = self._page(following)
            parts.append(further[4 : 4 + min(rest, self._usable - 4)])
            rest -= self._usable - 4
            following = int.from_bytes(further[:4], "big")
        return b"".join(parts)


def _page_sizes(data: bytes, log: bytes) -> tuple[int, ...]:
    """From the file's header, or else its log's, or else those that runs have."""
    size = int.from_bytes(data[16:18], "big")
    for found in (65536 if size == 1 else size, int.from_bytes(log[8:12], "big")):
        if found in _SIZES:
            return (found,)
    return _OUR_SIZES


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


def _values(payload: bytes) -> Iterator[Any]:
    end, at = _varint(payload, 0)
    content = end
    while at < end:
        kind, at = _varint(payload, at)
        size = _INTEGERS.get(kind, 8 if kind == 7 else max(0, (kind - 12) // 2))
        value = payload[content : content + size]
        if len(value) < size:
            raise ValueError("the row is cut off")
        content += size
        yield _value(kind, value)


def _value(kind: int, value: bytes) -> Any:
    if kind in _INTEGERS:
        return int.from_bytes(value, "big", signed=True)
    if kind == 7:
        return struct.unpack(">d", value)[0]
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind]
    if kind < 12:
        raise ValueError("no such kind of value")
    return value if kind % 2 == 0 else value.decode()
