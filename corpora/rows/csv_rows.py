"""Rows of CSV files: the first one names the columns. Cells are texts; an empty one is null."""

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from branchwise.base.errors import InputError, Refuse
from branchwise.base.files import MAX_LINE_BYTES, open_data, without_mark
from branchwise.corpora.rows import DataRow

_DELIMITERS = ",;\t|"
_MOST_BYTES = 4 * MAX_LINE_BYTES
"""Of one row, on all its lines."""
csv.field_size_limit(MAX_LINE_BYTES)


def csv_rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """The rows below the header, each at the line where it begins; blank ones are skipped.

    The delimiter is the one of comma, semicolon, tab and bar that splits the first line into the
    most columns. Refuses rows with more or fewer cells than the header.
    """
    lines = _Lines(path)
    try:
        table = _rows(lines)
        columns = _names(next(table, []), lines)
        for cells in table:
            where = f"{path}:{lines.first}"
            if len(cells) != len(columns):
                what = f"has {len(cells)} cells, the header {len(columns)}"
                remedy = "put a cell that holds the delimiter in quotes"
                refuse("cells", InputError(what, where=where, remedy=remedy))
            else:
                found = zip(columns, cells, strict=True)
                yield DataRow(where, {name: cell or None for name, cell in found})
    except csv.Error as error:
        what = str(error).partition(" - ")[0]
        what = what.replace("unexpected end of data", "a quotation mark is never closed")
        remedy = 'write a quotation mark in a cell as "", and end lines with a line feed'
        raise InputError(what, where=f"{path}:{lines.next_first}", remedy=remedy) from None


class _Lines:
    """The lines of a file as text. `first`: where the row that was read last begins;
    `next_first`: the one behind it."""

    def __init__(self, path: Path) -> None:
        self.path, self.first, self.next_first = path, 0, 1
        self._number = self._bytes = 0

    def __iter__(self) -> Iterator[str]:
        with open_data(self.path) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                self._number += 1
                self._bytes += len(line)
                if len(line) > MAX_LINE_BYTES or self._bytes > _MOST_BYTES:
                    raise self._too_long()
                yield self._text(line if self._number > 1 else without_mark(line, self.path))

    def row_ended(self) -> None:
        """The row that began behind the last one ends here."""
        self.first, self.next_first, self._bytes = self.next_first, self._number + 1, 0

    def _text(self, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            where = f"{self.path}:{self._number}"
            raise InputError("is not UTF-8 text", where=where, remedy="save it as UTF-8") from None

    def _too_long(self) -> InputError:
        return InputError(
            f"the row is longer than {MAX_LINE_BYTES // 2**20} MiB, or than four times that on "
            "several lines",
            where=f"{self.path}:{self.next_first}",
            remedy="look for a quotation mark that is never closed",
        )


def _rows(lines: _Lines) -> Iterator[list[str]]:
    """The cells of each row that is not blank. Raises InputError and csv.Error."""
    text = iter(lines)
    first = next(text, "")
    for cells in csv.reader(chain([first], text), delimiter=_delimiter(first), strict=True):
        lines.row_ended()
        if any(cells):
            yield cells


def _names(header: list[str], lines: _Lines) -> list[str]:
    """The names of the columns; a column without one has its number. Raises InputError."""
    names = [name.strip() for name in header]
    names = [name or f"column {number}" for number, name in enumerate(names, start=1)]
    if not names:
        remedy = "write the columns' names into the first line"
        raise InputError("is empty", where=str(lines.path), remedy=remedy)
    if repeated := [name for name in names if names.count(name) > 1]:
        what = f"two columns are called {repeated[0]!r}"
        raise InputError(what, where=f"{lines.path}:{lines.first}", remedy="rename one")
    return names


def _delimiter(header: str) -> str:
    """Of those that may separate cells, the one that makes the most of this line."""
    return max(_DELIMITERS, key=lambda one: len(next(csv.reader([header], delimiter=one), [])))
