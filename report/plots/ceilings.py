"""Ceilings: what a perfect reader would have found at each place on the way."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.report.figures.lines import Lines, Series
from branchwise.report.plots.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    VERMILION,
    Drawing,
    add_legend,
    name_rows,
    new_figure,
    row_height,
    share_ticks,
    tips,
)
from branchwise.report.study_report import StudyReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS: dict[str, dict[str, Any]] = {
    "within reach": {"color": BLUE, "marker": "|"},
    "retrieved": {"color": ORANGE, "marker": "D"},
    "after extraction": {"color": GREEN, "marker": "v"},
    "shown": {"color": VERMILION, "marker": "s"},
    "answered": {"color": BLACK, "marker": "o"},
}
_HOLLOW = {"markerfacecolor": "white", "markeredgewidth": 0.8}


def draw_ceilings(report: StudyReport, found: Sequence[tuple[str, Lines]]) -> Drawing:
    """A panel a subset, a row a system, a marker a place."""
    first = found[0][1]
    names = [one.name for one in first.series]
    height = 0.95 + len(found) * (0.25 + len(names) * row_height(names))
    figure, panels = new_figure(height, len(found))
    for axes, (subset, lines) in zip(panels, found, strict=True):
        for row, one in enumerate(lines.series):
            _draw(axes, row, one, lines.columns)
        axes.set_title(report.task.questions_words(subset))
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        name_rows(axes, names)
    panels[-1].set_xlim(-0.02, 1.02)
    share_ticks(panels[-1].xaxis)
    panels[-1].set_xlabel(f"{first.y} of a perfect reader, and of the agent")
    add_legend(figure, [_handle(_LOOKS[place]) for place in first.columns], first.columns)
    return Drawing("ceilings", first.caption, figure)


def _draw(axes: "Axes", row: int, one: Series, places: Sequence[str]) -> None:
    pairs = zip(places, one.means, strict=True)
    known = [(place, of[0].mean, of[0]) for place, of in pairs if of and of[0].mean is not None]
    if known:
        ends = [min(mean for _, mean, _ in known), max(mean for _, mean, _ in known)]
        axes.plot(ends, [row, row], color="0.7", linewidth=1.5, zorder=1)
    for place, mean, found in known:
        look = {"linestyle": "none", "gid": tips(one.told(place, found)), **_marker(_LOOKS[place])}
        axes.plot([mean], [row], clip_on=False, **look)


def _marker(look: dict[str, Any]) -> dict[str, Any]:
    """Hollow but for the agent's own, so that markers on each other can be seen."""
    if look["marker"] == "|":
        return {**look, "markersize": 9, "markeredgewidth": 1.2, "zorder": 2}
    if look["color"] == BLACK:
        return {**look, "markersize": 4, "zorder": 4}
    return {**look, **_HOLLOW, "markersize": 5.5 if look["marker"] == "D" else 4.5, "zorder": 3}


def _handle(look: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", **_marker(look))
