"""Tables as the page shows them: cells of text, nothing of it markup."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from branchwise.eval.bootstrap import Aggregate
from branchwise.ui.cells import NOTHING, number

RowKind = Literal["plain", "group", "published", "base"]


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, and smaller what stands under it."""

    text: str
    under: str = ""


@dataclass(frozen=True)
class Row:
    """A row: its heading, then its cells. A `group` row has a heading alone."""

    heading: Cell
    cells: tuple[Cell, ...] = ()
    kind: RowKind = "plain"


@dataclass(frozen=True)
class Table:
    """A table with its caption.

    `groups`: headings that span columns, with how many each spans; none where there is one line of
    headings. `columns`: headings, that of the row headings first. `words`: numbers of the columns
    that hold words, the one after the row headings being 1.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    groups: tuple[tuple[str, int], ...] = ()
    words: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """ "[.03, .13]", or nothing where there is none."""
    if low is None or high is None:
        return ""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def mean(found: Aggregate, questions: int | None = None, digits: int = 2) -> Cell:
    """A mean over its interval, and over n where that is not the number of questions."""
    under = interval(found.low, found.high, digits)
    if questions is not None and 0 < found.n != questions:
        under = f"{under} n={found.n}".strip()
    return Cell(number(found.mean, digits), under)


def count(value: float | None) -> Cell:
    """A whole number with separators; one digit behind the point for a small mean."""
    if value is None:
        return Cell(NOTHING)
    whole = value == int(value) or value >= 100
    return Cell(f"{value:,.0f}" if whole else f"{value:.1f}")


def usd(value: float | None) -> Cell:
    """US dollars: four digits behind the point below one."""
    if value is None:
        return Cell(NOTHING)
    if value == 0:
        return Cell("0")
    if value < 0.00005:
        return Cell("<.0001")
    return Cell(f"{value:.4f}".removeprefix("0") if value < 0.99995 else f"{value:,.2f}")


def text_row(heading: str, cells: Iterable[str], kind: RowKind = "plain") -> Row:
    """A row of plain texts."""
    return Row(Cell(heading), tuple(Cell(cell) for cell in cells), kind)


def subset_words(subset: str) -> str:
    """What a subset of the questions is called in the page."""
    return {"unambiguous": "non-ambiguous", "all": "all questions"}.get(subset, subset)
