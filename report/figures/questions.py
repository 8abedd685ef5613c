"""What questions are like, as figures with their data."""

from typing import TYPE_CHECKING, Any, NamedTuple

from branchwise.report.exports import csv_files
from branchwise.report.figures.drawing import (
    BLACK,
    ORANGE,
    Drawing,
    add_legend,
    name_rows,
    new_figure,
    paper_style,
    row_height,
)
from branchwise.report.figures.files import captioned
from branchwise.report.table import Table, TableColumn
from branchwise.worlds.questions.statistics import Histogram, Statistics, SubsetCount

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_ROWS = 30
_LOOKS: tuple[dict[str, Any], ...] = (
    {"facecolor": "white", "hatch": "/////"},
    {"facecolor": ORANGE},
)
_NAMES = ("one reading", "ambiguous")
_BAR = 0.38


class _Topic(NamedTuple):
    """A heading of the statistics, DeepAmbigQA's figure of it, what its rows are, and of what."""

    heading: str
    number: int
    rows: str
    whole: str


_TOPICS = (
    _Topic("steps", 5, "steps of a question's plan", "questions"),
    _Topic("answers", 6, "answers of a question, all its branches together", "questions"),
    _Topic("branches", 7, "branches of a question", "questions"),
    _Topic("operations", 8, "operations of plans", "steps"),
    _Topic("predicates", 9, "what filters look at", "filters"),
)


def question_figures(statistics: Statistics) -> dict[str, bytes]:
    """File name to content: SVG, PDF, PNG and CSV of each figure that there is anything for, and
    captions; the same bytes for the same statistics and version of matplotlib, which it loads."""
    histograms = statistics.histograms
    shown = [(topic, histograms[topic.heading]) for topic in _TOPICS if histograms[topic.heading]]
    with paper_style():
        files = captioned(
            [
                Drawing(topic.heading, _caption(topic, counts), _draw(topic, _bounded(counts)))
                for topic, counts in shown
            ]
        )
    return files | csv_files([_table(topic, counts) for topic, counts in shown])


def _draw(topic: _Topic, counts: Histogram) -> "Figure":
    """A row a value, a bar a subset, as the share of all of the subset."""
    from matplotlib.patches import Patch

    halves = [index for index, whole in enumerate(_wholes(counts)) if whole]
    names = list(counts)
    figure, (axes,) = new_figure(0.9 + len(names) * row_height(names, 0.24))
    for shift, index in enumerate(halves):
        whole = _wholes(counts)[index]
        rows = [row + (shift - (len(halves) - 1) / 2) * _BAR for row in range(len(names))]
        shares = [100 * count[index] / whole for count in counts.values()]
        axes.barh(rows, shares, _BAR, edgecolor=BLACK, linewidth=0.4, **_LOOKS[index])
    name_rows(axes, names)
    axes.set_title(topic.rows)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"{topic.whole}, %")
    axes.grid(axis="x", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    handles = [Patch(edgecolor=BLACK, linewidth=0.4, **_LOOKS[index]) for index in halves]
    add_legend(figure, handles, [_NAMES[index] for index in halves])
    return figure


def _bounded(counts: Histogram) -> Histogram:
    """The rows that there is room for; the last one has all others together."""
    if len(counts) <= _MOST_ROWS:
        return counts
    rows = list(counts.items())
    rest = SubsetCount(*map(sum, zip(*(count for _, count in rows[_MOST_ROWS - 1 :]), strict=True)))
    return dict(rows[: _MOST_ROWS - 1]) | {"all others": rest}


def _wholes(counts: Histogram) -> list[int]:
    return [sum(of) for of in zip(*counts.values(), strict=True)]


def _caption(topic: _Topic, counts: Histogram) -> str:
    pairs = zip(_wholes(counts), _NAMES, strict=True)
    known = " and ".join(f"{whole:,} {topic.whole} ({name})" for whole, name in pairs if whole)
    return (
        f"{topic.rows[0].upper()}{topic.rows[1:]}, as shares of {known}. "
        f"Figure {topic.number} of DeepAmbigQA is this distribution of the published questions."
    )


def _table(topic: _Topic, counts: Histogram) -> Table:
    columns = (
        TableColumn("value", topic.rows, "text"),
        TableColumn("one_reading", f"{topic.whole} (one reading)", "count"),
        TableColumn("ambiguous", f"{topic.whole} (ambiguous)", "count"),
    )
    rows = tuple((value, *count) for value, count in counts.items())
    return Table(topic.heading, topic.rows, columns, rows, (_caption(topic, counts),))
