"""Cost against recall, with the Pareto front."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import as_text, interval, number
from branchwise.report.exports.text import one_line
from branchwise.report.figures.cost import Cost, Point
from branchwise.report.plots.drawing import (
    Drawing,
    add_legend,
    legend_height,
    line_look,
    new_figure,
    share_ticks,
    system_name,
    tips,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FRONT: dict[str, Any] = {"color": "0.6", "linestyle": (0, (4, 2))}
_NAME = "Pareto front"
_LOG_FROM = 20
"""Largest cost over smallest, from which on the axis is logarithmic."""


def draw_cost(found: Cost) -> Drawing:
    """A marker a system, and what no system beats as a dashed line."""
    figure, (axes,) = new_figure(
        2.1 + legend_height([*(system_name(p.name) for p in found.points), _NAME])
    )
    _draw(axes, found)
    if _is_logarithmic(found.points):
        axes.set_xscale("log")
    _tick_costs(axes, "$" if found.unit.unit == "usd" else "")
    axes.set_xlabel(found.unit.axis)
    axes.set_ylabel(found.metric.name)
    axes.set_title(found.questions)
    _legend(figure, found.points)
    return Drawing("cost", one_line(found.caption, 2_000), figure)


def _draw(axes: "Axes", found: Cost) -> None:
    front, points = found.front, found.points
    costs, recalls = [point.spent for point in front], [point.value for point in front]
    most = max(point.spent for point in points)
    axes.step([*costs, most], [*recalls, recalls[-1]], where="post", **_FRONT)
    for point in points:
        look = line_look(point.index)
        if point.found.low is not None and point.found.high is not None:
            ends = [point.found.low, point.found.high]
            axes.plot([point.spent] * 2, ends, color=look["color"], linewidth=0.6)
        spent = f"{as_text(point.spent, found.unit.unit)} {found.unit.axis}"
        recall = f"{number(point.value)} {interval(point.found.low, point.found.high)}"
        look |= {"linestyle": "none", "markersize": 5}
        said = f"{point.name}: {recall} for {spent}"
        if point in front:
            said += ", on the Pareto front"
        axes.plot([point.spent], [point.value], clip_on=False, gid=tips(said), **look)
    axes.set_ylim(bottom=0, top=min(1.03, axes.get_ylim()[1]))
    axes.margins(x=0.08)
    share_ticks(axes.yaxis)
    axes.grid(color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)


def _is_logarithmic(points: Sequence[Point]) -> bool:
    costs = [point.spent for point in points]
    return min(costs) > 0 and max(costs) / min(costs) >= _LOG_FROM


def _tick_costs(axes: "Axes", sign: str) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{sign}{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if axes.get_xscale() != "log":
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=5)


def _legend(figure: "Figure", points: Sequence[Point]) -> None:
    from matplotlib.lines import Line2D

    looks = [{**line_look(point.index), "linestyle": "none"} for point in points]
    handles = [Line2D([], [], **look) for look in looks]
    front = Line2D([], [], **_FRONT)
    add_legend(figure, [*handles, front], [*(system_name(point.name) for point in points), _NAME])
