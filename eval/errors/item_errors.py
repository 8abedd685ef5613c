"""What went wrong in one item: records that are stored, shown and counted."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_args

from branchwise.eval.errors.gold_evidence import CallCost, EvidencePlace
from branchwise.eval.errors.labels import CallFailure, Label, LostAt
from branchwise.trace.conversation import ToolCall

MAX_PLACES = 5
"""Places that are kept of each answer; how many there are is kept beside."""


@dataclass(frozen=True, slots=True)
class MissingAnswer:
    """A gold answer that the prediction lacks under its branch.

    `label`: not_in_corpus, incomplete_extraction, perhaps_stated, incorrect_reasoning or
    wrong_branch; None if unknown, where the item failed or has no trace. `lost_at` is
    there with incorrect_reasoning, `under` (the predicted key that has it) with wrong_branch,
    `lost_step` (the step of the node that took it out) where it was lost at a node. `places`: where
    it was retrieved, the first of them in order of the trace (one that the agent saw among them, if
    there is one); `retrieved`: how many there are. `elsewhere` and `mentioned`: the same of the
    passages that mention it and, as gold says, do not support it or, where gold does not say, do
    not state it. `in_corpus`: of one that was never retrieved, the id of a passage of the corpus
    that supports or mentions it, where that was looked up.
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
    unsupported_answer, or None: it was read at `places` and is wrong, or the item has no trace.
    `places` and `retrieved` are as those of a missing answer.
    """

    branch: str
    text: str
    label: Label | None
    belongs_to: str | None = None
    places: tuple[EvidencePlace, ...] = ()
    retrieved: int = 0


@dataclass(frozen=True, slots=True)
class BranchErrors:
    """A gold branch: how many of its `gold` answers are right, and its answers' labels, sorted.

    `keys`: the predicted branches that stand for it. `labels` has missing_branch where none of
    its answers was retrieved or predicted.
    """

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

    Labels say what happened, so wrong_tool_call and budget_spent may stand on an item whose
    answer is right. A failed item (`error`) has only these two: it is unknown what it would have
    answered. Without a trace (`traced` is False) only wrong_branch, ambiguous_answer and
    format_error are known.
    `unmentioned`: gold answers, given or not, that nothing retrieved mentions, be it support or
    not; `unanswered`: those that something retrieved mentions and the answer has under no key.
    All is of the gold set that the item is scored against; `gold_set` says which, from 0, where its
    question has several.
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
        """What `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            id=record["id"],
            epoch=record["epoch"],
            ambiguous=record["ambiguous"],
            traced=record["traced"],
            labels=_labels(record["labels"]),
            branches=tuple(_branch(branch) for branch in record["branches"]),
            missing=tuple(MissingAnswer(**_answer(missing)) for missing in record["missing"]),
            wrong=tuple(WrongAnswer(**_answer(wrong)) for wrong in record["wrong"]),
            failed_calls=tuple(FailedCall(**call) for call in record["failed_calls"]),
            format_error=_ending(record["format_error"]),
            budget_spent=_ending(record["budget_spent"]),
            error=record["error"],
            gold_set=record.get("gold_set"),
            unmentioned=record.get("unmentioned", 0),
            unanswered=record.get("unanswered", 0),
        )


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


def _labels(values: list[str]) -> tuple[Label, ...]:
    return tuple(Label(value) for value in values)


def _branch(record: Mapping[str, Any]) -> BranchErrors:
    labels = _labels(record["labels"])
    return BranchErrors(**{**record, "keys": tuple(record["keys"]), "labels": labels})


def _answer(record: Mapping[str, Any]) -> dict[str, Any]:
    label = record["label"]
    listed = {key: record[key] for key in ("places", "elsewhere") if key in record}
    places = {key: tuple(EvidencePlace(**one) for one in own) for key, own in listed.items()}
    return {**record, "label": None if label is None else Label(label), **places}


def _ending(record: Mapping[str, Any] | None) -> Ending | None:
    return None if record is None else Ending(**record)


_KNOWN: Mapping[str, CallFailure] = {kind: kind for kind in get_args(CallFailure)}


def failed_calls(calls: Iterable[ToolCall]) -> Iterator[FailedCall]:
    """The calls without a result, in the order made."""
    for call in calls:
        if call.result.error is not None:
            cost = CallCost.of(call)
            kind = _KNOWN.get(str(call.result.failure), "failed")
            yield FailedCall(call.number, call.step, cost.tool, kind, str(cost.error))
