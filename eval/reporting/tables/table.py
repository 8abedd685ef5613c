"""What a table is: columns that say what their numbers are, and cells with all their digits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from branchwise.eval.bootstrap import Aggregate

Cell = str | int | float | Aggregate | None
"""A text, a number, a mean (or a difference of means) with its interval and n; None is unknown."""

Unit = Literal[
    "text", "count", "tokens", "share", "change", "value", "p", "seconds", "usd", "ratio"
]
"""What a column's cells are. `share` is 0 to 1, `change` a signed difference of shares, `value` any
other number, `ratio` a multiple of the base's."""


@dataclass(frozen=True)
class Column:
    """A column: its `key` for programs, its `title` for readers, its unit.

    `digits` after the point where it is printed. One that is not `printed` is in files for
    programs (CSV, JSON) only.
    """

    key: str
    title: str
    unit: Unit = "share"
    digits: int = 2
    printed: bool = True


@dataclass(frozen=True)
class Table:
    """A table: `name` is safe in a path, `title` is what it shows, rows have a cell a column.

    `notes` say what the numbers mean, a line each. One that is not `printed` is a CSV file only.
    Names in it come from outside: every exporter escapes them.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    printed: bool = True

    def as_printed(self) -> "Table":
        """With the columns that are for readers."""
        kept = [index for index, column in enumerate(self.columns) if column.printed]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            rows=tuple(tuple(row[index] for index in kept) for row in self.rows),
        )

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: rows as objects by column key."""
        keys = [column.key for column in self.columns]
        return {
            "name": self.name,
            "title": self.title,
            "columns": [dict(vars(column)) for column in self.columns],
            "rows": [
                {key: _plain(cell) for key, cell in zip(keys, row, strict=True)}
                for row in self.rows
            ],
            "notes": list(self.notes),
        }


def _plain(cell: Cell) -> str | int | float | Mapping[str, Any] | None:
    return cell.to_json() if isinstance(cell, Aggregate) else cell


def system_column() -> Column:
    """The name of the system, first in most tables."""
    return Column("system", "system", "text")


def subset_column() -> Column:
    """Which questions: all, ambiguous or unambiguous ones."""
    return Column("subset", "questions", "text")
