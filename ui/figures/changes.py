"""Change per module: the difference of each system to the base, with its interval."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.changes import total_notes
from branchwise.eval.reporting.tables.subsets import subsets
from branchwise.eval.statistics import Difference
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
}
_APART = 0.16


def draw_changes(report: StudyReport) -> Drawing | None:
    """A panel a metric, a row a system, a marker a subset; None without a comparison."""
    names = list(report.comparisons)
    kinds = [subset for subset in subsets(report) if subset in _LOOKS]
    if not names or not kinds:
        return None
    metrics = report.task.headline
    height = 0.7 + len(metrics) * (0.25 + len(names) * row_height(names, 0.24))
    figure, panels = new_figure(height, len(metrics))
    for axes, metric in zip(panels, metrics, strict=True):
        for place, subset in enumerate(kinds):
            found = [report.comparisons[name].find(metric.key, subset) for name in names]
            shift = _APART * (place - (len(kinds) - 1) / 2)
            _draw(axes, found, shift, _LOOKS[subset])
        axes.axvline(0, color="0.6", linewidth=0.6, zorder=0)
        axes.set_title(metric.title)
        name_rows(axes, names)
    share_ticks(panels[-1].xaxis)
    panels[-1].set_xlabel(f"difference to {system_name(report.base.name)}")
    handles = [_handle(subset) for subset in kinds]
    add_legend(figure, handles, [f"{subset} questions" for subset in kinds])
    caption = (
        f"Change of each system against {system_name(report.base.name)}: difference of the means "
        "over the questions that both have, with Student's paired 95% interval."
    )
    caption = " ".join([caption, *total_notes(report)])
    return finish(figure, "changes", caption)


def _draw(axes: "Axes", found: Sequence[Difference], shift: float, look: dict[str, Any]) -> None:
    for row, one in enumerate(found):
        if one.difference is None:
            continue
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [row + shift] * 2, color=look["color"], linewidth=0.9)
        axes.plot([one.difference], [row + shift], linestyle="none", **look)


def _handle(subset: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **_LOOKS[subset])
