"""What systems spend, and which no other beats: cost against the main metric."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.base import numbers
from branchwise.base.numbers import as_text, interval, number
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.tasks import Column
from branchwise.eval.tasks.task import capital
from branchwise.report.figures.drawing import (
    Drawing,
    add_legend,
    legend_height,
    line_look,
    new_figure,
    share_ticks,
    system_name,
    tips,
)
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import one_line
from branchwise.runs.costs.usage import Costs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SpendingUnit:
    """A unit of spending: what it is called, the title of its axis, the unit of its numbers.

    `of`: the mean for an item; None is unknown.
    """

    words: str
    axis: str
    unit: numbers.Unit
    of: Callable[[Costs], float | None]


def _tokens(costs: Costs) -> float | None:
    """None where a server did not count them: no answered model call has none."""
    read, written = costs.per_item["input"], costs.per_item["output"]
    return None if read is None or written is None else read + written or None


COST = SpendingUnit("cost", "USD an item", "usd", lambda costs: costs.per_item["cost"])
TOKENS = SpendingUnit("tokens", "tokens an item", "tokens", _tokens)
CALLS = SpendingUnit(
    "model calls", "model calls an item", "count", lambda costs: costs.per_item["calls"]
)


def spending(report: StudyReport) -> SpendingUnit | None:
    """Money where every system's cost is known and something is paid; else tokens, else model
    calls; None where none of them is known of every system."""
    for unit in (COST, TOKENS, CALLS):
        values = [unit.of(system.run.costs) for system in report.systems]
        if None not in values and any(values):
            return unit
    return None


def ratio(report: StudyReport, system: SystemReport) -> float | None:
    """What a system spends as a multiple of its base's; None where that spends nothing."""
    unit = spending(report)
    base = unit.of(report.base_of(system).run.costs) if unit else None
    other = unit.of(system.run.costs) if unit else None
    return None if other is None or not base else other / base


def ratio_words(report: StudyReport, system: SystemReport) -> str | None:
    """ "cost ×2.1"; None as for `ratio`."""
    unit, found = spending(report), ratio(report, system)
    return f"{unit.words} {numbers.times(found)}" if unit and found is not None else None


def unpriced_notes(report: StudyReport) -> Iterator[str]:
    """A line for each model that was called and has no known price."""
    named = (model for system in report.systems for model in system.run.costs.unpriced)
    for model in dict.fromkeys(named):
        yield f"No price is known for {model}: what it costs is unknown, not nothing."


@dataclass(frozen=True)
class Point:
    """A system: its number in the report, its name, what an item costs, and its main metric."""

    index: int
    name: str
    spent: float
    found: Aggregate

    @property
    def value(self) -> float:
        """The metric's mean."""
        return self.found.mean or 0.0


@dataclass(frozen=True)
class Cost:
    """A point a system, on the `questions` of a subset. `notes`: which models have no price."""

    unit: SpendingUnit
    metric: Column
    questions: str
    points: tuple[Point, ...]
    notes: tuple[str, ...]

    @property
    def front(self) -> list[Point]:
        """The systems that no other beats, cheapest first."""
        return pareto_front(self.points)

    @property
    def title(self) -> str:
        return f"{capital(self.metric.name)} on {self.questions} against {self.unit.words}"

    @property
    def caption(self) -> str:
        called, front = self.metric.name, ", ".join(point.name for point in self.front)
        return " ".join(
            (
                f"{capital(called)} on {self.questions} against {self.unit.axis}, with 95% "
                f"bootstrap intervals. Dashed: the Pareto front ({front}). No other system has a "
                f"higher {called} for as little, or as high a one for less.",
                *self.notes,
            )
        )


def cost_figure(report: StudyReport) -> Cost | None:
    """None where no unit of spending is known of all systems."""
    unit = spending(report)
    if unit is None:
        return None
    main, subset = report.task.main, report.subsets[0]
    points = tuple(
        Point(index, system.name, spent, found)
        for index, system in enumerate(report.systems)
        for spent, found in [(unit.of(system.run.costs), system.mean(main.key, subset))]
        if spent is not None and found.mean is not None
    )
    notes = tuple(unpriced_notes(report))
    return Cost(unit, main, report.task.questions_words(subset), points, notes) if points else None


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """The points that no other equals or beats in both while beating it in one, cheapest first.

    Equal ones are all on it.
    """
    return sorted(
        (one for one in points if not any(_dominates(other, one) for other in points)),
        key=lambda one: (one.spent, one.value, one.index),
    )


def _dominates(a: Point, b: Point) -> bool:
    no_worse = a.spent <= b.spent and a.value >= b.value
    return no_worse and (a.spent < b.spent or a.value > b.value)


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
