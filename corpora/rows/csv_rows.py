"""Rows of CSV files: the first one names the columns. Cells are texts; an empty one is null."""

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from branchwise.corpora.errors import InputError, Refuse
from branchwise.corpora.files import MAX_LINE_BYTES, open_data
from branchwise.corpora.rows import DataRow

_DELIMITERS = ",;\t|"
csv.field_size_limit(MAX_LINE_BYTES)


def csv_rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """The rows below the header, each at the line where it begins; blank ones are skipped.

    The delimiter is the one of comma, semicolon, tab and bar that splits the first line into the
    most columns. Refuses rows with more or fewer cells than the header.
    """
    with open_data(path) as stream:
        table = _Table(stream, path)
        columns = table.header()
        while (cells := table.row()) is not None:
            where = f"{path}:{table.line}"
            if len(cells) != len(columns):
                what = f"has {len(cells)} cells, the header {len(columns)}"
                remedy = "put a cell that holds the delimiter in quotes"
                refuse("cells", InputError(what, where=where, remedy=remedy))
            else:
                found = zip(columns, cells, strict=True)
                yield DataRow(where, {name: cell or None for name, cell in found})


class _Table:
    """The rows of a stream; `line`: where the last one began."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._path, self.line, self._behind = path, 0, 0
        lines = self._lines(stream)
        first = next(lines, "")
        try:
            delimiter = _delimiter(first)
        except csv.Error as error:
            raise self._wrong(error) from None
        self._rows = csv.reader(chain([first], lines), delimiter=delimiter)

    def row(self) -> list[str] | None:
        """The next row that is not blank; None at the end. Raises InputError."""
        try:
            for cells in self._rows:
                self.line, self._behind = self._behind + 1, self._rows.line_num
                if any(cells):
                    return cells
        except csv.Error as error:
            raise self._wrong(error) from None
        return None

    def _wrong(self, error: csv.Error) -> InputError:
        what, _, _ = str(error).partition(" - ")
        remedy = "close every quotation mark, and end lines with a line feed"
        return InputError(what, where=f"{self._path}:{self._behind + 1}", remedy=remedy)

    def _lines(self, stream: IO[bytes]) -> Iterator[str]:
        """The lines with their ends; one that is too long in pieces, which the reader refuses."""
        number = 0
        while line := stream.readline(MAX_LINE_BYTES):
            number += 1
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                where, remedy = f"{self._path}:{number}", "save it as UTF-8"
                raise InputError("is not UTF-8 text", where=where, remedy=remedy) from None

    def header(self) -> list[str]:
        """The names of the columns; a column without one has its number. Raises InputError."""
        names = [name.strip() for name in self.row() or ()]
        names = [name or f"column {number}" for number, name in enumerate(names, start=1)]
        if not names:
            remedy = "write the columns' names into the first line"
            raise InputError("is empty", where=str(self._path), remedy=remedy)
        if repeated := [name for name in names if names.count(name) > 1]:
            what = f"two columns are called {repeated[0]!r}"
            raise InputError(what, where=f"{self._path}:{self.line}", remedy="rename one")
        return names


def _delimiter(header: str) -> str:
    """Of those that may separate cells, the one that makes the most of this line."""
    return max(_DELIMITERS, key=lambda one: len(next(csv.reader([header], delimiter=one), [])))
