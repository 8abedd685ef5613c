"""Groups of columns on a terminal, whose tables have no heading over several columns."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from branchwise.eval.reporting.tables.table import TableColumn
from branchwise.ui.cells import plain, run_name

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
    for group, places in groupby(range(len(columns)), lambda i: columns[i].group or i):
        span = [*places]
        titles = [columns[i].heading or columns[i].title for i in span]
        if not isinstance(group, str):
            heads += titles
            for row, cells in zip(joined, rows, strict=True):
                row += [cells[i] for i in span]
            continue
        texts = [[cells[i].plain.partition("\n")[0] for i in span] for cells in rows]
        widths = [max(map(len, column)) for column in zip(titles, *texts, strict=True)]
        heads.append(f"{run_name(group)}\n{_line(titles, widths)}")
        for row, found in zip(joined, texts, strict=True):
            row.append(plain(_line(found, widths)))
    return heads, joined


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))
