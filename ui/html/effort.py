"""Recall against tool calls, branches and steps, and what had been retrieved after each call."""

from collections.abc import Callable, Mapping, Sequence

from branchwise.eval.analysis import Analysis
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings.breakdowns import UNKNOWN
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.cells import NOTHING
from branchwise.ui.html.figures import Figure, system_legend
from branchwise.ui.html.line_chart import LineChart, Series, draw
from branchwise.ui.html.systems import system_name
from branchwise.ui.html.tables import Cell, Row, Table, mean

_BREAKDOWNS = (
    ("calls", "Recall against tool calls", "tool calls made for the question"),
    ("branches", "Recall against branches", "gold branches of the question"),
    ("steps", "Recall against steps", "steps of the question's plan"),
)
_NOTE = "Means over the questions in each column with 95% bootstrap intervals."
_CALLS_NOTE = (
    f"{_NOTE} Which questions are in a column differs from system to system: hard questions may "
    "get more calls, so a falling line does not say that calls do harm."
)
_CURVE_NOTE = (
    "The share of gold answers that the tools had returned after so many calls: the recall of a "
    "perfect reader, over all questions. Where a line is flat, more calls found nothing more."
)

Found = Mapping[str, tuple[Aggregate, int]]
"""Column to a mean and the number of questions in it."""


def effort_figures(report: StudyReport) -> list[Figure]:
    """Three breakdowns of the systems' own recall, and the curve of what was retrieved."""
    found = [
        _figure(report, title, x_title, _CALLS_NOTE if by == "calls" else _NOTE, _binned(by))
        for by, title, x_title in _BREAKDOWNS
    ]
    title, x_title = "Retrieved after each tool call", "tool calls made so far"
    found.append(_figure(report, title, x_title, _CURVE_NOTE, _retrieved))
    return [figure for figure in found if figure]


def line_figure(
    report: StudyReport, chart: LineChart, table: Table, note: str = ""
) -> Figure | None:
    """A line chart with its legend; None where it has nothing to show."""
    if chart.is_empty:
        return None
    legend = system_legend(report, [one.index for one in chart.series])
    return Figure(chart.title, draw(chart), table, note, legend)


def _figure(
    report: StudyReport, title: str, x_title: str, note: str, read: Callable[[Analysis], Found]
) -> Figure | None:
    known = [
        (index, system_name(system), read(system.run.analysis))
        for index, system in enumerate(report.systems)
        if system.run.analysis
    ]
    columns = _columns([found for _, _, found in known])
    series = tuple(
        Series(index, name, tuple(found[c][0] if c in found else None for c in columns))
        for index, name, found in known
        if found
    )
    rows = tuple(Row(Cell(name), _cells(found, columns)) for _, name, found in known if found)
    table = Table(title, ("system", *columns), rows)
    return line_figure(report, LineChart(title, x_title, columns, series), table, note)


def _cells(found: Found, columns: Sequence[str]) -> tuple[Cell, ...]:
    cells = []
    for column in columns:
        if column not in found:
            cells.append(Cell(NOTHING))
            continue
        value, questions = found[column]
        shown = mean(value)
        cells.append(Cell(shown.text, f"{shown.under} n={questions}".strip()))
    return tuple(cells)


def _binned(by: str) -> Callable[[Analysis], Found]:
    def read(analysis: Analysis) -> Found:
        bins = analysis.breakdown(by).bins
        if all(one.label == UNKNOWN for one in bins):
            return {}
        recall = analysis.task.main.key
        return {one.label: (one.aggregates[recall], one.questions) for one in bins}

    return read


def _retrieved(analysis: Analysis) -> Found:
    points = analysis.curve("calls").points
    return {f"{one.effort:,}": (one.recall, one.recall.n) for one in points}


def _columns(found: Sequence[Found]) -> tuple[str, ...]:
    """All columns of the systems, by the number that each begins with; `unknown` last."""
    labels = {label for one in found for label in one}
    return tuple(sorted(labels, key=_first_number))


def _first_number(label: str) -> tuple[int, str]:
    digits = label.split("-")[0].rstrip("+").replace(",", "")
    return (int(digits) if digits.isdigit() else 2**62, label)
