"""Cells as text, numbers as papers print them; every exporter escapes what it gets from here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from branchwise.base.numbers import UNKNOWN, as_text, interval
from branchwise.base.text import cut, printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.comparison import SIGNIFICANT
from branchwise.report.tables.table import ChangeCell

if TYPE_CHECKING:
    from branchwise.report.tables import CellValue, Table, TableColumn

MAX_TEXT = 300
_MAX_CELL = 100
_N_COLUMNS = ("n", "questions")


@dataclass(frozen=True)
class Shown:
    """A cell as it is printed: a text from outside (`is_text`), or a number of ours.

    `interval` and `n` are there for means: "[.03, .13]", and "n=19" where that is not the row's;
    `mark` for changes that stand with their test: ▲ or ▼ where it is significant.
    """

    text: str
    is_text: bool = False
    interval: str = ""
    n: str = ""
    mark: str = ""

    @property
    def parts(self) -> list[str]:
        """What stands beside each other in a cell."""
        return [part for part in (self.text, self.mark, self.interval, self.n) if part]


def one_line(text: str, most: int = MAX_TEXT) -> str:
    """Text from outside on one line, bounded, without what could steer a screen or a printer."""
    return cut(printable(" ".join(text[: 4 * most].split())), most)


def change_mark(difference: float | None, p: float | None) -> str:
    """▲ or ▼ for a change that is significant."""
    if difference is None or p is None or p >= SIGNIFICANT:
        return ""
    return "▲" if difference > 0 else "▼"


def shown_rows(table: "Table", line: Callable[[str, int], str] = one_line) -> list[list[Shown]]:
    """The rows of a table as they are printed; `line` bounds a text from outside."""
    return [_row(table.columns, row, line) for row in table.rows]


def _row(
    columns: "Sequence[TableColumn]", row: "Sequence[CellValue]", line: Callable[[str, int], str]
) -> list[Shown]:
    of_row = [c for column, c in zip(columns, row, strict=True) if column.key in _N_COLUMNS]
    n = of_row[0] if of_row and isinstance(of_row[0], int) else None
    return [_shown(column, cell, n, line) for column, cell in zip(columns, row, strict=True)]


def _shown(
    column: "TableColumn", cell: "CellValue", n: int | None, line: Callable[[str, int], str]
) -> Shown:
    if isinstance(cell, str):
        return Shown(line(cell, _MAX_CELL), is_text=True)
    if isinstance(cell, ChangeCell):
        mark = change_mark(cell.difference, cell.p)
        return Shown(as_text(cell.difference, column.unit, column.digits), mark=mark)
    if not isinstance(cell, Aggregate):
        return Shown(as_text(cell, column.unit, column.digits))
    if cell.mean is None:
        return Shown(UNKNOWN)
    ends = interval(cell.low, cell.high, column.digits)
    other_n = f"n={cell.n:,}" if n is not None and cell.n != n else ""
    return Shown(as_text(cell.mean, column.unit, column.digits), False, ends, other_n)
