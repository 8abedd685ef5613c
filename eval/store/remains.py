"""What is left of a damaged run: its settings and its intact rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from branchwise.corpora.errors import InputError
from branchwise.eval.store.connection import DATABASE, FORMAT
from branchwise.eval.store.damage import DamagedError
from branchwise.eval.store.packing import PACKED, unpacked
from branchwise.eval.store.pages import SqliteRecord, page_records
from branchwise.eval.store.run_file import RUN_ID, RunFile, missing_settings
from branchwise.eval.store.tables import BY_ITSELF, COLUMNS, Layout, Row
from branchwise.eval.store.verifying import ReadableRows

_NUMBERED = frozenset({"questions", "items", "opening", "packed_items", "passage_blocks"})
"""Tables whose first column is the row's number."""


class Remains:
    """A damaged run's rows: those that SQLite reaches, and those in any of its pages.

    Without checksums (format 1) only the former, because the latter cannot be told apart. `copy`:
    the copy of `run` from which they are read. Raises InputError if the settings are lost.
    """

    def __init__(self, copy: Path, run: Path) -> None:
        self._run = copy
        self._file: RunFile | None = None
        self.layout: Layout
        self.meta: Mapping[str, Any]
        try:
            self._file = RunFile(copy, tolerant=True)
            self.layout, self.meta = self._file.layout, self._file.meta
        except DamagedError:
            self.meta = dict(self._settings())
            if missing_settings(self.meta):
                raise InputError(
                    "the run's settings are lost; without them it cannot be used",
                    where=str(run / DATABASE),
                    remedy="restore the file, or run again",
                ) from None
            self.layout = Layout.of_run(
                self.meta[RUN_ID], packs=int(self.meta.get("format", FORMAT)) > 2
            )
        self._reached = ReadableRows(self._file) if self._file else None

    @property
    def damaged(self) -> Counter[str]:
        """How many damaged rows of each table SQLite reached."""
        return self._reached.damaged if self._reached else Counter()

    @property
    def has_damage(self) -> bool:
        """Whether SQLite did not reach all rows, or reached damaged ones."""
        return self._reached is None or bool(+self._reached.damaged or self._reached.unreadable)

    def reached(self, table: str) -> Iterator[Row]:
        """The intact rows of a table that SQLite reaches, without checksums."""
        return self._reached(table) if self._reached else iter(())

    def found(self) -> Iterator[tuple[str, Row]]:
        """Table and row of every intact row in any page."""
        if self.layout.seed is None:
            return
        for record in page_records(self._run / DATABASE):
            for table in COLUMNS:
                if table != "meta" and (row := _as_row(record, table, self.layout)):
                    yield from _unpacked(table, row)

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()

    def _settings(self) -> Iterator[tuple[str, Any]]:
        for record in page_records(self._run / DATABASE):
            if row := _as_row(record, "meta", BY_ITSELF):
                yield row[0], orjson.loads(row[1])


def _as_row(record: SqliteRecord, table: str, layout: Layout) -> Row | None:
    """The record as a row of the table; None if it is not one."""
    if len(record.values) != layout.width(table):
        return None
    values = record.values
    if table in _NUMBERED:
        values = (record.rowid, *values[1:])
    return layout.read(table, values)


def _unpacked(table: str, row: Row) -> Iterator[tuple[str, Row]]:
    if table not in PACKED.values():
        yield table, row
        return
    with suppress(ValueError, TypeError, LookupError):
        yield from unpacked(table, row)
