"""Whether a run is whole: its file, every row by its checksum, and every item by its rows."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError
from branchwise.runs.store.damage import DamagedError, check_line, words_of
from branchwise.runs.store.packing import PACKED, PLACES, block_passages, unpacked
from branchwise.runs.store.run_file import RunFile, check_schema
from branchwise.runs.store.survey import Survey, survey
from branchwise.runs.store.tables import ENDED, LATER, Row, hash_number

_MAX_NAMED = 5


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run. `items`: None if the file no longer says."""

    run: Path
    items: int | None
    whole: int
    ended: int
    problems: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged."""
        return not self.problems

    @property
    def share(self) -> str:
        """How many items are whole, in words."""
        if self.items is None:
            return "no item can be read"
        return f"{self.whole} of {self.items} items are whole"

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return {
            "run": str(self.run),
            "is_whole": self.is_whole,
            "items": self.items,
            "whole": self.whole,
            "ended": self.ended,
            "problems": list(self.problems),
        }


def verify_run(run: Path, *, system_digest: str | None = None) -> Verdict:
    """Read the whole file. Raises InputError if there is no verdict: no run, a newer version, a
    file in use.

    `system_digest`: the expected one, if any."""
    try:
        file = RunFile(run, tolerant=True)
    except DamagedError as error:
        return Verdict(run, None, 0, 0, (error.damage,))
    try:
        with file.snapshot():
            found = _verdict(file)
        if system_digest in (None, file.meta["system_digest"]):
            return found
        return replace(found, problems=("the run belongs to another system", *found.problems))
    except DamagedError as error:
        return Verdict(run, None, 0, 0, (error.damage,))
    finally:
        file.close()


def check_whole(run: Path) -> None:
    """Raise DamagedError unless the run is whole."""
    found = verify_run(run)
    if not found.is_whole:
        raise DamagedError(run, found.problems[0], found.share)


class ReadableRows:
    """The readable, intact rows of a damaged file, by table.

    Those that are packed are among them. `damaged`: how many rows of each table were not intact;
    `unreadable`: what SQLite said.
    """

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self.damaged: Counter[str] = Counter()
        self.unreadable: dict[str, str] = {}

    def __call__(self, table: str) -> Iterator[Row]:
        yield from self.intact(table)
        if table in PACKED:
            yield from self._packed(table, PACKED[table])

    def intact(self, table: str) -> Iterator[Row]:
        """Those of the table itself."""
        # A table may be read twice: its damage counts once.
        self.damaged[table] = 0
        for row in self._raw(table):
            if found := self._file.layout.read(table, row):
                yield found
            else:
                self.damaged[table] += 1

    def _packed(self, table: str, packs: str) -> Iterator[Row]:
        for pack in self.intact(packs):
            with suppress(ValueError, TypeError, LookupError):
                yield from [row for name, row in unpacked(packs, pack) if name == table]

    def _raw(self, table: str) -> Iterator[Row]:
        """From the first row up to the damage, then from the last one down to it."""
        last = None
        try:
            for rowid, *row in self._from_table(table, "ORDER BY rowid"):
                last = rowid
                yield tuple(row)
            return
        except sqlite3.Error as error:
            if table in LATER and "no such table" in str(error):
                return
            self.unreadable[table] = words_of(error)
        after = "" if last is None else f"WHERE rowid > {int(last)}"
        try:
            for _, *row in self._from_table(table, f"{after} ORDER BY rowid DESC"):
                yield tuple(row)
        except sqlite3.Error:
            return

    def _from_table(self, table: str, rest: str) -> sqlite3.Cursor:
        # The table itself: an index may say otherwise.
        columns = self._file.layout.columns(table)
        sql = f"SELECT rowid, {columns} FROM {table} NOT INDEXED {rest}"  # noqa: S608 - names of ours
        return self._file.connection.execute(sql)


def _verdict(file: RunFile) -> Verdict:
    rows = ReadableRows(file)
    found = survey(rows, file.meta)
    for table in ("scores", "item_errors", "reach", "judgements", "scored_runs"):
        for _ in rows(table):
            pass
    ended = sum(state.status in ENDED for state in found.items.values())
    parts = (_of_rows(rows), _of_items(found, file.opening_count), _of_places(file), _of_file(file))
    problems = tuple(dict.fromkeys(line for lines in parts for line in lines))
    whole = found.whole
    return Verdict(file.run, found.item_count, len(whole), ended, problems)


def _of_rows(rows: ReadableRows) -> Iterator[str]:
    for table, said in rows.unreadable.items():
        yield f"{table} cannot be read to the end: {said}"
    for table, count in (+rows.damaged).items():
        yield f"damaged rows of {table}: {count}"


def _of_items(found: Survey, opening: int) -> Iterator[str]:
    for table, count in found.unread.items():
        if count:
            yield f"unreadable rows of {table}: {count}"
    if lost := found.lost_questions:
        yield f"lost questions: {_numbers(lost)}"
    whole = set(found.whole)
    if broken := [n for n in range(1, found.item_count + 1) if n not in whole]:
        yield f"damaged items: {_numbers(broken)}"
    if len(found.items) > found.item_count:
        yield f"{len(found.items)} items are there, not {found.item_count}"
    if found.opening != opening:
        yield f"{found.opening} events of the opening are there, not {opening}"


def _of_places(file: RunFile) -> Iterator[str]:
    """Packed passages that their table does not lead to."""
    lost = 0
    for block, body in ReadableRows(file).intact("passage_blocks"):
        with suppress(ValueError, TypeError, LookupError, sqlite3.Error):
            hashes = [hash_number(hash) for hash, *_ in block_passages(body)]
            marks = ", ".join("?" * len(hashes))
            sql = f"SELECT hash, place FROM packed_passages WHERE hash IN ({marks})"  # noqa: S608 - only question marks are inserted
            places = dict(file.connection.execute(sql, hashes).fetchall())
            expected = {hash: block * PLACES + n for n, hash in enumerate(hashes)}
            lost += sum(places.get(hash) != place for hash, place in expected.items())
    if lost:
        yield f"packed passages that nothing leads to: {lost}"


def _of_file(file: RunFile) -> Iterator[str]:
    try:
        check_schema(file.connection, file.run)
        for (line,) in file.connection.execute(f"PRAGMA integrity_check({_MAX_NAMED})"):
            if problem := check_line(str(line)):
                yield problem
    except InputError as error:
        yield getattr(error, "damage", error.what)
    except sqlite3.Error as error:
        yield words_of(error)


def _numbers(numbers: list[int]) -> str:
    named = ", ".join(map(str, numbers[:_MAX_NAMED]))
    more = f" and {len(numbers) - _MAX_NAMED} more" if len(numbers) > _MAX_NAMED else ""
    return f"{named}{more}"
