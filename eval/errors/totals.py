"""Errors counted over items."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.eval.errors.item_errors import ItemErrors, plain
from branchwise.eval.errors.labels import CallFailure, Label, LostAt
from branchwise.eval.question_scores import SUBSETS

LOST_AT: tuple[LostAt, ...] = ("agent", "extraction", "node", "repair")
CALL_FAILURES: tuple[CallFailure, ...] = ("arguments", "unknown_tool", "failed", "not_run")


@dataclass(frozen=True)
class LabelTotal:
    """How many `items` have a label, how many `missing` gold answers, how many `wrong` texts.

    Labels that no answer carries (tool calls, format, budget; missing_branch is its branch's)
    count items only.
    """

    items: int = 0
    missing: int = 0
    wrong: int = 0


@dataclass(frozen=True)
class SubsetTotals:
    """Totals of a subset of `items`, of which `traced` have a trace and `failed` ended in error.

    `missing`, `wrong`: answers of either kind, whatever their label. `elsewhere`: those that were
    never retrieved, though passages that do not support them mention them. `branches`: gold
    branches that are missing_branch. `lost_at`: answers that were retrieved, by who lost them.
    `calls`: wrong tool calls by kind. Every label, place and kind is there, with 0 where nothing
    has it.
    """

    items: int
    traced: int
    failed: int
    missing: int
    wrong: int
    elsewhere: int
    branches: int
    labels: Mapping[Label, LabelTotal]
    lost_at: Mapping[LostAt, int]
    calls: Mapping[CallFailure, int]


@dataclass(frozen=True)
class ErrorTotals:
    """Totals by subset: all, ambiguous, unambiguous. An item is a question in one epoch."""

    subsets: Mapping[str, SubsetTotals]

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable, by subset."""
        return {subset: plain(found) for subset, found in self.subsets.items()}


def totals(errors: Iterable[ItemErrors]) -> ErrorTotals:
    """Count the errors of items, all together, ambiguous and unambiguous ones; order is nothing."""
    listed = list(errors)
    chosen = (
        listed,
        [item for item in listed if item.ambiguous],
        [item for item in listed if not item.ambiguous],
    )
    counted = map(_subset, chosen)
    return ErrorTotals(dict(zip(SUBSETS, counted, strict=True)))


def _subset(items: Sequence[ItemErrors]) -> SubsetTotals:
    by_item = Counter(label for item in items for label in item.labels)
    missing = [answer for item in items for answer in item.missing]
    wrong = [answer for item in items for answer in item.wrong]
    of_missing = Counter(answer.label for answer in missing)
    of_wrong = Counter(answer.label for answer in wrong)
    lost_at = Counter(answer.lost_at for answer in missing)
    calls = Counter(call.kind for item in items for call in item.failed_calls)
    whole = sum(Label.MISSING_BRANCH in b.labels for item in items for b in item.branches)
    return SubsetTotals(
        items=len(items),
        traced=sum(item.traced for item in items),
        failed=sum(item.error is not None for item in items),
        missing=len(missing),
        wrong=len(wrong),
        elsewhere=sum(answer.only_elsewhere for answer in missing),
        branches=whole,
        labels={
            label: LabelTotal(by_item[label], of_missing[label], of_wrong[label]) for label in Label
        },
        lost_at={place: lost_at[place] for place in LOST_AT},
        calls={kind: calls[kind] for kind in CALL_FAILURES},
    )


Count = Callable[[SubsetTotals], int]
"""A number of a subset, for tables and figures."""


def missing_with(label: Label) -> Count:
    """How many missing gold answers have a label."""
    return lambda found: found.labels[label].missing


def wrong_with(label: Label) -> Count:
    """How many wrong texts have a label."""
    return lambda found: found.labels[label].wrong


def items_with(label: Label) -> Count:
    """How many items have a label."""
    return lambda found: found.labels[label].items


def wrong_without_label(found: SubsetTotals) -> int:
    """How many wrong texts have none: they were read in the evidence, or there is no trace."""
    return found.wrong - sum(label.wrong for label in found.labels.values())
