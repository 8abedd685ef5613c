"""Cells as text, numbers as papers print them; every exporter escapes what it gets from here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from branchwise.corpora.text import cut
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.statistics import number, p_value, signed
from branchwise.ui.console import printable

if TYPE_CHECKING:
    from branchwise.eval.reporting.tables import Cell, Column, Table

UNKNOWN = "–"
MAX_TEXT = 300
_MAX_CELL = 100
_N_COLUMNS = ("n", "questions")


@dataclass(frozen=True)
class Shown:
    """A cell as it is printed: a text from outside (`is_text`), or a number of ours.

    `interval` and `n` are there for means: "[.03, .13]", and "n=19" where that is not the row's.
    """

    text: str
    is_text: bool = False
    interval: str = ""
    n: str = ""


def one_line(text: str, most: int = MAX_TEXT) -> str:
    """Text from outside on one line, bounded, without what could steer a screen or a printer."""
    return cut(printable(" ".join(text[: 4 * most].split())), most)


def shown_rows(table: "Table") -> list[list[Shown]]:
    """The rows of a table as they are printed."""
    return [_row(table.columns, row) for row in table.rows]


def _row(columns: "Sequence[Column]", row: "Sequence[Cell]") -> list[Shown]:
    of_row = [c for column, c in zip(columns, row, strict=True) if column.key in _N_COLUMNS]
    n = of_row[0] if of_row and isinstance(of_row[0], int) else None
    return [_shown(column, cell, n) for column, cell in zip(columns, row, strict=True)]


def _shown(column: "Column", cell: "Cell", n: int | None) -> Shown:
    if cell is None:
        return Shown(UNKNOWN)
    if isinstance(cell, str):
        return Shown(one_line(cell, _MAX_CELL), is_text=True)
    if not isinstance(cell, Aggregate):
        return Shown(_number(column, cell))
    if cell.mean is None:
        return Shown(UNKNOWN)
    interval = ""
    if cell.low is not None and cell.high is not None:
        ends = number(cell.low, column.digits), number(cell.high, column.digits)
        interval = f"[{ends[0]}, {ends[1]}]"
    other_n = f"n={cell.n:,}" if n is not None and cell.n != n else ""
    return Shown(_number(column, cell.mean), False, interval, other_n)


def _number(column: "Column", value: float) -> str:
    if column.unit == "p":
        return p_value(value).removeprefix("p ").removeprefix("= ").replace(" ", "")
    if column.unit == "change":
        return signed(value, column.digits)
    if column.unit in ("count", "tokens"):
        return f"{value:,.0f}" if value == int(value) or value >= 99.95 else f"{value:,.1f}"
    if column.unit == "usd":
        return _usd(value)
    if column.unit in ("seconds", "ratio"):
        return number(value, 2) if value < 9.995 else f"{value:,.1f}"
    return number(value, column.digits)


def _usd(value: float) -> str:
    """Four digits below 1 and two from there: 0 only where nothing is paid."""
    if value == 0:
        return "0"
    if value < 0.00005:
        return "<.0001"
    return number(value, 4) if value < 0.99995 else f"{value:,.2f}"
