"""Ceilings and the curve of recall on a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from branchwise.base.numbers import number
from branchwise.base.text import printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings import LOSSES, CurvePoint
from branchwise.report.figures.lines import CEILING_PLACES
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.losses import ceilings_table
from branchwise.report.terminal.cells import indented, notes, plain, run_name
from branchwise.report.terminal.report_table import body, drawn

if TYPE_CHECKING:
    from rich.console import RenderableType

_NOTE = (
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
    yield notes([_NOTE[0].format(main.name), *_NOTE[1:], *_unknown(known)])
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
