"""Items by class of error, as shares of all and of those that are not exactly right."""

from dataclasses import dataclass
from typing import Any

from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType
from branchwise.eval.tasks import Task
from branchwise.report.error_counts import (
    ErrorCounts,
    error_counts,
    found_in,
    inexact_words,
)
from branchwise.report.study_report import StudyReport


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
    of: ErrorClasses[Any]
    systems: tuple[SystemErrors, ...]

    @property
    def classes(self) -> list[ErrorClass[Any]]:
        """Those that any item is of, by their types or as their paper words them."""
        return [one for one in self.of.classes if any(map(self._is_used, one.shown))]

    def types(self, group: ErrorClass[Any]) -> list[ErrorType[Any]]:
        """Those of a class that any item is of."""
        return [one for one in group.types if self._is_used(one)]

    def _is_used(self, kind: ErrorClass[Any] | ErrorType[Any]) -> bool:
        return found_in(kind, [one.counts for one in self.systems])

    @property
    def title(self) -> str:
        return f"Errors on {self.task.questions_words(self.subset)}"

    @property
    def caption(self) -> str:
        published = any(group.published for group in self.classes)
        hollow = "; the hollow bar is by the paper's own sentence" if published else ""
        return (
            "Items with an error of each class, as shares of those that are not exact; the line "
            f"across a bar is the share of all items{hollow}. {inexact_words(self.task)} An item "
            "may be of several classes."
        )


def error_shares(report: StudyReport, subset: str) -> ErrorShares | None:
    """None for tasks whose answers are sentences, and where no item has an error."""
    systems = tuple(
        SystemErrors(index, name, error_counts(run, subset)) for index, name, run in report.examined
    )
    if report.error_classes is None:
        return None
    found = ErrorShares(report.task, subset, report.error_classes, systems)
    return found if found.classes else None
