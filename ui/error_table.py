"""Where answers were lost, as a table for a terminal: one run by subset, or runs side by side."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from branchwise.eval.errors.labels import Label
from branchwise.eval.errors.totals import (
    ErrorTotals,
    SubsetTotals,
    items_with,
    missing_with,
    wrong_with,
    wrong_without_label,
)
from branchwise.ui.cells import heading, new_table, notes, plain, run_name

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NamedErrors = tuple[str, ErrorTotals]
"""A run's name and its errors."""

_MOST_RUNS = 5
"""Columns that fit a terminal of 80 beside the labels; more runs are shown in several tables."""
_COUNTED = "answers are counted by branch; an item is a question in one epoch"
_NOTE = (
    _COUNTED,
    "what each means: docs/errors.md; each lost answer: branchwise errors DIR",
)
_UNTRACED_NOTE = (
    _COUNTED,
    "no traces: what was retrieved is not known, so only this much can be said",
    "what each means: docs/errors.md; each lost answer: --json",
)


class _Row(NamedTuple):
    words: str
    count: Callable[[SubsetTotals], int]
    is_total: bool = False
    needs_trace: bool = False


def _read_and_wrong(found: SubsetTotals) -> int:
    """Wrong texts without a label; of items without a trace that would mean nothing."""
    if found.traced < found.items:
        return 0
    return wrong_without_label(found)


_ROWS = (
    _Row("gold answers missing", lambda found: found.missing, is_total=True),
    _Row("  never retrieved", missing_with(Label.INCOMPLETE_EXTRACTION)),
    _Row("  retrieved, left out by the agent", lambda found: found.lost_at["agent"]),
    _Row("  retrieved, lost in extraction", lambda found: found.lost_at["extraction"]),
    _Row("  taken out by a node", lambda found: found.lost_at["node"]),
    _Row("  lost with an unreadable answer", lambda found: found.lost_at["repair"]),
    _Row("  under the wrong branch", missing_with(Label.WRONG_BRANCH)),
    _Row("branches with nothing retrieved", lambda found: found.branches, True, needs_trace=True),
    _Row("answers wrong", lambda found: found.wrong, is_total=True),
    _Row("  right under another branch", wrong_with(Label.WRONG_BRANCH)),
    _Row("  in the evidence, but no answer", _read_and_wrong),
    _Row("  nowhere in the evidence", wrong_with(Label.UNSUPPORTED_ANSWER)),
    _Row("items", lambda found: found.items, is_total=True),
    _Row("  with wrong tool calls", items_with(Label.WRONG_TOOL_CALL)),
    _Row("  with a format error", items_with(Label.FORMAT_ERROR)),
    _Row("  with the budget spent", items_with(Label.BUDGET_SPENT)),
    _Row("  failed", lambda found: found.failed),
)


def error_tables(runs: Sequence[NamedErrors]) -> "Iterator[RenderableType]":
    """What to print for one run (columns are subsets) or several (columns are runs)."""
    for start in range(0, len(runs), _MOST_RUNS):
        chosen = runs[start : start + _MOST_RUNS]
        yield heading("where answers were lost", [name for name, _ in runs])
        yield _table(_columns(chosen) if len(runs) == 1 else _side_by_side(chosen))
    if runs:
        traced = any(found.subsets["all"].traced for _, found in runs)
        yield notes(_NOTE if traced else _UNTRACED_NOTE)


def _columns(runs: Sequence[NamedErrors]) -> list[tuple[str, SubsetTotals]]:
    """Subsets of a run that hold anything; `all` only where it says more than one of them."""
    subsets = runs[0][1].subsets
    kinds = [(name, found) for name, found in subsets.items() if name != "all" and found.items]
    return kinds if len(kinds) == 1 else [*kinds, ("all", subsets["all"])]


def _side_by_side(runs: Sequence[NamedErrors]) -> list[tuple[str, SubsetTotals]]:
    return [(run_name(name), found.subsets["all"]) for name, found in runs]


def _table(columns: Sequence[tuple[str, SubsetTotals]]) -> "Table":
    table = new_table()
    for name, _ in columns:
        table.add_column(plain(name), justify="right", overflow="fold")
    for row in _ROWS:
        counts = [row.count(found) for _, found in columns]
        if row.needs_trace and not any(found.traced for _, found in columns):
            continue
        if row.is_total or any(counts):
            style = "bold" if row.is_total else ""
            table.add_row(plain(row.words, style), *(plain(f"{n:,}", style) for n in counts))
    return table
