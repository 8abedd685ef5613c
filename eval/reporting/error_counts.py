"""Items by what went wrong with them, as shares of all and of those that are not exactly right."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from branchwise.eval.analysis import Analysis
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.question_scores import of_subset
from branchwise.eval.reporting.error_types import (
    ERROR_CLASSES,
    ErrorClass,
    ErrorType,
    found_types,
)
from branchwise.eval.tasks import Task


@dataclass(frozen=True)
class ErrorCounts:
    """Items of a subset, and those among them whose answer is not exactly right (inexact).

    `with_error`, `inexact_with`: how many of either have an error, by key of a type or class.
    """

    items: int
    inexact: int
    with_error: Mapping[str, int]
    inexact_with: Mapping[str, int]

    def of_all(self, kind: ErrorType | ErrorClass) -> float | None:
        """The share of all items that have an error; None without items."""
        return self.with_error[kind.key] / self.items if self.items else None

    def of_inexact(self, kind: ErrorType | ErrorClass) -> float | None:
        """The share of the inexact items; None without any."""
        return self.inexact_with[kind.key] / self.inexact if self.inexact else None


def inexact_words(task: Task) -> str:
    """What makes an item inexact."""
    return f"Not exact: {task.exact.name} is below 1."


def found_in(kind: ErrorType | ErrorClass, counts: Iterable[ErrorCounts]) -> bool:
    """Whether any item has the error."""
    return any(found.with_error[kind.key] for found in counts)


def error_counts(analysis: Analysis, subset: str) -> ErrorCounts:
    """Count the items of a subset by error; an item is a question in one epoch.

    Exactly right is what the task's exact match says, or its main metric where it has none; an
    item that this leaves unscored is not inexact.
    """
    exact = analysis.task.exact.key
    is_inexact = {
        traced.key: (value := traced.metrics[exact]) is not None and value < 1
        for traced in analysis.items
    }
    items = of_subset(analysis.item_errors, subset)
    inexact = [one for one in items if is_inexact[one.id, one.epoch]]
    return ErrorCounts(len(items), len(inexact), _by_kind(items), _by_kind(inexact))


def _by_kind(items: Sequence[ItemErrors]) -> Mapping[str, int]:
    """Zero for what none has."""
    counts: Counter[str] = Counter()
    for errors in items:
        keys = {one.key for one in found_types(errors)}
        counts.update(keys)
        counts.update(group.key for group in ERROR_CLASSES if keys & {t.key for t in group.types})
    return counts
