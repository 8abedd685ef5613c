"""A table: columns that declare their units, cells with all their digits, and as text."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from branchwise.base.numbers import UNKNOWN, Unit, as_text, interval
from branchwise.base.text import cut, printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.comparison import SIGNIFICANT


@dataclass(frozen=True)
class ChangeCell:
    """A difference of means with the p-value of its test, corrected; None is unknown."""

    difference: float | None
    p: float | None


CellValue = str | int | float | Aggregate | ChangeCell | None
"""A text, a number, a mean (or a difference of means) with its interval and n, a difference with
its p-value; None is unknown."""

OF_INTERVALS = "In brackets"
"""How a note on the intervals of a table begins, where they stand in brackets."""

PageSection = Literal[
    "summary", "scores", "changes", "errors", "cost", "ceilings", "tools", "matchers", "more"
]
"""A section of the page; `more` takes the tables of no other section."""


@dataclass(frozen=True)
class TableColumn:
    """A column: its `key` for programs, its `title` for readers (`heading`: with line breaks),
    its unit, `digits` after the point. Not `printed`: in files for programs alone. Key columns
    tell rows apart; neighbours of one `group` stand under its name."""

    key: str
    title: str
    unit: Unit = "share"
    digits: int = 2
    printed: bool = True
    heading: str = ""
    is_key: bool = False
    group: str = ""

    @property
    def whole_title(self) -> str:
        """The title with its group's, for where columns cannot stand under another heading."""
        return f"{self.group}: {self.title}" if self.group else self.title


def column_groups(columns: Sequence[TableColumn]) -> list[tuple[str, int]]:
    """The groups of neighbouring columns, each with their number; none where no column has one."""
    groups = [(name, len([*span])) for name, span in groupby(column.group for column in columns)]
    return groups if any(name for name, _ in groups) else []


@dataclass(frozen=True)
class Table:
    """A table: `name` is safe in a path, rows have a cell a column, `notes` say what the numbers
    mean. Every table is a CSV file, a `printed` one also Markdown and LaTeX; `section`: where on
    the page, if anywhere. Names in it come from outside: every output escapes them."""

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[CellValue, ...], ...]
    notes: tuple[str, ...] = ()
    printed: bool = True
    section: PageSection | None = "more"

    def as_printed(self) -> "Table":
        return self.with_columns([column.key for column in self.columns if column.printed])

    def with_columns(self, keys: Collection[str]) -> "Table":
        kept = [index for index, column in enumerate(self.columns) if column.key in keys]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            rows=tuple(tuple(row[index] for index in kept) for row in self.rows),
        )

    def over(self, subset: str) -> "Table":
        """The rows of one subset of the questions, without the column that names it."""
        index = self.index(SUBSET)
        rows = tuple(row for row in self.rows if index is None or row[index] == subset)
        keys = [column.key for column in self.columns if column.key != SUBSET]
        return replace(self, rows=rows).with_columns(keys)

    def narrowed(
        self, subsets: Collection[str], metrics: Collection[str], titles: Mapping[str, str]
    ) -> "Table":
        """The rows of these subsets and of these metrics, and no column of another metric: all
        where none are named. `titles`: of every metric, by its key, with which columns begin."""
        named = {*metrics, *(titles[key] for key in metrics)}
        pairs = ((self.index(SUBSET), subsets), (self.index(METRIC), named))
        chosen = [(index, names) for index, names in pairs if names and index is not None]
        rows = tuple(row for row in self.rows if all(row[n] in names for n, names in chosen))
        others = {f"{key}{end}" for key in titles if key not in metrics for end in ("", P_HOLM)}
        keys = [c.key for c in self.columns if not metrics or c.key not in others]
        return replace(self, rows=rows).with_columns(keys)

    @property
    def subsets(self) -> list[str]:
        """The values of the column that says which questions a row is about."""
        index = self.index(SUBSET)
        return [] if index is None else [str(row[index]) for row in self.rows]

    @property
    def says_anything(self) -> bool:
        """Whether a column is left beside those that tell rows apart and count questions."""
        return any(not c.is_key and c.key not in ("n", "scored_by") for c in self.columns)

    def index(self, key: str) -> int | None:
        keys = [column.key for column in self.columns]
        return keys.index(key) if key in keys else None

    @property
    def key_columns(self) -> list[int]:
        """The columns by whose values rows are grouped, then the one that names a row. The
        subset comes first, and the system only where there are several."""
        keys = [index for index, column in enumerate(self.columns) if column.is_key]
        if len(keys) > 1 and len({row[keys[0]] for row in self.rows}) == 1:
            del keys[0]
        return sorted(keys, key=lambda index: self.columns[index].key != SUBSET) or [0]

    @property
    def caption(self) -> str:
        """The title; it names the system where no row does."""
        is_named = 0 in self.key_columns
        return self.title if is_named else f"{self.title} · {self.rows[0][0]}"


SYSTEM, SUBSET, METRIC = "system", "subset", "metric"
P_HOLM = "_p_holm"
"""Ends the key of the column with a difference's p-value, behind its metric's."""


def system_column() -> TableColumn:
    return TableColumn(SYSTEM, "system", "text", is_key=True)


def subset_column() -> TableColumn:
    """Which questions: all, ambiguous or unambiguous ones, as the task calls them."""
    return TableColumn(SUBSET, "questions", "text", is_key=True)


def count_columns(**titles: str) -> Iterator[TableColumn]:
    """Columns of counts, by their keys."""
    return (TableColumn(key, title, "count") for key, title in titles.items())


MAX_TEXT = 300
_MAX_CELL = 100


@dataclass(frozen=True)
class CellText:
    """A cell as it is printed: a text from outside (`is_text`), or a number of ours; for means
    with "[.03, .13]", and "n=19" where that is not the row's, for significant changes with ▲ or
    ▼."""

    text: str
    is_text: bool = False
    interval: str = ""
    n: str = ""
    mark: str = ""

    @property
    def parts(self) -> list[str]:
        return [part for part in (self.text, self.mark, self.interval, self.n) if part]


def one_line(text: str, most: int = MAX_TEXT) -> str:
    """Text from outside on one line, bounded, without what could steer a screen or a printer."""
    return cut(printable(" ".join(text[: 4 * most].split())), most)


def change_mark(difference: float | None, p: float | None) -> str:
    if difference is None or p is None or p >= SIGNIFICANT:
        return ""
    return "▲" if difference > 0 else "▼"


def row_texts(table: Table, line: Callable[[str, int], str] = one_line) -> list[list[CellText]]:
    """A table's rows as papers print them, to be escaped; `line` bounds a text from outside."""
    index = next(
        (n for n, column in enumerate(table.columns) if column.key in ("n", "questions")), None
    )
    rows = []
    for row in table.rows:
        n = row[index] if index is not None else None
        pairs = zip(table.columns, row, strict=True)
        rows.append([_text(column, cell, n, line) for column, cell in pairs])
    return rows


def _text(
    column: TableColumn, cell: CellValue, n: CellValue, line: Callable[[str, int], str]
) -> CellText:
    if isinstance(cell, str):
        return CellText(line(cell, _MAX_CELL), is_text=True)
    if isinstance(cell, ChangeCell):
        mark = change_mark(cell.difference, cell.p)
        return CellText(as_text(cell.difference, column.unit, column.digits), mark=mark)
    if not isinstance(cell, Aggregate):
        return CellText(as_text(cell, column.unit, column.digits))
    if cell.mean is None:
        return CellText(UNKNOWN)
    ends = interval(cell.low, cell.high, column.digits)
    own_n = f"n={cell.n:,}" if isinstance(n, int) and cell.n != n else ""
    return CellText(as_text(cell.mean, column.unit, column.digits), False, ends, own_n)
