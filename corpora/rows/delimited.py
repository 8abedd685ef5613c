"""CSV with a header: commas, semicolons or tabs, quoted texts over several lines."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import MAX_LINE_BYTES, open_data, without_mark
from branchwise.corpora.rows import Row, Wanted

_MOST_BYTES = 4 * MAX_LINE_BYTES
"""Of one row, on all its lines."""
_UNNAMED = "column {}"


def read(path: Path, wanted: Wanted = None) -> Iterator[Row]:
    """The rows of a file in UTF-8, all values texts. Raises InputError.

    The delimiter is what the header has most of.
    """
    lines = _Lines(path)
    csv.field_size_limit(MAX_LINE_BYTES)  # Python's own is shorter than some passages
    try:
        yield from _rows(path, lines)
    except csv.Error as error:
        why = str(error).replace("unexpected end of data", "a quoted text has no end")
        raise InputError(
            f"is not CSV ({why})",
            where=f"{path}:{lines.first}",
            remedy='write a quotation mark in a quoted text as ""',
        ) from None


class _Lines:
    """The lines of a file as text, and on which of them the current row began."""

    def __init__(self, path: Path) -> None:
        self.first = self._number = self._bytes = 0
        self._path = path

    def __iter__(self) -> Iterator[str]:
        with open_data(self._path) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                self._number += 1
                self._bytes += len(line)
                if self._number == 1:
                    line = without_mark(line, self._path)
                yield self._text(line)

    def next_row(self) -> None:
        """The lines that follow belong to another row."""
        self.first, self._bytes = self._number + 1, 0

    def _text(self, line: bytes) -> str:
        if len(line) > MAX_LINE_BYTES or self._bytes > _MOST_BYTES:
            most = MAX_LINE_BYTES if len(line) > MAX_LINE_BYTES else _MOST_BYTES
            raise InputError(
                f"the row takes more than {most // 2**20} MiB",
                where=f"{self._path}:{self.first}",
                remedy="look for a quotation mark that is not closed",
            )
        try:
            return line.decode()
        except UnicodeDecodeError:
            where = f"{self._path}:{self._number}"
            raise InputError("is not UTF-8", where=where, remedy="save it as UTF-8") from None


def _rows(path: Path, lines: _Lines) -> Iterator[Row]:
    lines.next_row()
    text = iter(lines)
    first = next((line for line in text if line.strip()), "")
    delimiter = max(",;\t", key=first.count)
    rows = csv.reader(_joined(first, text), delimiter=delimiter, strict=True)
    names: list[str] = []
    for values in rows:
        where = f"{path}:{lines.first}"
        lines.next_row()
        if not values:
            continue
        if not names:
            names = _names(values, where)
        elif len(values) != len(names):
            raise InputError(
                f"the header has {len(names)} columns, this row {len(values)}",
                where=where,
                remedy=f'write texts that hold {delimiter!r} in quotation marks, "..."',
            )
        else:
            yield Row(where, dict(zip(names, values, strict=True)))
    if not names:
        raise InputError("is empty", where=str(path), remedy="write a header and rows")


def _joined(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _names(header: list[str], where: str) -> list[str]:
    """The columns' names; those without one are numbered."""
    names = [name.strip() or _UNNAMED.format(n) for n, name in enumerate(header, start=1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"two columns are called {twice[0]!r}", where=where, remedy="rename one of them"
        )
    return names
