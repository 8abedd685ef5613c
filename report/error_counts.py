"""Items by what went wrong with them, as shares of all and of those that are not exactly right."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType, FoundErrors
from branchwise.eval.scores import of_subset
from branchwise.eval.tasks import Task
from branchwise.runs.scoring.scored import ScoredAnswers


@dataclass(frozen=True)
class ErrorCounts:
    """Items of a subset, and those among them whose answer is not exactly right (inexact).

    `with_error`, `inexact_with`: how many of either have an error, by key of a type or class;
    `known`, `inexact_known`: of how many that can be known.
    """

    items: int
    inexact: int
    with_error: Mapping[str, int]
    inexact_with: Mapping[str, int]
    known: Mapping[str, int]
    inexact_known: Mapping[str, int]

    def of_all(self, kind: ErrorType[Any] | ErrorClass[Any]) -> float | None:
        """The share of all items that have an error; None where it is known of none."""
        known = self.known[kind.key]
        return self.with_error[kind.key] / known if known else None

    def of_inexact(self, kind: ErrorType[Any] | ErrorClass[Any]) -> float | None:
        """The share of the inexact items; None where it is known of none."""
        known = self.inexact_known[kind.key]
        return self.inexact_with[kind.key] / known if known else None

    def to_json(self, classes: ErrorClasses[Any]) -> dict[str, Any]:
        """JSON-serialisable: of each class, and as its paper words it, the items that are of it
        and their shares, of all and of those that are not exact."""
        kinds = [one for group in classes.classes for one in group.shown]
        return {
            "items": self.items,
            "inexact": self.inexact,
            **{
                one.key: {
                    "items": self.with_error[one.key],
                    "of_all": self.of_all(one),
                    "inexact": self.inexact_with[one.key],
                    "of_inexact": self.of_inexact(one),
                }
                for one in kinds
            },
        }


def inexact_words(task: Task) -> str:
    """What makes an item inexact."""
    return f"Not exact: {task.exact.name} is below 1."


def found_in(kind: ErrorType[Any] | ErrorClass[Any], counts: Iterable[ErrorCounts]) -> bool:
    """Whether any item has the error."""
    return any(found.with_error[kind.key] for found in counts)


def error_counts(run: ScoredAnswers, subset: str) -> ErrorCounts:
    """Count the items of a subset by error; an item is a question in one epoch.

    Exactly right is what the task's exact match says, or its main metric where it has none; an
    item that this leaves unscored is not inexact. The task has classes of errors.
    """
    assert run.error_classes is not None
    exact = run.scores.scorer.scored_task.exact.key
    is_inexact = {
        (row.id, row.epoch): (value := row.metrics[exact]) is not None and value < 1
        for row in run.scores.items
    }
    items = of_subset(run.errors, subset)
    inexact = [one for one in items if is_inexact[one.id, one.epoch]]
    (found, known), (own, own_known) = (
        _by_kind(run.error_classes, chosen) for chosen in (items, inexact)
    )
    return ErrorCounts(len(items), len(inexact), found, own, known, own_known)


def _by_kind(
    classes: ErrorClasses[Any], items: Sequence[FoundErrors]
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """How many items have each type or class, and of how many that is known."""
    found: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for errors in items:
        found.update(errors.found)
        unknown.update(errors.unknown)
        for group in classes.classes:
            keys = {one.key for one in group.types}
            if keys & errors.found:
                found[group.key] += 1
            elif keys & errors.unknown:
                unknown[group.key] += 1
    every = [*(one.key for one in classes.classes), *(one.key for one in classes.counted)]
    return found, {key: len(items) - unknown[key] for key in every}
