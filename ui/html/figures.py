"""Figures of the page: a drawing, its legend, what it says, and the numbers behind it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from branchwise.eval.errors.classes import ErrorClass, ErrorType
from branchwise.eval.numbers import UNKNOWN, as_text, interval, p_value, percent, signed
from branchwise.eval.reporting.figures.changes import (
    ChangeFigure,
    change_figures,
    model_change_figures,
    total_notes,
)
from branchwise.eval.reporting.figures.cost import Cost, cost_figure
from branchwise.eval.reporting.figures.errors import ErrorShares, error_shares
from branchwise.eval.reporting.figures.lines import Lines, ceilings, line_figures
from branchwise.eval.reporting.figures.losses import PLACES, Losses, losses
from branchwise.eval.reporting.figures.protocols import protocol_figure
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.html.bars import draw_error_shares, draw_stacked
from branchwise.ui.html.charts import draw_lines, draw_scatter
from branchwise.ui.html.forest import draw_forest
from branchwise.ui.html.svg import key, swatch
from branchwise.ui.html.tables import MAX_NAME, PageCell, PageRow, PageTable, mean
from branchwise.ui.html.text import short

_SHARES = "Of the items that are not exact; below, of all."
Legend = tuple[tuple[Markup, str], ...]


@dataclass(frozen=True)
class Figure:
    """`legend`: pairs of a mark and what it stands for; none where the drawing names them."""

    title: str
    drawing: Markup
    table: PageTable
    note: str = ""
    legend: Legend = ()


def figures(report: StudyReport) -> dict[str, list[Figure]]:
    """The figures of each section."""
    by_model = [one for figures in model_change_figures(report) for one in figures]
    asked = protocol_figure(report)
    cost, lost = cost_figure(report), losses(report, "all")
    errors = [one for subset in report.parts if (one := error_shares(report, subset))]
    ways = [found for subset in report.subsets if (found := ceilings(report, subset))]
    return {
        "changes": [_changes(report, one) for one in by_model or change_figures(report)],
        "errors": [*([_losses(lost)] if lost else []), *map(_errors, errors)],
        "scores": [_lines(asked)] if asked else [],
        "effort": [_lines(one) for one in line_figures(report)],
        "cost": [_cost(cost)] if cost else [],
        "ceilings": [_lines(one) for one in ways],
    }


def _legend(systems: Iterable[tuple[int, str]]) -> Legend:
    return tuple((key(index), short(name, MAX_NAME)) for index, name in systems)


def _name(name: str) -> PageCell:
    return PageCell(short(name, MAX_NAME))


def _lines(found: Lines) -> Figure:
    rows = tuple(
        PageRow(_name(one.name), tuple(mean(*of) if of else PageCell(UNKNOWN) for of in one.means))
        for one in found.series
    )
    table = PageTable(found.title, ("system", *found.columns), rows)
    legend = _legend((one.index, one.name) for one in found.series)
    return Figure(found.title, draw_lines(found), table, found.caption, legend)


def _changes(report: StudyReport, found: ChangeFigure) -> Figure:
    digits = found.metric.digits
    rows = tuple(
        PageRow(
            _name(row.name),
            (
                PageCell(report.called(one.subset)),
                PageCell(
                    signed(one.difference or 0.0, digits), interval(one.low, one.high, digits)
                ),
                PageCell(f"{one.higher} / {one.lower} / {one.same}"),
                PageCell("" if one.corrected_p is None else p_value(one.corrected_p)),
            ),
        )
        for row in found.rows
        for one in row.differences
    )
    columns = (
        "model" if found.setting else "system",
        "questions",
        "change",
        "higher / lower / same",
        "test",
    )
    notes = total_notes(report)
    table = PageTable(found.title, columns, rows, words=(1,), notes=notes)
    return Figure(found.title, draw_forest(found, report.task), table)


def _losses(found: Losses) -> Figure:
    title = "Where the gold answers are"
    rows = [_counts("gold answers", [bar.gold for bar in found.bars])]
    rows += [
        _shares(PLACES[place], [(bar.counts[place], bar.gold) for bar in found.bars])
        for place in found.used
    ]
    table = PageTable(
        "Gold answers", ("", *(short(b.name, MAX_NAME) for b in found.bars)), tuple(rows)
    )
    legend = tuple((swatch(f"e{place}"), PLACES[place]) for place in found.used)
    caution = next((bar.caution for bar in found.bars if bar.caution), "")
    note = f"All gold answers of all questions, branch by branch. {caution}".strip()
    return Figure(title, draw_stacked(title, found.bars), table, note, legend)


def _errors(found: ErrorShares) -> Figure:
    rows = [
        _counts("items", [one.counts.items for one in found.systems]),
        _counts("not exact", [one.counts.inexact for one in found.systems]),
    ]
    for group in found.classes:
        rows.append(_error_row(found, group.title, group))
        if one := group.published:
            rows.append(_error_row(found, f"· {one.title}: {one.words}", one))
        rows += [_error_row(found, f"· {one.words}", one) for one in found.types(group)]
    names = (short(one.name, MAX_NAME) for one in found.systems)
    table = PageTable(found.title, ("", *names), tuple(rows), notes=(_SHARES,))
    return Figure(found.title, draw_error_shares(found), table, short(found.caption, 2_000))


def _error_row(found: ErrorShares, words: str, kind: ErrorClass[Any] | ErrorType[Any]) -> PageRow:
    cells = []
    for one in found.systems:
        counts, key = one.counts, kind.key
        of_all = f"{counts.with_error[key]:,} ({percent(counts.with_error[key], counts.items)})"
        share = percent(counts.inexact_with[key], counts.inexact)
        cells.append(PageCell(f"{counts.inexact_with[key]:,} ({share})", of_all))
    return PageRow(PageCell(words), tuple(cells))


def _counts(words: str, counts: Iterable[int]) -> PageRow:
    return PageRow(PageCell(words), tuple(PageCell(f"{count:,}") for count in counts))


def _shares(words: str, counts: Iterable[tuple[int, int]]) -> PageRow:
    return PageRow(
        PageCell(words),
        tuple(PageCell(f"{part:,} ({percent(part, whole)})") for part, whole in counts),
    )


def _cost(found: Cost) -> Figure:
    rows = tuple(
        PageRow(_name(one.name), (PageCell(as_text(one.spent, found.unit.unit)), mean(one.found)))
        for one in found.points
    )
    table = PageTable(found.title, ("system", found.unit.axis, found.metric.name), rows)
    legend = _legend((one.index, one.name) for one in found.points)
    return Figure(found.title, draw_scatter(found), table, short(found.caption, 2_000), legend)
