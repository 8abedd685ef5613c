"""Items by class of error, as shares of all and of those that are not exactly right."""

from dataclasses import dataclass

from branchwise.eval.reporting.error_counts import (
    ErrorCounts,
    error_counts,
    found_in,
    inexact_words,
)
from branchwise.eval.reporting.error_types import ERROR_CLASSES, ErrorClass, ErrorType
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.tasks import Task


@dataclass(frozen=True)
class SystemErrors:
    """A system's number in the report, its name, and its items by error."""

    index: int
    name: str
    counts: ErrorCounts


@dataclass(frozen=True)
class ErrorShares:
    """The items of a subset, of every system that was analysed."""

    task: Task
    subset: str
    systems: tuple[SystemErrors, ...]

    @property
    def classes(self) -> list[ErrorClass]:
        """Those that any item is of."""
        return [one for one in ERROR_CLASSES if self._is_used(one)]

    def types(self, group: ErrorClass) -> list[ErrorType]:
        """Those of a class that any item is of."""
        return [one for one in group.types if self._is_used(one)]

    def _is_used(self, kind: ErrorClass | ErrorType) -> bool:
        return found_in(kind, [one.counts for one in self.systems])

    @property
    def title(self) -> str:
        return f"Errors on {self.task.questions_words(self.subset)}"

    @property
    def caption(self) -> str:
        return (
            "Items with an error of each class, as shares of those that are not exact; the line "
            f"across a bar is the share of all items. {inexact_words(self.task)} An item may be of "
            "several classes."
        )


def error_shares(report: StudyReport, subset: str) -> ErrorShares | None:
    """None for tasks whose answers are sentences, and where no item has an error."""
    systems = tuple(
        SystemErrors(index, name, error_counts(analysis, subset))
        for index, name, analysis in report.analysed
    )
    found = ErrorShares(report.task, subset, systems)
    return found if found.classes else None
