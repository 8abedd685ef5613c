"""Where answers were lost, items by error, and ceilings, for a terminal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from branchwise.base.numbers import UNKNOWN, count, number, percent
from branchwise.base.text import printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings import LOSSES
from branchwise.eval.errors.item_errors import ErrorTotals, SubsetTotals
from branchwise.report.figures.errors import AnyError, ErrorCounts, error_counts, has_any
from branchwise.report.figures.lines import CEILING_PLACES
from branchwise.report.figures.losses import (
    ITEM_KINDS,
    MISSING_KINDS,
    PERHAPS,
    WRONG_KINDS,
    LossKind,
)
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.errors import ceilings_table
from branchwise.report.terminal.cells import heading, indented, new_table, notes, plain, run_name
from branchwise.report.terminal.report_table import TableBody, drawn

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

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


def _row(kind: LossKind) -> _Row:
    return _Row(f"  {kind.row or kind.words}", kind.count)


_OF_THE_WAY = ("left_out", "extraction", "node", "unreadable", "wrong_branch")
"""What is read first is what happens first: a part of it stands below what was never retrieved."""
_MISSING = {kind.key: kind for kind in MISSING_KINDS}
_ROWS = (
    _Row("gold answers missing", lambda totals: totals.missing, is_total=True),
    _row(_MISSING["not_in_corpus"]),
    _row(_MISSING["never_retrieved"]),
    _Row("    mentioned elsewhere", lambda totals: totals.elsewhere),
    _row(_MISSING["perhaps_stated"]),
    *(_row(_MISSING[key]) for key in _OF_THE_WAY),
    _Row("branches with nothing retrieved", lambda totals: totals.branches, True, needs_trace=True),
    _Row("answers wrong", lambda totals: totals.wrong, is_total=True),
    *(_row(kind) for kind in WRONG_KINDS if kind.key != "unknown"),
    _Row("items", lambda totals: totals.items, is_total=True),
    *(_row(kind) for kind in ITEM_KINDS),
)


def error_tables(runs: Sequence[tuple[str, ErrorTotals]]) -> "Iterator[RenderableType]":
    """What to print for one run (columns are subsets) or several (columns are runs), with names."""
    columns = [(run_name(name), totals.subsets["all"]) for name, totals in runs]
    if len(runs) == 1:
        subsets = runs[0][1].subsets
        columns = [
            (name, subset) for name, subset in subsets.items() if name != "all" and subset.items
        ]
        # All of them only where it says more than one of them.
        columns += [] if len(columns) == 1 else [("all", subsets["all"])]
    for start in range(0, len(columns), _MOST_RUNS):
        yield heading("where answers were lost", [name for name, _ in runs])
        yield _loss_table(columns[start : start + _MOST_RUNS])
    if runs:
        every = [totals.subsets["all"] for _, totals in runs]
        lines = _NOTE if any(totals.traced for totals in every) else _UNTRACED_NOTE
        yield notes([*lines, *([PERHAPS.caution] if any(map(PERHAPS.count, every)) else [])])


def _loss_table(columns: Sequence[tuple[str, SubsetTotals]]) -> "Table":
    table = _table_of(name for name, _ in columns)
    # Of failed items nothing is known.
    known = any(totals.traced and totals.failed < totals.items for _, totals in columns)
    for row in _ROWS:
        counts = [row.count(totals) for _, totals in columns]
        if (row.is_total or any(counts)) and (known or not row.needs_trace):
            style = "bold" if row.is_total else ""
            table.add_row(plain(row.words, style), *(plain(count(n), style) for n in counts))
    return table


def _table_of(names: Iterable[str]) -> "Table":
    table = new_table()
    for name in names:
        table.add_column(plain(name), justify="right", overflow="fold")
    return table


def class_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """Inexact items by class, a column a subset of the only run, or a run."""
    runs = [(name, run) for name, run in report.examined if run.analysis]
    if len(runs) == 1:
        subsets = report.subsets if len(report.subsets) == 1 else (*report.parts, "all")
        counted = [(report.called(subset), error_counts(runs[0][1], subset)) for subset in subsets]
    else:
        counted = [(run_name(name), error_counts(run, "all")) for name, run in runs]
    classes = report.error_classes
    if classes is None or not any(counts.inexact for _, counts in counted):
        return
    for start in range(0, len(counted), _MOST_SHARES):
        yield heading("items that are not exact, by class of error", [name for name, _ in runs])
        chosen = counted[start : start + _MOST_SHARES]
        every = [counts for _, counts in chosen]
        table = _table_of(name for name, _ in chosen)
        inexact = (plain(count(counts.inexact), "bold") for counts in every)
        table.add_row(plain("not exact", "bold"), *inexact)
        for group in classes.classes:
            for error in group.shown if any(has_any(e, every) for e in group.shown) else ():
                words = error.title if error is group else f"  {error.title}"
                shares = (_share(c.inexact_with, c.inexact_known, error.key) for c in every)
                table.add_row(plain(words), *map(plain, shares))
        yield table
    yield notes(classes.says)


def _share(counts: Mapping[str, int], known: Mapping[str, int], key: str) -> str:
    """How many items have an error, and the share of those of which it is known."""
    return f"{count(counts[key])} ({percent(counts[key], known[key])})" if known[key] else UNKNOWN


_ROOM, _CELL = 80, 10
"""Columns of a terminal, and of a count with its share."""
_TASK_NOTES = (
    "an item is a question in one epoch; it may have several errors, each counted",
    "what each means: docs/benchmarks; each item: branchwise errors DIR",
)


def task_error_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """Items by the task's own classes of error, a column a run; nothing where traces tell more."""
    rows: list[tuple[AnyError, str, str]] = []
    for group in report.task.error_classes.classes if report.task.error_classes else ():
        rows.append((group, "bold", group.title))
        rows += [(error_type, "", f"  {error_type.title}") for error_type in group.types]
    if not rows:
        return
    runs = [(system.name, error_counts(system.run, "all")) for system in report.systems]
    for chosen in _side_by_side(runs, max(len(words) for *_, words in rows)):
        yield heading("items by error", [name for name, _ in runs])
        names = ["items"] if len(runs) == 1 else ["\n".join(_lines(name)) for name, _ in chosen]
        table = _table_of(names)
        table.columns[0].no_wrap = True
        every = [counts for _, counts in chosen]
        table.add_row(plain("all", "bold"), *(plain(count(counts.items)) for counts in every))
        for error, style, words in rows:
            if has_any(error, every):
                shares = (_share(c.with_error, c.known, error.key) for c in every)
                table.add_row(plain(words, style), *(plain(share, style) for share in shares))
        yield table
    yield notes(_TASK_NOTES)


def _side_by_side(
    runs: Sequence[tuple[str, ErrorCounts]], label: int
) -> Iterator[list[tuple[str, ErrorCounts]]]:
    """The runs of each table: as many as a terminal has room for beside the labels."""
    chosen: list[tuple[str, ErrorCounts]] = []
    taken = label
    for run in runs:
        width = max(_CELL, *map(len, _lines(run[0]))) + 2
        if chosen and taken + width > _ROOM:
            yield chosen
            chosen, taken = [], label
        chosen.append(run)
        taken += width
    if chosen:
        yield chosen


def _lines(name: str) -> list[str]:
    """A run's name, each of the settings that it lists on its own line."""
    return run_name(name).replace(", ", ",\n").split("\n")


_CEILING_NOTE = (
    "{} of a perfect reader: of what the tools could have given, of",
    "what was retrieved, of what extraction left of that, and of what the agent",
    "was shown; then the agent's own, which may be higher where it knew answers",
    "by heart. Losses are the differences. A mention need not state an answer, so",
    "all but the last are upper bounds.",
)
_FIRST, _LATER = 5, 3
"""How many points of a curve are shown: the first ones, and some of the rest."""
_ONLY_WHERE = {
    "ceiling_extracted": "extraction_loss",
    "extraction_loss": "extraction_loss",
    "context_loss": "context_loss",
}
"""Columns left out if there is no such loss."""


def ceiling_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """Shares, then what was lost; nothing of runs that recorded no evidence."""
    known = report.with_evidence()
    if known is None:
        return
    means = [analysis.ceilings.aggregates["all"] for _, _, analysis in known.analysed]
    table = ceilings_table(known)
    table = replace(table, columns=tuple(replace(column, printed=True) for column in table.columns))
    shares = [key for key, _ in CEILING_PLACES if _says_something(key, means)]
    losses = [key for key in LOSSES if _says_something(key, means)]
    main = known.task.main
    beside = ("system", "subset", "n")
    title = "what a perfect reader would have found"
    yield from drawn(table.with_columns((*beside, *shares, main.key)), title)
    yield plain("")
    yield TableBody(table.with_columns((*beside, *losses)))
    unknown: list[str] = []
    lines = ["recall of what was retrieved after so many tool calls, at some points:"]
    for _, name, analysis in known.analysed:
        before = f"{run_name(name)}: " if len(known.systems) > 1 else ""
        unknown += (f"{before}{printable(why)[:400]}" for why in analysis.ceilings.unknown)
        # The point before any call only where it has a recall.
        points = [p for p in analysis.curve("calls").points if p.effort or p.recall.mean]
        first, rest = points[:_FIRST], points[_FIRST:]
        later = rest[::-1][:: -(-len(rest) // _LATER) or 1][::-1]
        recalls = " · ".join(f"{p.effort} {number(p.recall.mean)}" for p in (*first, *later))
        lines += [f"  {before}{recalls}"] if points else []
    yield notes([_CEILING_NOTE[0].format(main.name), *_CEILING_NOTE[1:], *unknown])
    yield indented(plain("\n".join(lines) if len(lines) > 1 else ""))


def _says_something(key: str, systems: Sequence[Mapping[str, Aggregate]]) -> bool:
    needed = _ONLY_WHERE.get(key)
    return any(system[key].n and (needed is None or system[needed].mean) for system in systems)
