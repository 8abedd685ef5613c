"""What tables on a terminal are made of: headings, means over intervals, groups, notes below."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from branchwise.base.numbers import as_text, number
from branchwise.base.text import printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.report.table import TableColumn, column_groups

if TYPE_CHECKING:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text


_MAX_NAME = 200


def plain(text: str, style: str = "") -> "Text":
    """Text that is never read as markup."""
    from rich.text import Text

    return Text(text, style=style)


def run_name(name: str) -> str:
    """A run's name as it is shown: bounded, without what could steer a terminal."""
    return printable(name)[:_MAX_NAME]


def heading(title: str, runs: Iterable[str]) -> "Text":
    """The line above a table, with the run's name where there is only one."""
    names = list(runs)
    return plain(f"\n{title}" + (f" · {run_name(names[0])}" if len(names) == 1 else ""), "bold")


def new_table(*, tight: bool = False) -> "Table":
    """A table whose first column holds labels; `tight` where every column of 80 is needed."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 0 if tight else 1, 0, 0))
    table.add_column(overflow="fold", min_width=11)
    return table


def counts_table(label: str, headings: Iterable[str]) -> "Table":
    """A table of numbers: `label` stands over what they are of."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(label)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def indented(text: "Text") -> "Padding":
    """Every line of it, also those that a narrow terminal wraps, two columns in."""
    from rich.padding import Padding

    return Padding(text, (0, 0, 0, 2), expand=False)


def notes(lines: Iterable[str]) -> "Padding":
    """What the numbers of a table mean, below it."""
    return indented(plain("\n" + "\n".join(lines), "dim"))


def mean_cell(
    mean: Aggregate, digits: int, questions: int | None, *, is_change: bool = False
) -> "Text":
    """The mean; under it the interval, and n where it is not the number of questions."""
    text = plain(as_text(mean.mean, "change" if is_change else "share", digits))
    if mean.low is not None and mean.high is not None:
        joint = " to " if mean.low < 0 else "–"
        interval = f"\n{number(mean.low, digits)}{joint}{number(mean.high, digits)}"
        text.append(interval, style="dim")
    if questions is not None and 0 < mean.n != questions:
        text.append(f"\nn={mean.n}", style="dim")
    return text


def in_groups(
    columns: Sequence[TableColumn], rows: Sequence[Sequence["Text"]]
) -> tuple[list[str], list[list["Text"]]]:
    """Headings and rows in which a group is one column, each cell without its interval."""
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
