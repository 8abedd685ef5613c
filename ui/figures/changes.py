"""Change per module: the difference of each system to the base, with its interval."""

from typing import TYPE_CHECKING, Any

from branchwise.eval.reporting.figures.changes import change_figures, total_notes
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.statistics import ScoreDifference
from branchwise.ui.figures.drawing import (
    BLACK,
    BLUE,
    Drawing,
    add_legend,
    finish,
    name_rows,
    new_figure,
    row_height,
    share_ticks,
    system_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS: dict[str, dict[str, Any]] = {
    "ambiguous": {"color": BLACK, "marker": "o"},
    "unambiguous": {"color": BLUE, "marker": "s", "markerfacecolor": "white"},
    "all": {"color": BLACK, "marker": "o"},
}
_APART = 0.16


def draw_changes(report: StudyReport) -> Drawing | None:
    """A panel a metric, a row a system, a marker a subset; None without a comparison."""
    found = change_figures(report)
    if not found:
        return None
    names = [row.name for row in found[0].rows]
    height = 0.7 + len(found) * (0.25 + len(names) * row_height(names, 0.24))
    figure, panels = new_figure(height, len(found))
    kinds = report.parts
    for axes, one in zip(panels, found, strict=True):
        for place, row in enumerate(one.rows):
            for difference in row.differences:
                shift = _APART * (kinds.index(difference.subset) - (len(kinds) - 1) / 2)
                _draw(axes, difference, place + shift)
        axes.axvline(0, color="0.6", linewidth=0.6, zorder=0)
        axes.set_title(one.metric.title)
        name_rows(axes, names)
    share_ticks(panels[-1].xaxis)
    base = system_name(report.base_words)
    panels[-1].set_xlabel(f"difference to {base}")
    add_legend(figure, [_handle(subset) for subset in kinds], [f"{s} questions" for s in kinds])
    caption = (
        f"Change of each system against {base}: difference of the means over the questions that "
        "both have, with Student's paired 95% interval."
    )
    return finish(figure, "changes", " ".join([caption, *total_notes(report)]))


def _draw(axes: "Axes", one: ScoreDifference, y: float) -> None:
    look = _LOOKS[one.subset]
    if one.difference is None:
        return
    if one.low is not None and one.high is not None:
        axes.plot([one.low, one.high], [y, y], color=look["color"], linewidth=0.9)
    axes.plot([one.difference], [y], linestyle="none", **look)


def _handle(subset: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **_LOOKS[subset])
