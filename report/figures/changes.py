"""The difference of each system to the base, with its interval: a figure a metric."""

from dataclasses import dataclass

from branchwise.eval.statistics import Comparison, ScoreDifference
from branchwise.eval.tasks import Column
from branchwise.eval.tasks.task import capital
from branchwise.report.model_grid import ModelGrid, change_grid
from branchwise.report.study_report import StudyReport


@dataclass(frozen=True)
class ChangeRow:
    """A system's number in the report, its name, and its differences to the base by subset."""

    index: int
    name: str
    differences: tuple[ScoreDifference, ...]


@dataclass(frozen=True)
class ChangeFigure:
    """The systems' differences in one metric, the base left out.

    `setting`: the one that all are of, where rows are models.
    """

    metric: Column
    rows: tuple[ChangeRow, ...]
    setting: str = ""

    @property
    def title(self) -> str:
        if self.setting:
            return f"{self.setting}: change of {self.metric.name}"
        return f"{capital(self.metric.name)}: change against the base"


def change_figures(report: StudyReport) -> list[ChangeFigure]:
    """One for each metric that the systems are compared by; none without a comparison.

    Differences that are unknown are left out.
    """
    if not report.comparisons:
        return []
    found = [ChangeFigure(metric, _rows(report, metric.key)) for metric in report.compared]
    return [one for one in found if any(row.differences for row in one.rows)]


def model_change_figures(report: StudyReport) -> list[list[ChangeFigure]]:
    """For each setting one for each metric, rows being the models, which have numbers of their own.

    Empty without several models; a model that lacks the setting has no differences.
    """
    grid = change_grid(report)
    if grid is None:
        return []
    return [
        [
            ChangeFigure(metric, _model_rows(report, grid, setting, metric.key), setting)
            for metric in report.compared
        ]
        for setting in grid.settings
    ]


def _model_rows(
    report: StudyReport, grid: ModelGrid[Comparison], setting: str, metric: str
) -> tuple[ChangeRow, ...]:
    found = ((name, grid.cells.get((name, setting))) for name in grid.models)
    return tuple(
        ChangeRow(index, name, _differences(report, one, metric) if one else ())
        for index, (name, one) in enumerate(found)
    )


def _rows(report: StudyReport, metric: str) -> tuple[ChangeRow, ...]:
    return tuple(
        ChangeRow(index, system.name, _differences(report, found, metric))
        for index, system in enumerate(report.systems)
        if (found := report.comparisons.get(system.name))
    )


def _differences(
    report: StudyReport, comparison: Comparison, metric: str
) -> tuple[ScoreDifference, ...]:
    found = (comparison.find(metric, subset) for subset in report.parts)
    return tuple(one for one in found if one.difference is not None)


def total_notes(report: StudyReport) -> tuple[str, ...]:
    """How scores that are not means are compared, a line each."""
    return tuple(
        f"{capital(column.name)} is a function of sums over questions: its interval is a paired "
        "bootstrap's, its test swaps the two systems' sums of a question."
        for column in report.columns
        if column.total
    )
