"""What the store has of an item, as a row of the list of questions and as scorers read it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.evidence import Evidence
from branchwise.eval.items import AnsweredItem
from branchwise.eval.store.item_rows import RawItem
from branchwise.ui.steps.blocks import harmless
from branchwise.ui.traces.lines import ItemLine, Values

MAX_TEXT = 1000
"""Characters of a question or an error that a row keeps: more is on no screen's line."""
MAX_ID = 500
ENDED = frozenset({"done", "failed"})
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError)
"""What reading a record raises that is not what was written."""


def one_line(text: str) -> str:
    """Text from outside as part of a line: white space collapsed, bounded, harmless."""
    return harmless(" ".join(text[: 4 * MAX_TEXT].split()))[:MAX_TEXT]


def line_of(raw: RawItem) -> ItemLine:
    """The row without scores and labels. Of a damaged record, `error` says so."""
    try:
        question, ambiguous = _asked(orjson.loads(raw.body))
    except _DAMAGED as error:
        return _damaged(raw, "question", error)
    if raw.outcome is None or raw.status not in ENDED:
        return ItemLine(raw.item, raw.id, raw.epoch, question, ambiguous, raw.status)
    try:
        outcome = orjson.loads(raw.outcome)
        failure, tokens, seconds = outcome.get("error"), _tokens(outcome), outcome.get("seconds")
        return ItemLine(
            number=raw.item,
            id=raw.id,
            epoch=raw.epoch,
            question=question,
            ambiguous=ambiguous,
            status=raw.status,
            tokens=tokens,
            seconds=None if seconds is None else float(seconds),
            error=None if failure is None else one_line(str(failure)),
        )
    except _DAMAGED as error:
        return _damaged(raw, "outcome", error, question, ambiguous)


def scored(line: ItemLine, values: Values, labels: tuple[str, ...] | None) -> ItemLine:
    """The row with its metrics and its labels."""
    return replace(line, scores=values, labels=labels)


def unread(item: int, problem: str) -> ItemLine:
    """A row of which nothing could be read."""
    return ItemLine(item, "", 0, "", False, "failed", error=one_line(f"cannot be read: {problem}"))


def answered(raw: RawItem, question: Question | None = None) -> AnsweredItem | None:
    """The item as scorers read it; None where it has not ended or its record is damaged.

    `question`: None reads it without the passages that it brought, which no metric looks at.
    """
    if raw.outcome is None:
        return None
    try:
        outcome = orjson.loads(raw.outcome)
        if question is None:
            question = Question.model_validate({**orjson.loads(raw.body), "passages": ()})
        failure = outcome.get("error")
        # A failed item is scored with an empty prediction, whatever it holds.
        said = outcome["prediction"] if failure is None else {}
        return AnsweredItem(
            item=raw.item,
            question=question,
            prediction=Prediction.model_validate(said),
            epoch=raw.epoch,
            evidence=Evidence(tuple(outcome["evidence"])),
            how=outcome["how"],
            error=failure,
        )
    except _DAMAGED:
        return None


def _asked(body: Mapping[str, Any]) -> tuple[str, bool]:
    return one_line(str(body["question"])), bool(body.get("ambiguous"))


def _tokens(outcome: Mapping[str, Any]) -> int | None:
    """Input and output of all its model calls; a failed item has them by role alone."""
    if (tokens := outcome.get("tokens")) is not None:
        return int(tokens)
    usage = outcome.get("usage")
    return sum(used["input"] + used["output"] for used in usage.values()) if usage else None


def _damaged(
    raw: RawItem, what: str, error: Exception, question: str = "", ambiguous: bool = False
) -> ItemLine:
    problem = one_line(f"the {what}'s record is damaged ({type(error).__name__}: {error})")
    return ItemLine(
        raw.item, raw.id, raw.epoch, question, ambiguous, raw.status, error=problem[:MAX_TEXT]
    )
