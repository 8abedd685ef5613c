"""Ceilings and the curve of recall as tables for a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.ceilings.ceilings import LOSSES, CeilingScores
from branchwise.eval.ceilings.curves import Curve, CurvePoint
from branchwise.eval.question_scores import told_subsets
from branchwise.eval.statistics.words import metric_words
from branchwise.ui.cells import (
    heading,
    indented,
    mean_cell,
    new_table,
    notes,
    number,
    plain,
    run_name,
)
from branchwise.ui.console import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NamedCeilings = tuple[str, CeilingScores, Curve]
"""A run's name, its ceilings, and its recall against tool calls."""

_SHARES = (
    ("ceiling_reach", "within\nreach"),
    ("ceiling_retrieved", "\nretrieved"),
    ("ceiling_extracted", "\nextracted"),
    ("ceiling_shown", "\nshown"),
)
_PLACES = ("retrieval", "extraction", "context", "reasoning")
_LOST = tuple((key, f"lost in\n{place}") for key, place in zip(LOSSES, _PLACES, strict=True))
_NEEDS = {"ceiling_extracted": "extraction_loss"}
"""Columns that say nothing where there is no such loss."""
_NOTE = (
    "{} of a perfect reader: of what the tools could have given, of",
    "what was retrieved, of what extraction left of that, and of what the agent",
    "was shown; then the agent's own, which may be higher where it knew answers",
    "by heart. Losses are the differences. A mention need not state an answer, so",
    "all but the last are upper bounds.",
)
_FIRST, _LATER = 5, 3
"""Points of a curve that are shown: the first ones, and some of the rest."""


def ceiling_tables(runs: Sequence[NamedCeilings]) -> "Iterator[RenderableType]":
    """What to print for one run or several; nothing of runs that recorded no evidence."""
    shown = [run for run in runs if run[1].aggregates["all"]["ceiling_retrieved"].n]
    if not shown:
        return
    yield heading("what a perfect reader would have found", [name for name, _, _ in runs])
    yield _table(shown, (*_SHARES, (shown[0][1].recall, "the\nagent")))
    yield plain("")
    yield _table(shown, _LOST)
    yield notes([_NOTE[0].format(metric_words(shown[0][1].recall)), *_NOTE[1:], *_unknown(shown)])
    yield indented(plain("\n".join(_curves(shown))))


def _table(runs: Sequence[NamedCeilings], columns: Sequence[tuple[str, str]]) -> "Table":
    table = new_table()
    table.add_column("\nn", justify="right")
    known = [column for column in columns if _says_something(column[0], runs)]
    for _, title in known:
        table.add_column(title, justify="right", no_wrap=True)
    for subset in told_subsets(lambda kind: _has(runs, kind)):
        if len(runs) > 1:
            table.add_section()
            table.add_row(plain(subset, "bold"))
        for name, ceilings, _ in runs:
            found = ceilings.aggregates[subset]
            n = found[ceilings.recall].n
            label = plain(subset) if len(runs) == 1 else indented(plain(run_name(name)))
            cells = [mean_cell(found[key], 2, n) for key, _ in known]
            table.add_row(label, str(n), *cells)
    return table


def _says_something(key: str, runs: Sequence[NamedCeilings]) -> bool:
    found = [ceilings.aggregates["all"] for _, ceilings, _ in runs]
    needed = _NEEDS.get(key, key if key in ("extraction_loss", "context_loss") else None)
    return any(one[key].n and (needed is None or one[needed].mean) for one in found)


def _has(runs: Sequence[NamedCeilings], kind: str) -> bool:
    return any(found.aggregates[kind][found.recall].n for _, found, _ in runs)


def _unknown(runs: Sequence[NamedCeilings]) -> Iterator[str]:
    for name, ceilings, _ in runs:
        before = f"{run_name(name)}: " if len(runs) > 1 else ""
        yield from (f"{before}{printable(why)[:400]}" for why in ceilings.unknown)


def _curves(runs: Sequence[NamedCeilings]) -> Iterator[str]:
    """The retrieved ceiling after so many tool calls, at a few of the points."""
    shown = [(name, _few(curve.points)) for name, _, curve in runs]
    if any(points for _, points in shown):
        yield "recall of what was retrieved after so many tool calls, at some points:"
    for name, points in shown:
        before = f"{run_name(name)}: " if len(runs) > 1 else ""
        told = (f"{point.effort} {number(point.recall.mean)}" for point in points)
        if points:
            yield f"  {before}{' · '.join(told)}"


def _few(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """The first points and some later ones; the one before any call only where it has a recall."""
    telling = [point for point in points if point.effort or point.recall.mean]
    first, rest = telling[:_FIRST], telling[_FIRST:]
    step = -(-len(rest) // _LATER) or 1
    return [*first, *rest[::-1][::step][::-1]]
