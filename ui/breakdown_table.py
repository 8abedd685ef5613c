"""Scores by a property of the question, as a table for a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.ceilings.breakdowns import Bin, Breakdown
from branchwise.eval.tasks import Column
from branchwise.ui.cells import heading, mean_cell, new_table, plain
from branchwise.ui.console import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_CEILINGS = (("ceiling_retrieved", "\nretrieved"), ("ceiling_shown", "\nshown"))


def breakdown_tables(
    name: str, found: Breakdown, headline: Sequence[Column]
) -> "Iterator[RenderableType]":
    """A row for each value of the property; one line where no question has it."""
    yield heading(f"by {found.words}", [name])
    yield _table(found.bins, headline) if found.bins else plain("  no question of this run has it")


def _table(bins: Sequence[Bin], headline: Sequence[Column]) -> "Table":
    table = new_table()
    table.add_column("\nn", justify="right")
    named = (*((column.key, column.heading) for column in headline), *_CEILINGS)
    columns = [c for c in named if any(one.aggregates[c[0]].n for one in bins)]
    for _, title in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for one in bins:
        cells = [mean_cell(one.aggregates[key], 2, one.questions) for key, _ in columns]
        table.add_row(plain(printable(one.label)), str(one.questions), *cells)
    return table
