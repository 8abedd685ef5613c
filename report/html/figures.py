"""Figures of the page: a drawing, what it says, and the numbers behind it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

from branchwise.base.numbers import UNKNOWN, as_text, interval, p_value, percent, signed
from branchwise.base.text import counted
from branchwise.eval.errors.labels import ErrorClass, ErrorType
from branchwise.report.figures.changes import (
    ChangeFigure,
    change_figures,
    draw_changes,
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
from branchwise.report.figures.errors import ErrorShares, draw_error_classes, error_shares
from branchwise.report.figures.lines import (
    Lines,
    ceilings,
    draw_ceilings,
    draw_lines,
    line_figures,
    protocol_figure,
)
from branchwise.report.figures.losses import PLACES, Losses, draw_losses, losses
from branchwise.report.html.tables import MAX_NAME, PageCell, PageRow, PageTable, mean, short
from branchwise.report.study_report import StudyReport

_SVG = "{http://www.w3.org/2000/svg}"
_WIDTH = 3.0
"""Inches. Less than on paper: letters are larger where a figure is as wide as a telephone."""
_COLOURS = {
    BLACK: "ink",
    BLUE: "blue",
    VERMILION: "vermilion",
    GREEN: "green",
    PURPLE: "purple",
    ORANGE: "orange",
    SKY: "sky",
    YELLOW: "yellow",
    "#ffffff": "paper",
    "#e6e6e6": "rule",
    "#d3d3d3": "rule",
    "#b2b2b2": "soft",
    "#999999": "soft",
    "#696969": "soft",
}
"""A colour of the drawing to the variable of the style sheet that has it in light and in dark."""
_VARIABLES = {colour.lower(): f"var(--{name})" for colour, name in _COLOURS.items()}


def inlined(drawing: Drawing, report: str, title: str, description: str) -> Markup:
    """The drawing without its titles, which the page has, with a name for screen readers.

    It refers to its own parts alone, by ids that no other title or report has. Its tips become
    titles, which browsers show where a pointer rests.
    """
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
    parts = [one for one in root if one.tag in (f"{_SVG}g", f"{_SVG}defs")]
    made.extend(one for one in parts if one.find(f"{_SVG}style") is None)
    for one in [*made.iter()][3:]:
        _become_part(one)
    return Markup(ElementTree.tostring(made, encoding="unicode"))  # noqa: S704 (escaped by it)


def _become_part(one: Element) -> None:
    """Take an element's style, names and white space from it; give it its title."""
    one.tag, one.tail = one.tag.removeprefix(_SVG), None
    if one.tag != "text":
        one.text = None
    tips = []
    if one.tag == "g":
        tips = one.attrib.pop("id", "").split(TIP)[1:]
    for key, value in [*one.attrib.items()]:
        if key.endswith("}href"):
            one.attrib["href"] = one.attrib.pop(key)
        elif value in _VARIABLES:
            one.set(key, _VARIABLES[value])
        elif key in ("d", "x", "y"):
            one.attrib[key] = re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.2f}", value)
    for key, value in re.findall(r"([\w-]+): ([^;]*)", one.attrib.pop("style", "")):
        if not key.startswith("font"):
            one.set(key, _VARIABLES.get(value, value))
        elif size := re.search(r"([\d.]+)px", value):
            one.set("font-size", size[1])
    marks = [*one.iter(f"{_SVG}use")] if len(tips) > 1 else [one]
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
    by_model = [one for figures in model_change_figures(report) for one in figures]
    asked = protocol_figure(report)
    cost, lost = cost_figure(report), losses(report, "all")
    errors = [one for subset in report.parts if (one := error_shares(report, subset))]
    ways = [(subset, way) for subset in report.subsets if (way := ceilings(report, subset))]
    with paper_style():
        where = [_losses(report, lost)] if lost else []
        return {
            "changes": [_changes(report, one) for one in by_model or change_figures(report)],
            "errors": where + [_errors(report, one) for one in errors],
            "scores": [_lines(report, asked, draw_lines(asked))] if asked else [],
            "effort": [_lines(report, one, draw_lines(one)) for one in line_figures(report)],
            "cost": [_cost(report, cost)] if cost else [],
            "ceilings": [_lines(report, one[1], draw_ceilings(report, [one])) for one in ways],
        }


def _name(name: str) -> PageCell:
    return PageCell(short(name, MAX_NAME))


def _lines(report: StudyReport, found: Lines, drawing: Drawing) -> Figure:
    rows = tuple(
        PageRow(_name(one.name), tuple(mean(*of) if of else PageCell(UNKNOWN) for of in one.means))
        for one in found.series
    )
    table = PageTable(found.title, ("system", *found.columns), rows)
    said = f"{found.y} by {found.x} for {counted(len(found.series), 'system')}; values below"
    drawn = inlined(drawing, report.title, found.title, said)
    return Figure(found.title, drawn, table, found.caption)


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
    drawing = draw_changes(report, [found])
    # An interval over few questions may be wider than any difference.
    ends = [abs(one.difference or 0.0) for row in found.rows for one in row.differences]
    (axes,), most = drawing.figure.axes, 1.05 * max(1.0, *ends)
    axes.set_xlim(max(-most, axes.get_xlim()[0]), min(most, axes.get_xlim()[1]))
    axes.set_xlabel(_BETTER)
    of = counted(len(found.rows), "system")
    said = f"differences of {of} to the base with 95% intervals; values below"
    return Figure(found.title, inlined(drawing, report.title, found.title, said), table)


def _losses(report: StudyReport, found: Losses) -> Figure:
    title = "Where the gold answers are"
    rows = [_counts("gold answers", [bar.gold for bar in found.bars])]
    rows += [
        _shares(PLACES[place], [(bar.counts[place], bar.gold) for bar in found.bars])
        for place in found.used
    ]
    table = PageTable(
        "Gold answers", ("", *(short(b.name, MAX_NAME) for b in found.bars)), tuple(rows)
    )
    caution = next((bar.caution for bar in found.bars if bar.caution), "")
    note = f"All gold answers of all questions, branch by branch. {caution}".strip()
    said = f"shares of {counted(len(found.bars), 'system')}; values below"
    drawn = inlined(draw_losses(report, [found]), report.title, title, said)
    return Figure(title, drawn, table, note)


def _errors(report: StudyReport, found: ErrorShares) -> Figure:
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
    of = counted(len(found.systems), "system")
    said = f"shares of items of {of} with each error; values below"
    drawn = inlined(draw_error_classes(report, [found]), report.title, found.title, said)
    return Figure(found.title, drawn, table, short(found.caption, 2_000))


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


def _cost(report: StudyReport, found: Cost) -> Figure:
    rows = tuple(
        PageRow(_name(one.name), (PageCell(as_text(one.spent, found.unit.unit)), mean(one.found)))
        for one in found.points
    )
    table = PageTable(found.title, ("system", found.unit.axis, found.metric.name), rows)
    x, y, of = found.unit.axis, found.metric.name, counted(len(found.points), "system")
    said = f"{y} against {x} of {of}; values below"
    drawn = inlined(draw_cost(found), report.title, found.title, said)
    return Figure(found.title, drawn, table, short(found.caption, 2_000))
