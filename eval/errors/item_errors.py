"""What went wrong in one item: records that are stored, shown and counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from branchwise.eval.errors.gold_evidence import CallCost, EvidencePlace
from branchwise.eval.errors.labels import CallFailure, Label, LostAt
from branchwise.eval.scores import SUBSETS, of_subset
from branchwise.trace.conversation import ToolCall

MAX_PLACES = 5
"""Places that are kept of each answer; how many there are is kept beside."""
LOST_AT: tuple[LostAt, ...] = ("agent", "extraction", "node", "repair", "dropped", "merge")
CALL_FAILURES: tuple[CallFailure, ...] = ("arguments", "unknown_tool", "failed", "not_run")


@dataclass(frozen=True, slots=True)
class MissingAnswer:
    """A gold answer that the prediction lacks under its branch.

    `label`: not_in_corpus, incomplete_extraction, perhaps_stated, incorrect_reasoning or
    wrong_branch; None where the item failed or has no trace. `lost_at` comes with
    incorrect_reasoning, `under` (the predicted key that has it) with wrong_branch, `lost_step` with
    a node (that took it out) and dropped (the last answer that had it). `places`: the first where
    it was retrieved, in order of the trace (one that the agent saw among them, if any);
    `retrieved`: how many there are.
    `elsewhere`, `mentioned`: the same of passages that mention it and do not support or state it.
    `in_corpus`: of one never retrieved, the id of a passage that has it, where that was looked up.
    """

    branch: str
    text: str
    qid: str | None
    label: Label | None
    lost_at: LostAt | None = None
    under: str | None = None
    places: tuple[EvidencePlace, ...] = ()
    retrieved: int = 0
    lost_step: int | None = None
    elsewhere: tuple[EvidencePlace, ...] = ()
    mentioned: int = 0
    in_corpus: str | None = None

    @property
    def only_elsewhere(self) -> bool:
        """Whether it was never retrieved, though passages that do not support it mention it."""
        return self.label is Label.INCOMPLETE_EXTRACTION and self.mentioned > 0


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A predicted text that counts as wrong, under its predicted branch; as much of both as scores.
    `label`: wrong_branch (`belongs_to` names the gold branch that has it), ambiguous_answer,
    unsupported_answer, or None: it was read at `places` and is wrong, or the item has no trace."""

    branch: str
    text: str
    label: Label | None
    belongs_to: str | None = None
    places: tuple[EvidencePlace, ...] = ()
    retrieved: int = 0


@dataclass(frozen=True, slots=True)
class BranchErrors:
    """A gold branch: how many of its `gold` answers are right, their labels, sorted, with
    missing_branch, and the predicted branches (`keys`) that stand for it."""

    name: str
    keys: tuple[str, ...]
    gold: int
    right: int
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A wrong tool call: the how-manyth call of the item (from 1), its step, and why."""

    call: int
    step: int
    tool: str
    kind: CallFailure
    error: str


@dataclass(frozen=True, slots=True)
class Ending:
    """Something that was wrong with how the item ended, in words; `step` is None without trace."""

    reason: str
    step: int | None


@dataclass(frozen=True, slots=True)
class ItemErrors:
    """All that went wrong in an item (a question in one epoch); `labels` are sorted.

    wrong_tool_call and budget_spent may stand on an item whose answer is right; a failed item
    (`error`) has only these two. Without a trace (`traced` is False) only wrong_branch,
    ambiguous_answer and format_error are known. `unmentioned`: gold answers that nothing retrieved
    mentions; `unanswered`: those that something retrieved mentions and the answer has under no key.
    `gold_set`: which of several the item is scored against, from 0.
    """

    id: str
    epoch: int
    ambiguous: bool
    traced: bool
    labels: tuple[Label, ...] = ()
    branches: tuple[BranchErrors, ...] = ()
    missing: tuple[MissingAnswer, ...] = ()
    wrong: tuple[WrongAnswer, ...] = ()
    failed_calls: tuple[FailedCall, ...] = ()
    format_error: Ending | None = None
    budget_spent: Ending | None = None
    error: str | None = None
    gold_set: int | None = None
    unmentioned: int = 0
    unanswered: int = 0

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable; `from_json` reads it back. Without `gold_set` where there is one."""
        record: dict[str, Any] = plain(self)
        if self.gold_set is None:
            del record["gold_set"]
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "ItemErrors":
        """What `to_json` wrote. Raises ValueError for anything else."""
        return _reader().validate_python(record)


@cache
def _reader() -> TypeAdapter[ItemErrors]:
    return TypeAdapter(ItemErrors)


def plain(value: Any) -> Any:
    """Records of this package as plain JSON: records as objects, labels as their texts."""
    if isinstance(value, EvidencePlace):
        return value._asdict()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {plain(key): plain(part) for key, part in value.items()}
    return value.value if isinstance(value, Label) else value


def failed_calls(calls: Iterable[ToolCall]) -> Iterator[FailedCall]:
    for call in calls:
        if call.result.error is not None:
            cost = CallCost.of(call)
            kinds = (kind for kind in CALL_FAILURES if kind == call.result.failure)
            kind: CallFailure = next(kinds, "failed")
            yield FailedCall(call.number, call.step, cost.tool, kind, str(cost.error))


@dataclass(frozen=True)
class LabelTotal:
    """How many `items` have a label, how many `missing` gold answers, how many `wrong` texts."""

    items: int = 0
    missing: int = 0
    wrong: int = 0


@dataclass(frozen=True)
class SubsetTotals:
    """Totals of a subset of `items`, of which `traced` have a trace and `failed` ended in error.
    `missing`, `wrong`: answers of either kind, whatever their label. `elsewhere`: those that are
    `only_elsewhere`. `branches`: gold branches that are missing_branch. `lost_at`: retrieved
    answers by who lost them. `calls`: wrong tool calls by kind. All keys are there, with 0."""

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
        return {subset: plain(totals) for subset, totals in self.subsets.items()}


def totals(errors: Iterable[ItemErrors]) -> ErrorTotals:
    listed = list(errors)
    return ErrorTotals({subset: _subset(of_subset(listed, subset)) for subset in SUBSETS})


def _subset(items: Sequence[ItemErrors]) -> SubsetTotals:
    by_item = Counter(label for item in items for label in item.labels)
    missing = [answer for item in items for answer in item.missing]
    wrong = [answer for item in items for answer in item.wrong]
    of_missing = Counter(answer.label for answer in missing)
    of_wrong = Counter(answer.label for answer in wrong)
    lost_at = Counter(answer.lost_at for answer in missing)
    calls = Counter(call.kind for item in items for call in item.failed_calls)
    return SubsetTotals(
        items=len(items),
        traced=sum(item.traced for item in items),
        failed=sum(item.error is not None for item in items),
        missing=len(missing),
        wrong=len(wrong),
        elsewhere=sum(answer.only_elsewhere for answer in missing),
        branches=sum(Label.MISSING_BRANCH in b.labels for item in items for b in item.branches),
        labels={
            label: LabelTotal(by_item[label], of_missing[label], of_wrong[label]) for label in Label
        },
        lost_at={place: lost_at[place] for place in LOST_AT},
        calls={kind: calls[kind] for kind in CALL_FAILURES},
    )


Count = Callable[[SubsetTotals], int]
"""A number of a subset, for tables and figures."""


def missing_with(label: Label) -> Count:
    return lambda subset: subset.labels[label].missing


def wrong_with(label: Label) -> Count:
    return lambda subset: subset.labels[label].wrong


def items_with(label: Label) -> Count:
    return lambda subset: subset.labels[label].items


def wrong_without_label(subset: SubsetTotals) -> int:
    """How many wrong texts have none: they were read in the evidence, or there is no trace."""
    return subset.wrong - sum(label.wrong for label in subset.labels.values())
