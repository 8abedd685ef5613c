"""What is spent against the main metric, and which systems no other beats."""

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.tasks import Column
from branchwise.eval.tasks.task import capital
from branchwise.report.spending import SpendingUnit, spending, unpriced_notes
from branchwise.report.study_report import StudyReport


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
