"""Where answers were lost, items by error, and ceilings, for a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from branchwise.base.numbers import UNKNOWN, count, number, percent
from branchwise.base.text import printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings import LOSSES, CurvePoint
from branchwise.eval.errors.item_errors import ErrorTotals, SubsetTotals
from branchwise.eval.errors.labels import ErrorClass, ErrorType
from branchwise.report.figures.errors import ErrorCounts, error_counts, found_in
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
from branchwise.report.terminal.report_table import body, drawn

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


_ROOM, _CELL = 80, 10
"""Columns of a terminal, and of a count with its share."""
_Counted = tuple[str, ErrorCounts]
"""A run's name and its errors."""
_TOLD_NOTES = (
    "an item is a question in one epoch; it may have several errors, each counted",
    "what each means: docs/benchmarks; each item: branchwise errors DIR",
)


def told_error_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """Items by error, a column a run, for a terminal; nothing where traces tell more."""
    classes = report.task.error_classes
    if not classes:
        return
    runs = [(one.name, error_counts(one.run, "all")) for one in report.systems]
    label = max(len(words) for group in classes.classes for *_, words in _kinds(group))
    for chosen in _fitting(runs, label):
        yield heading("items by error", [name for name, _ in runs])
        table = new_table()
        table.columns[0].no_wrap = True
        for name, _ in chosen:
            words = "items" if len(runs) == 1 else "\n".join(_lines(name))
            table.add_column(plain(words), justify="right", overflow="fold")
        table.add_row(plain("all", "bold"), *(plain(count(one.items)) for _, one in chosen))
        for group in classes.classes:
            for one, style, words in _kinds(group):
                if found_in(one, (counts for _, counts in chosen)):
                    cells = [_told_share(counts, one) for _, counts in chosen]
                    table.add_row(plain(words, style), *(plain(c, style) for c in cells))
        yield table
    yield notes(_TOLD_NOTES)


def _fitting(runs: Sequence[_Counted], label: int) -> Iterator[list[_Counted]]:
    """The runs of each table: as many as a terminal has room for beside the labels."""
    chosen: list[_Counted] = []
    taken = label
    for one in runs:
        width = max(_CELL, *map(len, _lines(one[0]))) + 2
        if chosen and taken + width > _ROOM:
            yield chosen
            chosen, taken = [], label
        chosen.append(one)
        taken += width
    if chosen:
        yield chosen


def _lines(name: str) -> list[str]:
    """A run's name, each of the settings that it lists on its own line."""
    return run_name(name).replace(", ", ",\n").split("\n")


def _kinds(group: ErrorClass[Any]) -> Iterator[tuple[ErrorClass[Any] | ErrorType[Any], str, str]]:
    yield group, "bold", group.title
    yield from ((one, "", f"  {one.title}") for one in group.types)


def _told_share(counts: ErrorCounts, one: ErrorClass[Any] | ErrorType[Any]) -> str:
    """How many, and of those of which it is known."""
    found, known = counts.with_error[one.key], counts.known[one.key]
    return f"{count(found)} ({percent(found, known)})" if known else UNKNOWN


_CEILING_NOTE = (
    "{} of a perfect reader: of what the tools could have given, of",
    "what was retrieved, of what extraction left of that, and of what the agent",
    "was shown; then the agent's own, which may be higher where it knew answers",
    "by heart. Losses are the differences. A mention need not state an answer, so",
    "all but the last are upper bounds.",
)
_FIRST, _LATER = 5, 3
"""How many points of a curve are shown: the first ones, and some of the rest."""


def ceiling_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """Shares, then what was lost; nothing of runs that recorded no evidence."""
    known = report.with_evidence()
    if known is None:
        return
    found = [analysis.ceilings.aggregates["all"] for _, _, analysis in known.analysed]
    table = ceilings_table(known).with_all_printed()
    shares = [key for key, _ in CEILING_PLACES if _says_something(key, found)]
    losses = [key for key in LOSSES if _says_something(key, found)]
    main = known.task.main
    beside = ("system", "subset", "n")
    title = "what a perfect reader would have found"
    yield from drawn(table.with_columns((*beside, *shares, main.key)), title)
    yield plain("")
    yield body(table.with_columns((*beside, *losses)))
    yield notes([_CEILING_NOTE[0].format(main.name), *_CEILING_NOTE[1:], *_unknown(known)])
    yield indented(plain("\n".join(_curves(known))))


_ONLY_WHERE = {
    "ceiling_extracted": "extraction_loss",
    "extraction_loss": "extraction_loss",
    "context_loss": "context_loss",
}
"""Columns left out if there is no such loss."""


def _says_something(key: str, systems: Sequence[Mapping[str, Aggregate]]) -> bool:
    needed = _ONLY_WHERE.get(key)
    return any(one[key].n and (needed is None or one[needed].mean) for one in systems)


def _before(report: StudyReport, name: str) -> str:
    return f"{run_name(name)}: " if len(report.systems) > 1 else ""


def _unknown(report: StudyReport) -> Iterator[str]:
    for _, name, analysis in report.analysed:
        before = _before(report, name)
        yield from (f"{before}{printable(why)[:400]}" for why in analysis.ceilings.unknown)


def _curves(report: StudyReport) -> Iterator[str]:
    """The retrieved ceiling after so many tool calls, at a few of the points."""
    shown = [(name, _few(one.curve("calls").points)) for _, name, one in report.analysed]
    if any(points for _, points in shown):
        yield "recall of what was retrieved after so many tool calls, at some points:"
    for name, points in shown:
        told = (f"{point.effort} {number(point.recall.mean)}" for point in points)
        if points:
            yield f"  {_before(report, name)}{' · '.join(told)}"


def _few(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """The first points and some later ones; the one before any call only where it has a recall."""
    telling = [point for point in points if point.effort or point.recall.mean]
    first, rest = telling[:_FIRST], telling[_FIRST:]
    step = -(-len(rest) // _LATER) or 1
    return [*first, *rest[::-1][::step][::-1]]
