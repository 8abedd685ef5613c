"""Figures of the page: a drawing, what it says, and the numbers behind it."""

import re
from dataclasses import dataclass, replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

from branchwise.base.numbers import UNKNOWN, as_text, interval, p_value, percent, signed
from branchwise.base.text import counted
from branchwise.eval.comparison import ScoreDifference
from branchwise.eval.effects import Effect
from branchwise.report.figures.changes import (
    ChangeFigure,
    change_figures,
    draw_changes,
    effect_figures,
    model_change_figures,
    total_notes,
)
from branchwise.report.figures.cost import Cost, cost_figure, draw_cost
from branchwise.report.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    TIP,
    VERMILION,
    YELLOW,
    Drawing,
    paper_style,
    saved,
)
from branchwise.report.figures.errors import AnyError, ErrorShares, draw_error_classes, error_shares
from branchwise.report.figures.lines import (
    Lines,
    ceilings,
    draw_ceilings,
    draw_lines,
    line_figures,
    protocol_figure,
)
from branchwise.report.figures.losses import PLACES, Bar, Losses, draw_losses, losses
from branchwise.report.html.tables import MAX_NAME, PageCell, PageRow, PageTable, mean_cell, short
from branchwise.report.study_report import StudyReport

_SVG = "{http://www.w3.org/2000/svg}"
_WIDTH = 3.0
"""Inches. Less than on paper: letters are larger where a figure is as wide as a telephone."""
_COLOURS = {
    "ink": (BLACK,),
    "blue": (BLUE,),
    "vermilion": (VERMILION,),
    "green": (GREEN,),
    "purple": (PURPLE,),
    "orange": (ORANGE,),
    "sky": (SKY,),
    "yellow": (YELLOW,),
    "paper": ("#ffffff",),
    "rule": ("#e6e6e6", "#d3d3d3"),
    "soft": ("#b2b2b2", "#999999", "#696969"),
}
_VARIABLES = {
    colour.lower(): f"var(--{name})" for name, colours in _COLOURS.items() for colour in colours
}
"""A colour of the drawing to the variable of the style sheet that has it in light and in dark."""


def inlined(drawing: Drawing, report: str, title: str, description: str) -> Markup:
    """The drawing without its titles, named for screen readers; its tips become titles. It
    refers to its own parts alone, by ids that no other title or report has."""
    figure = drawing.figure
    figure.set_figwidth(_WIDTH)
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
        axes.set_title("")
    named = replace(drawing, name=short(f"{title} of {report}"))
    root = ElementTree.fromstring(saved(named, "svg"))  # noqa: S314 (made by matplotlib)
    box = root.attrib["viewBox"]
    made = Element("svg", {"viewBox": box, "role": "img", "stroke-linejoin": "round"})
    SubElement(made, "title").text = short(title)
    SubElement(made, "desc").text = short(description)
    parts = [element for element in root if element.tag in (f"{_SVG}g", f"{_SVG}defs")]
    made.extend(part for part in parts if part.find(f"{_SVG}style") is None)
    for element in [*made.iter()][3:]:
        _become_part(element)
    return Markup(ElementTree.tostring(made, encoding="unicode"))  # noqa: S704 (escaped by it)


def _become_part(element: Element) -> None:
    """Take an element's style, names and white space from it; give it its title."""
    element.tag, element.tail = element.tag.removeprefix(_SVG), None
    if element.tag != "text":
        element.text = None
    tips = element.attrib.pop("id", "").split(TIP)[1:] if element.tag == "g" else []
    for key, value in [*element.attrib.items()]:
        if key.endswith("}href"):
            element.set("href", element.attrib.pop(key))
        elif value in _VARIABLES:
            element.set(key, _VARIABLES[value])
        elif key in ("d", "x", "y"):
            element.set(key, re.sub(r"\d+\.\d+", lambda match: f"{float(match[0]):.2f}", value))
    for key, value in re.findall(r"([\w-]+): ([^;]*)", element.attrib.pop("style", "")):
        if not key.startswith("font"):
            element.set(key, _VARIABLES.get(value, value))
        elif size := re.search(r"([\d.]+)px", value):
            element.set("font-size", size[1])
    marks = [*element.iter(f"{_SVG}use")] if len(tips) > 1 else [element]
    for mark, words in zip(marks, tips, strict=False):
        title = Element("title")
        title.text = words
        mark.insert(0, title)


_SHARES = "Of the items that are not exact; below, of all."
_BETTER = "← worse · difference · better →"


@dataclass(frozen=True)
class Figure:
    """What stands under a heading, above its numbers."""

    title: str
    drawing: Markup
    table: PageTable
    note: str = ""


def figures(report: StudyReport) -> dict[str, list[Figure]]:
    """The figures of each section. Loads matplotlib."""
    by_model = [change for band in model_change_figures(report) for change in band]
    changes = [*effect_figures(report), *(by_model or change_figures(report))]
    by_protocol, cost = protocol_figure(report), cost_figure(report)
    lost = losses(report, "all")
    errors = [shares for subset in report.parts if (shares := error_shares(report, subset))]
    ways = [(subset, way) for subset in report.subsets if (way := ceilings(report, subset))]
    with paper_style():
        return {
            "changes": [_changes(report, change) for change in changes],
            "errors": [
                *([_losses(report, lost)] if lost else []),
                *(_errors(report, error) for error in errors),
            ],
            "scores": [_lines(report, by_protocol, draw_lines(by_protocol))] if by_protocol else [],
            "effort": [_lines(report, line, draw_lines(line)) for line in line_figures(report)],
            "cost": [_cost(report, cost)] if cost else [],
            "ceilings": [_lines(report, way[1], draw_ceilings(report, [way])) for way in ways],
        }


def _figure(
    report: StudyReport,
    drawing: Drawing,
    description: str,
    table: PageTable,
    note: str = "",
    title: str = "",
) -> Figure:
    """Under its title, or its table's caption. `description`: for those who do not see it."""
    title = title or table.caption
    drawn = inlined(drawing, report.title, title, f"{description}; values below")
    return Figure(title, drawn, table, short(note, 2_000))


def _row(name: str, *cells: PageCell) -> PageRow:
    return PageRow(PageCell(short(name, MAX_NAME)), cells)


def _lines(report: StudyReport, lines: Lines, drawing: Drawing) -> Figure:
    rows = tuple(
        _row(line.name, *(mean_cell(*of) if of else PageCell(UNKNOWN) for of in line.means))
        for line in lines.series
    )
    table = PageTable(lines.title, ("system", *lines.columns), rows)
    description = f"{lines.y} by {lines.x} for {counted(len(lines.series), 'system')}"
    return _figure(report, drawing, description, table, lines.caption)


def _changes(report: StudyReport, change: ChangeFigure) -> Figure:
    digits = change.metric.digits

    def row(name: str, difference: ScoreDifference | Effect) -> PageRow:
        ends = interval(difference.low, difference.high, digits)
        cells = [
            PageCell(report.called(difference.subset)),
            PageCell(signed(difference.difference or 0.0, digits), ends),
        ]
        p = difference.p_holm
        if not isinstance(difference, Effect):
            counts = (difference.higher, difference.lower, difference.same)
            cells.append(PageCell(" / ".join(map(str, counts))))
            p = difference.corrected_p
        return _row(name, *cells, PageCell("" if p is None else p_value(p)))

    rows = tuple(row(name, difference) for name, own in change.rows for difference in own)
    first = "effect" if change.of_effects else "model" if change.setting else "system"
    counts = () if change.of_effects else ("higher / lower / same",)
    columns = (first, "questions", "change", *counts, "test")
    table = PageTable(change.title, columns, rows, words=(1,), notes=total_notes(report))
    drawing = draw_changes(report, [change])
    # An interval over few questions may be wider than any difference.
    ends = [abs(d.difference or 0.0) for _, differences in change.rows for d in differences]
    (axes,), most = drawing.figure.axes, 1.05 * max(1.0, *ends)
    axes.set_xlim(max(-most, axes.get_xlim()[0]), min(most, axes.get_xlim()[1]))
    axes.set_xlabel(_BETTER)
    count = len(change.rows)
    description = f"differences of {counted(count, 'system')} to the base with 95% intervals"
    if change.of_effects:
        description = f"{counted(count, 'effect')} with 95% intervals"
    return _figure(report, drawing, description, table)


def _losses(report: StudyReport, lost: Losses) -> Figure:
    def share(count: int, bar: Bar) -> PageCell:
        return PageCell(f"{count:,} ({percent(count, bar.gold)})")

    rows = [_row("gold answers", *(PageCell(f"{bar.gold:,}") for bar in lost.bars))]
    rows += [_row(PLACES[n], *(share(bar.counts[n], bar) for bar in lost.bars)) for n in lost.used]
    names = (short(bar.name, MAX_NAME) for bar in lost.bars)
    table = PageTable("Gold answers", ("", *names), tuple(rows))
    description = f"shares of {counted(len(lost.bars), 'system')}"
    note = f"All gold answers of all questions, branch by branch. {lost.caution}".strip()
    drawing, title = draw_losses(report, [lost]), "Where the gold answers are"
    return _figure(report, drawing, description, table, note, title)


def _errors(report: StudyReport, shares: ErrorShares) -> Figure:
    every = [counts for _, counts in shares.systems]

    def row(words: str, error: AnyError) -> PageRow:
        cells = []
        for counts in every:
            inexact, of_all = counts.inexact_with[error.key], counts.with_error[error.key]
            share = f"{inexact:,} ({percent(inexact, counts.inexact)})"
            cells.append(PageCell(share, f"{of_all:,} ({percent(of_all, counts.items)})"))
        return PageRow(PageCell(words), tuple(cells))

    rows = [
        _row("items", *(PageCell(f"{counts.items:,}") for counts in every)),
        _row("not exact", *(PageCell(f"{counts.inexact:,}") for counts in every)),
    ]
    for group in shares.classes:
        rows.append(row(group.title, group))
        if by_paper := group.published:
            rows.append(row(f"· {by_paper.title}: {by_paper.words}", by_paper))
        rows += [row(f"· {error_type.words}", error_type) for error_type in shares.types(group)]
    names = (short(name, MAX_NAME) for name, _ in shares.systems)
    table = PageTable(shares.title, ("", *names), tuple(rows), notes=(_SHARES,))
    description = f"shares of items of {counted(len(every), 'system')} with each error"
    drawing = draw_error_classes(report, [shares])
    return _figure(report, drawing, description, table, shares.caption)


def _cost(report: StudyReport, cost: Cost) -> Figure:
    rows = tuple(
        _row(point.name, PageCell(as_text(point.spent, cost.unit.unit)), mean_cell(point.mean))
        for point in cost.points
    )
    table = PageTable(cost.title, ("system", cost.unit.axis, cost.metric.name), rows)
    systems = counted(len(cost.points), "system")
    description = f"{cost.metric.name} against {cost.unit.axis} of {systems}"
    return _figure(report, draw_cost(cost), description, table, cost.caption)
