"""Change per module: the difference of each system to its base, with its interval."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import interval, signed
from branchwise.eval.comparison import ScoreDifference
from branchwise.report.exports.text import one_line
from branchwise.report.figures.changes import ChangeFigure, total_notes
from branchwise.report.plots.drawing import (
    BLACK,
    BLUE,
    Drawing,
    add_legend,
    name_columns,
    name_rows,
    new_figure,
    new_grid,
    row_height,
    share_ticks,
    system_name,
    tips,
)
from branchwise.report.study_report import StudyReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS: dict[str, dict[str, Any]] = {
    "ambiguous": {"color": BLACK, "marker": "o"},
    "unambiguous": {"color": BLUE, "marker": "s", "markerfacecolor": "white"},
    "all": {"color": BLACK, "marker": "o"},
}
_APART = 0.16
_MEANING = (
    "difference of the means over the questions that both have, with Student's paired 95% interval."
)


def draw_changes(report: StudyReport, found: Sequence[ChangeFigure]) -> Drawing:
    """A panel a metric, a row a system, a marker a subset."""
    names = [row.name for row in found[0].rows]
    height = 0.7 + len(found) * (0.25 + len(names) * row_height(names, 0.24))
    figure, panels = new_figure(height, len(found))
    kinds = report.parts
    for axes, one in zip(panels, found, strict=True):
        _draw_panel(axes, one, report)
        axes.set_title(one.metric.title)
        name_rows(axes, names)
    share_ticks(panels[-1].xaxis)
    base = system_name(report.base_words)
    panels[-1].set_xlabel(f"difference to {base}")
    add_legend(
        figure,
        [_handle(subset) for subset in kinds],
        [report.task.questions_words(s) for s in kinds],
    )
    caption = f"Change of each system against {base}: {_MEANING}"
    return Drawing("changes", _with_notes(caption, report), figure)


def draw_model_changes(report: StudyReport, found: Sequence[Sequence[ChangeFigure]]) -> Drawing:
    """A band a setting, a panel a metric, a row a model."""
    kinds = report.parts
    names = [row.name for row in found[0][0].rows]
    height = 0.85 + len(found) * (0.28 + len(names) * row_height(names, 0.24))
    figure, bands = new_grid(height, len(found), len(report.compared))
    for panels, band in zip(bands, found, strict=True):
        for axes, one in zip(panels, band, strict=True):
            _draw_panel(axes, one, report)
            axes.tick_params(axis="y", length=0)
        panels[0].set_title(system_name(band[0].setting))
        name_rows(panels[0], names)
    name_columns(bands[0], [metric.title for metric in report.compared])
    share_ticks(bands[-1][0].xaxis, 3)
    add_legend(
        figure,
        [_handle(subset) for subset in kinds],
        [report.task.questions_words(s) for s in kinds],
    )
    caption = f"Change by each setting and model against the model's base: {_MEANING}"
    return Drawing("model-changes", _with_notes(caption, report), figure)


def _with_notes(caption: str, report: StudyReport) -> str:
    """A caption with how odd scores are compared, and what must be kept in mind of each system."""
    return " ".join([caption, *total_notes(report), *map(one_line, report.cautions)])


def _draw_panel(axes: "Axes", found: ChangeFigure, report: StudyReport) -> None:
    kinds = report.parts
    for place, row in enumerate(found.rows):
        for difference in row.differences:
            shift = _APART * (kinds.index(difference.subset) - (len(kinds) - 1) / 2)
            _draw(axes, difference, place + shift, _told(row.name, difference, report))
    axes.axvline(0, color="0.6", linewidth=0.6, zorder=0)


def _told(name: str, one: ScoreDifference, report: StudyReport) -> str:
    change = f"{signed(one.difference or 0.0)} {interval(one.low, one.high)}".strip()
    return f"{name}, {report.task.questions_words(one.subset)}: {change}"


def _draw(axes: "Axes", one: ScoreDifference, y: float, told: str) -> None:
    look = _LOOKS[one.subset]
    if one.difference is None:
        return
    if one.low is not None and one.high is not None:
        axes.plot([one.low, one.high], [y, y], color=look["color"], linewidth=0.9)
    axes.plot([one.difference], [y], linestyle="none", gid=tips(told), **look)


def _handle(subset: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **_LOOKS[subset])
