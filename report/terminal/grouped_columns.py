"""Groups of columns on a terminal, whose tables have no heading over several columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from branchwise.report.tables.table import TableColumn, column_groups
from branchwise.report.terminal.cells import plain, run_name

if TYPE_CHECKING:
    from rich.text import Text


def in_groups(
    columns: Sequence[TableColumn], rows: Sequence[Sequence["Text"]]
) -> tuple[list[str], list[list["Text"]]]:
    """Headings and rows in which the neighbours of a group are one column under its name.

    A cell of a group shows its first line alone: there is no room for the intervals.
    """
    heads: list[str] = []
    joined: list[list[Text]] = [[] for _ in rows]
    first = 0
    for name, size in column_groups(columns) or [("", len(columns))]:
        span = slice(first, first := first + size)
        titles = [column.heading or column.title for column in columns[span]]
        cells = [row[span] for row in rows]
        if name:
            texts = [[cell.plain.partition("\n")[0] for cell in row] for row in cells]
            widths = [max(map(len, column)) for column in zip(titles, *texts, strict=True)]
            titles = [f"{run_name(name)}\n{_line(titles, widths)}"]
            cells = [[plain(_line(row, widths))] for row in texts]
        heads += titles
        for whole, part in zip(joined, cells, strict=True):
            whole += part
    return heads, joined


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))
