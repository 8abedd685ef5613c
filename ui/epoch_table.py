"""Spread over epochs as a table for a terminal: how much a system differs from itself."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.ceilings.epochs import EpochSpread
from branchwise.eval.tasks import Column
from branchwise.ui.cells import heading, new_table, notes, number, plain, run_name

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NamedSpread = tuple[str, EpochSpread, Sequence[Column]]
"""A run's name, its spread, and the metrics that it is told by."""

_NOTE = (
    "SD within: mean over questions of the standard deviation of a question's",
    "epochs; SD between: of the epochs' means; best, worst: of the epochs' means",
)


def epoch_tables(runs: Sequence[NamedSpread]) -> "Iterator[RenderableType]":
    """What to print of runs with several epochs; nothing where there are none."""
    if not runs:
        return
    yield heading("spread over epochs", [name for name, *_ in runs])
    yield _table(runs)
    yield notes([*_NOTE, *_unions(runs)])


def _table(runs: Sequence[NamedSpread]) -> "Table":
    table = new_table()
    for title in ("n", "epochs", "SD within", "SD between", "best", "worst"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, spread, columns in runs:
        if len(runs) > 1:
            table.add_section()
            table.add_row(plain(run_name(name), "bold"))
        for column in columns:
            found = spread.metrics["all"][column.key]
            values = (found.within, found.between, found.best, found.worst)
            cells = [number(value) for value in values]
            table.add_row(plain(column.title), str(found.n), str(spread.epochs), *cells)
    return table


def _unions(runs: Sequence[NamedSpread]) -> Iterator[str]:
    """What asking again finds: the recall of all epochs' right answers together."""
    for name, spread, _ in runs:
        union = spread.union["all"]
        before = f"{run_name(name)}: " if len(runs) > 1 else ""
        yield (
            f"{before}all epochs together find {number(union['union_recall'].mean)} of the gold "
            f"answers, one finds {number(union['mean_recall'].mean)}"
        )
