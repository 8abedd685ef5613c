"""What systems spend, and which no other beats: cost against the main metric."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.base import numbers
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
    system_names,
    tips,
)
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import one_line
from branchwise.runs.costs.usage import Costs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SpendingUnit:
    """A unit of spending: its name, its axis, its numbers' unit, an item's mean (None: unknown)."""

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
    """Money where all costs are known and something is paid, else tokens, else calls, else None."""
    # To leave out unpriced systems would compare other systems than the page does.
    for unit in (COST, TOKENS, CALLS):
        values = [unit.of(system.run.costs) for system in report.systems]
        if None not in values and any(values):
            return unit
    return None


def ratio(report: StudyReport, system: SystemReport) -> float | None:
    """What a system spends as a multiple of its base's; None where that spends nothing."""
    if (unit := spending(report)) is None:
        return None
    base, other = unit.of(report.base_of(system).run.costs), unit.of(system.run.costs)
    return None if other is None or not base else other / base


def ratio_words(report: StudyReport, system: SystemReport) -> str | None:
    """ "cost ×2.1"; None as for `ratio`."""
    unit, multiple = spending(report), ratio(report, system)
    return f"{unit.words} {numbers.times(multiple)}" if unit and multiple is not None else None


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
    mean: Aggregate

    @property
    def value(self) -> float:
        return self.mean.mean or 0.0


@dataclass(frozen=True)
class Cost:
    """A point a system, on the `questions` of a subset. `notes`: which models have no price."""

    unit: SpendingUnit
    metric: Column
    questions: str
    points: tuple[Point, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{capital(self.metric.name)} on {self.questions} against {self.unit.words}"

    @property
    def caption(self) -> str:
        metric = self.metric.name
        front = ", ".join(point.name for point in pareto_front(self.points))
        caption = (
            f"{capital(metric)} on {self.questions} against {self.unit.axis}, with 95% bootstrap "
            f"intervals. Dashed: the Pareto front ({front}). No other system has a higher {metric} "
            "for as little, or as high a one for less."
        )
        return " ".join([caption, *self.notes])


def cost_figure(report: StudyReport) -> Cost | None:
    """None where no unit of spending is known of all systems."""
    unit = spending(report)
    if unit is None:
        return None
    main, subset = report.task.main, report.subsets[0]
    points = tuple(
        Point(index, system.name, spent, mean)
        for index, system in enumerate(report.systems)
        for spent, mean in [(unit.of(system.run.costs), system.mean(main.key, subset))]
        if spent is not None and mean.mean is not None
    )
    notes = tuple(unpriced_notes(report))
    return Cost(unit, main, report.task.questions_words(subset), points, notes) if points else None


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """The points that no other equals in both and beats in one, cheapest first."""

    front = []
    for point in points:
        no_worse = (p for p in points if p.spent <= point.spent and p.value >= point.value)
        if not any(p.spent < point.spent or p.value > point.value for p in no_worse):
            front.append(point)
    return sorted(front, key=lambda point: (point.spent, point.value, point.index))


_FRONT: dict[str, Any] = {"color": "0.6", "linestyle": (0, (4, 2))}
_NAME = "Pareto front"
_NEAR = 0.03
"""Of the largest cost, and of the metric: markers that are so near to each other overlap."""
_LOG_FROM = 20
"""Largest cost over smallest, from which on the axis is logarithmic."""


def draw_cost(cost: Cost) -> Drawing:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, NullFormatter

    labels = [*system_names([point.name for point in cost.points]), _NAME]
    figure, (axes,) = new_figure(2.1 + legend_height(labels))
    _draw_points(axes, cost)
    spent = [point.spent for point in cost.points]
    is_logarithmic = min(spent) > 0 and max(spent) / min(spent) >= _LOG_FROM
    if is_logarithmic:
        axes.set_xscale("log")
    sign = "$" if cost.unit.unit == "usd" else ""
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{sign}{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if not is_logarithmic:
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(cost.unit.axis)
    axes.set_ylabel(cost.metric.name)
    axes.set_title(cost.questions)
    looks = [*({**line_look(p.index), "linestyle": "none"} for p in cost.points), _FRONT]
    add_legend(figure, [Line2D([], [], **look) for look in looks], labels)
    return Drawing("cost", one_line(cost.caption, 2_000), figure)


def _draw_points(axes: "Axes", cost: Cost) -> None:
    front = pareto_front(cost.points)
    spent, values = [point.spent for point in front], [point.value for point in front]
    most = max(point.spent for point in cost.points)
    axes.step([*spent, most], [*values, values[-1]], where="post", **_FRONT)
    for number, point in enumerate(cost.points):
        low, high = point.mean.low, point.mean.high
        look = line_look(point.index)
        # Behind a marker at the same place stands a larger one: both can be seen.
        behind = sum(
            abs(other.spent - point.spent) <= _NEAR * most
            and abs(other.value - point.value) <= _NEAR
            for other in cost.points[:number]
        )
        if low is not None and high is not None:
            axes.plot([point.spent] * 2, [low, high], color=look["color"], linewidth=0.6)
        amount = f"{numbers.as_text(point.spent, cost.unit.unit)} {cost.unit.axis}"
        mean = f"{numbers.number(point.value)} {numbers.interval(low, high)}"
        on_front = ", on the Pareto front" if point in front else ""
        look |= {"linestyle": "none", "markersize": 5 + 3 * behind}
        look["zorder"] = 2 - 0.1 * behind
        tip = tips(f"{point.name}: {mean} for {amount}{on_front}")
        axes.plot([point.spent], [point.value], clip_on=False, gid=tip, **look)
    axes.set_ylim(bottom=0, top=min(1.03, axes.get_ylim()[1]))
    axes.margins(x=0.08)
    share_ticks(axes.yaxis)
    axes.grid(color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
