"""Where answers were lost, as a table for a terminal: one run by subset, or runs side by side."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from branchwise.base.numbers import UNKNOWN, count, percent
from branchwise.eval.errors.item_errors import ErrorTotals, SubsetTotals
from branchwise.report.error_counts import ErrorCounts, error_counts, found_in
from branchwise.report.loss_kinds import (
    ITEM_KINDS,
    MISSING_KINDS,
    PERHAPS,
    WRONG_KINDS,
    LossKind,
)
from branchwise.report.study_report import StudyReport
from branchwise.report.terminal.cells import heading, new_table, notes, plain, run_name

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NamedErrors = tuple[str, ErrorTotals]
"""A run's name and its errors."""

_MOST_RUNS, _MOST_SHARES = 5, 4
"""Columns of counts, and of counts with shares, that fit a terminal of 80 beside the labels; more
runs are shown in several tables."""
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


_OF_THE_WAY = ("left_out", "extraction", "node", "unreadable", "wrong_branch")
"""What is read first is what happens first: a part of it stands below what was never retrieved."""


def _row(kind: LossKind) -> _Row:
    return _Row(f"  {kind.row or kind.words}", kind.count)


_MISSING = {kind.key: kind for kind in MISSING_KINDS}
_ROWS = (
    _Row("gold answers missing", lambda found: found.missing, is_total=True),
    _row(_MISSING["not_in_corpus"]),
    _row(_MISSING["never_retrieved"]),
    _Row("    mentioned elsewhere", lambda found: found.elsewhere),
    _row(_MISSING["perhaps_stated"]),
    *(_row(_MISSING[key]) for key in _OF_THE_WAY),
    _Row("branches with nothing retrieved", lambda found: found.branches, True, needs_trace=True),
    _Row("answers wrong", lambda found: found.wrong, is_total=True),
    *(_row(kind) for kind in WRONG_KINDS if kind.key != "unknown"),
    _Row("items", lambda found: found.items, is_total=True),
    *(_row(kind) for kind in ITEM_KINDS),
)


def error_tables(runs: Sequence[NamedErrors]) -> "Iterator[RenderableType]":
    """What to print for one run (columns are subsets) or several (columns are runs)."""
    for start in range(0, len(runs), _MOST_RUNS):
        chosen = runs[start : start + _MOST_RUNS]
        yield heading("where answers were lost", [name for name, _ in runs])
        yield _table(_columns(chosen) if len(runs) == 1 else _side_by_side(chosen))
    if runs:
        every = [found.subsets["all"] for _, found in runs]
        told = _NOTE if any(found.traced for found in every) else _UNTRACED_NOTE
        yield notes([*told, *([PERHAPS.caution] if any(map(PERHAPS.count, every)) else [])])


def class_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """How many items that are not exact are of each class, a column a subset of the only run, or a
    run; below a class, by the sentence of its paper. Nothing where no trace tells."""
    runs = [(name, run) for _, name, run in report.examined if run.analysis]
    if len(runs) == 1:
        subsets = report.subsets if len(report.subsets) == 1 else (*report.parts, "all")
        counted = [(report.called(one), error_counts(runs[0][1], one)) for one in subsets]
    else:
        counted = [(run_name(name), error_counts(run, "all")) for name, run in runs]
    if not any(counts.inexact for _, counts in counted):
        return
    for start in range(0, len(counted), _MOST_SHARES):
        yield heading("items that are not exact, by class of error", [name for name, _ in runs])
        yield _class_table(report, counted[start : start + _MOST_SHARES])
    classes = report.error_classes
    yield notes(classes.says if classes else ())


def _class_table(report: StudyReport, counted: Sequence[tuple[str, ErrorCounts]]) -> "Table":
    table = new_table()
    for name, _ in counted:
        table.add_column(plain(name), justify="right", overflow="fold")
    inexact = (plain(count(counts.inexact), "bold") for _, counts in counted)
    table.add_row(plain("not exact", "bold"), *inexact)
    every = [counts for _, counts in counted]
    for group in report.error_classes.classes if report.error_classes else ():
        for one in group.shown if any(found_in(kind, every) for kind in group.shown) else ():
            words = one.title if one is group else f"  {one.title}"
            table.add_row(plain(words), *(plain(_share(counts, one.key)) for counts in every))
    return table


def _share(counts: ErrorCounts, key: str) -> str:
    """How many items that are not exact, and of those of which it is known."""
    found, known = counts.inexact_with[key], counts.inexact_known[key]
    return f"{count(found)} ({percent(found, known)})" if known else UNKNOWN


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
        # Of failed items nothing is known.
        known = any(found.traced and found.failed < found.items for _, found in columns)
        if row.needs_trace and not known:
            continue
        if row.is_total or any(counts):
            style = "bold" if row.is_total else ""
            table.add_row(plain(row.words, style), *(plain(count(n), style) for n in counts))
    return table
