"""A table as LaTeX sets it: rows in groups under their names, a label a row, then its columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from branchwise.eval.bootstrap import Intervals
from branchwise.report.exports.text import Shown, shown_rows
from branchwise.report.tables import Table, TableColumn
from branchwise.report.tables.table import OF_INTERVALS

# Papers name models; where they were asked stands in the CSV files.
_ADDRESS = re.compile(r"@https?://[^\s,;)]+?(?=[:.]?(?:[\s,;)]|$))")


class GridCell(NamedTuple):
    """What a cell says, what stands beside it in a small font, and on a small line below it."""

    text: str
    beside: str = ""
    under: str = ""


@dataclass(frozen=True)
class GridColumn:
    """A column's heading, and a cell a row."""

    title: str
    cells: tuple[GridCell, ...]
    is_text: bool = False
    group: str = ""


@dataclass(frozen=True)
class Grid:
    """`groups`: the heading and the number of rows of each; one without a heading where there are
    none."""

    label: GridColumn
    columns: tuple[GridColumn, ...]
    groups: tuple[tuple[str, int], ...]


def grid_of(table: Table, intervals: Intervals) -> Grid:
    """The columns of a table that are for readers."""
    printed = table.as_printed()
    *grouped, label = printed.key_columns
    rows, shown = printed.rows, shown_rows(printed)
    spans = [
        (" · ".join(shown[first][place].text for place in grouped), len(numbers))
        for numbers in _runs([[row[place] for place in grouped] for row in rows])
        for first in numbers[:1]
    ]
    columns = [
        column
        for place, one in enumerate(printed.columns)
        if place != label and place not in grouped and not _is_told(printed, place)
        for column in _columns(one, [row[place] for row in shown], intervals)
    ]
    names = _text_column(printed.columns[label], [row[label] for row in shown], is_label=True)
    return Grid(names, tuple(columns), tuple(spans))


def caption_of(table: Table) -> str:
    """The title; it names the system where no row does."""
    named = 0 not in table.key_columns
    return f"{table.title} · {table.rows[0][0]}" if named else table.title


def notes_of(table: Table, intervals: Intervals) -> list[str]:
    """Its notes, without those on what is not shown."""
    hidden = intervals == "none"
    shown = [note for note in table.notes if not (hidden and note.startswith(OF_INTERVALS))]
    return [_ADDRESS.sub("", note) for note in shown]


def _runs(keys: Sequence[list[object]]) -> Iterator[list[int]]:
    """Numbers of neighbouring rows with equal keys."""
    for _, found in groupby(range(len(keys)), lambda number: keys[number]):
        yield list(found)


def _is_told(table: Table, place: int) -> bool:
    """Whether a key column is the same in all rows, so that the caption has it."""
    return table.columns[place].is_key and place not in table.key_columns


def _columns(
    column: TableColumn, cells: Sequence[Shown], intervals: Intervals
) -> Iterator[GridColumn]:
    if column.unit == "text":
        yield _text_column(column, cells)
        return
    means = [" ".join(part for part in (one.text, one.mark) if part) for one in cells]
    ends = [" ".join(part for part in (one.interval, one.n) if part) for one in cells]
    if intervals == "none":
        ends = [one.n for one in cells]
    if intervals == "columns" and any(one.interval for one in cells):
        yield GridColumn(column.title, _cells(means), group=column.group)
        yield GridColumn("95% interval", _cells(ends), group=column.group)
        return
    pairs = zip(means, ends, strict=True)
    made = (
        GridCell(mean, under=end) if intervals == "below" else GridCell(mean, end)
        for mean, end in pairs
    )
    yield GridColumn(column.title, tuple(made), group=column.group)


def _text_column(
    column: TableColumn, cells: Sequence[Shown], *, is_label: bool = False
) -> GridColumn:
    texts = [one.text if is_label else _ADDRESS.sub("", one.text) for one in cells]
    return GridColumn(column.title, _cells(texts), is_text=True, group=column.group)


def _cells(texts: Sequence[str]) -> tuple[GridCell, ...]:
    return tuple(map(GridCell, texts))
