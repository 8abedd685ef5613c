"""The difference of each system to the base, with its interval: a figure a metric."""

from dataclasses import dataclass

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.statistics import ScoreDifference
from branchwise.eval.tasks import Column
from branchwise.eval.tasks.column import capital


@dataclass(frozen=True)
class ChangeRow:
    """A system's number in the report, its name, and its differences to the base by subset."""

    index: int
    name: str
    differences: tuple[ScoreDifference, ...]


@dataclass(frozen=True)
class ChangeFigure:
    """The systems' differences in one metric, the base left out."""

    metric: Column
    rows: tuple[ChangeRow, ...]

    @property
    def title(self) -> str:
        return f"{capital(self.metric.name)}: change against the base"


def change_figures(report: StudyReport) -> list[ChangeFigure]:
    """One for each metric that the systems are compared by; none without a comparison.

    Differences that are unknown are left out.
    """
    if not report.comparisons:
        return []
    found = [ChangeFigure(metric, _rows(report, metric.key)) for metric in report.compared]
    return [one for one in found if any(row.differences for row in one.rows)]


def _rows(report: StudyReport, metric: str) -> tuple[ChangeRow, ...]:
    return tuple(
        ChangeRow(
            index,
            system.name,
            tuple(
                found
                for subset in report.parts
                for found in [report.comparisons[system.name].find(metric, subset)]
                if found.difference is not None
            ),
        )
        for index, system in enumerate(report.systems)
        if system.name in report.comparisons
    )


def total_notes(report: StudyReport) -> tuple[str, ...]:
    """How scores that are not means are compared, a line each."""
    return tuple(
        f"{capital(column.name)} is a function of sums over questions: its interval is a paired "
        "bootstrap's, its test swaps the two systems' sums of a question."
        for column in report.columns
        if column.total
    )
