"""Rows on a terminal: a table where they fit, else each row by itself, a value a line.

Numbers of entities and IRIs are there to be copied: they are never broken or cut.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_GAP = 2  # characters between columns
_NARROWEST = 24  # characters of a column of text that is wrapped
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?|")


def table_within(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> "Table | None":
    """A table of at most `width` characters; None where that would break a word."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = _widths(headings, rows, width)
    if widths is None:
        return None
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column, (heading, wide) in enumerate(zip(headings, widths, strict=True)):
        numbers = all(_NUMBER.fullmatch(row[column]) for row in rows)
        table.add_column(Text(heading), width=wide, justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def one_by_one(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Lines: a value after its heading, with a blank line between rows. Long text is wrapped."""
    margin = max(map(len, headings), default=0) + _GAP
    for number, row in enumerate(rows):
        if number:
            yield ""
        for heading, value in zip(headings, row, strict=True):
            yield from textwrap.wrap(
                value,
                max(width, margin + _NARROWEST),
                initial_indent=heading.ljust(margin),
                subsequent_indent=" " * margin,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [heading]


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """How wide columns are, the widest narrowed as needed; None where they do not fit."""
    from rich.cells import cell_len

    columns = [[heading, *(row[at] for row in rows)] for at, heading in enumerate(headings)]
    widths = [max(map(cell_len, cells)) for cells in columns]
    longest = [
        max(cell_len(w) for cell in cells for w in cell.split() or [""]) for cells in columns
    ]
    least = [min(w, max(long, _NARROWEST)) for w, long in zip(widths, longest, strict=True)]
    room = width - (_GAP + 1) * (len(columns) - 1)
    if sum(least) > room:
        return None
    while (over := sum(widths) - room) > 0:
        spare = [wide - low for wide, low in zip(widths, least, strict=True)]
        widest = max(range(len(widths)), key=lambda at: (spare[at] > 0, widths[at]))
        widths[widest] -= max(1, min(over, spare[widest]) // 2)
    return widths
