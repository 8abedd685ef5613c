"""Cost against recall, with the Pareto front."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.reporting.pareto import pareto_front
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.reporting.tables.subsets import subsets
from branchwise.ui.figures.drawing import (
    Drawing,
    add_legend,
    add_note,
    finish,
    legend_height,
    line_look,
    new_figure,
    share_ticks,
    system_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FRONT: dict[str, Any] = {"color": "0.6", "linestyle": (0, (4, 2))}
_LOG_FROM = 20
"""Largest cost over smallest, from which on the axis is logarithmic."""


@dataclass(frozen=True)
class Point:
    """A system: its number in the report, its name, what an item costs, and its main metric."""

    index: int
    name: str
    spent: float
    value: float
    found: Aggregate


def draw_cost(report: StudyReport) -> Drawing | None:
    """A marker a system; those of unknown cost are named below. None where nothing is known.

    In USD where any system's known cost is above 0; else in tokens (models without a price), or in
    model calls where nobody counted those.
    """
    units = [one for one in _UNITS if any(one.of(system) for system in report.systems)]
    if not units:
        return None
    main, subset = report.task.main, subsets(report)[0]
    points, unknown = _points(report, units[0], main.key, subset)
    if not any(point.spent for point in points):
        return None
    unit = units[0].words
    figure, (axes,) = new_figure(
        2.1 + legend_height([*(p.name for p in points), "Pareto front"]) + 0.15 * bool(unknown)
    )
    _draw(axes, points)
    if _is_logarithmic(points):
        axes.set_xscale("log")
    _tick_costs(axes, units[0].sign)
    axes.set_xlabel(unit)
    axes.set_ylabel(main.name)
    axes.set_title(f"{subset} questions")
    if unknown:
        add_note(axes, f"unknown, not shown: {', '.join(unknown)}")
    _legend(figure, points)
    front = ", ".join(point.name for point in pareto_front(points))
    caption = (
        f"Cost ({unit}) against {main.name} on {subset} questions, with 95% bootstrap intervals. "
        f"Dashed: the Pareto front, the best for at most so much ({front})."
    )
    if unknown:
        caption += f" Of unknown cost, and not shown: {', '.join(unknown)}."
    return finish(figure, "cost", caption)


def _points(
    report: StudyReport, unit: "_Unit", metric: str, subset: str
) -> tuple[list[Point], list[str]]:
    """The points, and the names of systems whose cost is unknown."""
    points: list[Point] = []
    unknown: list[str] = []
    for index, system in enumerate(report.systems):
        name, cost = system_name(system.name), unit.of(system)
        found = system.scores.aggregates[subset][metric]
        if cost is None:
            unknown.append(name)
        elif found.mean is not None:
            points.append(Point(index, name, cost, found.mean, found))
    return points, unknown


def _usd(system: SystemReport) -> float | None:
    return system.run.costs.per_item["cost"]


def _tokens(system: SystemReport) -> float | None:
    """None where nobody counted them: no model call that was answered has none."""
    means = system.run.costs.per_item
    read, written = means["input"], means["output"]
    return None if read is None or written is None or not read + written else read + written


def _calls(system: SystemReport) -> float | None:
    return system.run.costs.per_item["calls"]


@dataclass(frozen=True)
class _Unit:
    """What cost is measured in: words for the axis, a sign before each number, its value."""

    words: str
    sign: str
    of: Callable[[SystemReport], float | None]


_UNITS = (
    _Unit("USD an item", "$", _usd),
    _Unit("tokens an item, input and output", "", _tokens),
    _Unit("model calls an item", "", _calls),
)


def _draw(axes: "Axes", points: Sequence[Point]) -> None:
    front = pareto_front(points)
    costs, recalls = [point.spent for point in front], [point.value for point in front]
    most = max(point.spent for point in points)
    axes.step([*costs, most], [*recalls, recalls[-1]], where="post", **_FRONT)
    for point in points:
        look = line_look(point.index)
        if point.found.low is not None and point.found.high is not None:
            ends = [point.found.low, point.found.high]
            axes.plot([point.spent] * 2, ends, color=look["color"], linewidth=0.6)
        axes.plot([point.spent], [point.value], **{**look, "linestyle": "none", "markersize": 5})
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
    add_legend(figure, [*handles, front], [*(point.name for point in points), "Pareto front"])
