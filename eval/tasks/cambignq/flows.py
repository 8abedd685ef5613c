"""How CAmbigNQ's questions are put: is it ambiguous, ask back, answer each option, or all three."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from pydantic import BaseModel

from branchwise.agents.prediction import (
    AnswerFormat,
    FormatError,
    Prediction,
    is_exactly,
    reasoning_of,
    text_of,
)
from branchwise.base.text import one_line
from branchwise.eval.tasks.branches.task import BRANCHES
from branchwise.eval.tasks.task import holder_of, object_schema
from branchwise.graphs.flows import Flow
from branchwise.graphs.pipeline import CLARIFICATION, VERDICT, Pipeline, StageName

_VERDICTS = {"true": True, "yes": True, "ambiguous": True}
_VERDICTS |= {"false": False, "no": False, "unambiguous": False, "not ambiguous": False}


class _ExactVerdict(BaseModel, extra="forbid", strict=True):
    reasoning: str = ""
    ambiguous: bool


class VerdictFormat(AnswerFormat):
    """A verdict in place of answers: `task_output` is `{"ambiguous": bool}`."""

    name: str = "ambiguity"
    by_branch: bool = False
    schema: ClassVar[dict[str, Any]] = object_schema(
        {"reasoning": {"type": "string"}, VERDICT: {"type": "boolean"}}
    )

    def fits(self, data: object) -> bool:
        return is_exactly(_ExactVerdict, data)

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """Also: "yes", "no" and the like in place of true and false, in any case of letters, and
        the object in a list or an object of its own."""
        holder = holder_of(data, [VERDICT], f'the answer has no key "{VERDICT}"')
        value = holder[VERDICT]
        word = str(value)[:20].strip(" .").lower()
        verdict = value if isinstance(value, bool) else _VERDICTS.get(word)
        if verdict is None:
            raise FormatError(f'"{VERDICT}" is neither true nor false')
        return Prediction(reasoning=reasoning_of(holder), task_output={VERDICT: verdict})


MAX_CLARIFICATION = 20_000


class _ExactClarification(BaseModel, extra="forbid", strict=True):
    reasoning: str = ""
    clarification_question: str


class ClarificationFormat(AnswerFormat):
    """A question back in place of answers: `task_output` is `{"clarification_question": str}`. Any
    text is read: whether it is of the form (`corpora/clarification.py`) is for scores to say."""

    name: str = "clarification"
    by_branch: bool = False
    schema: ClassVar[dict[str, Any]] = object_schema(
        {"reasoning": {"type": "string"}, CLARIFICATION: {"type": "string"}}
    )

    def fits(self, data: object) -> bool:
        return is_exactly(_ExactClarification, data)

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """Also: the object in a list or an object of its own."""
        holder = holder_of(data, [CLARIFICATION], f'the answer has no key "{CLARIFICATION}"')
        text = one_line(text_of(holder[CLARIFICATION], MAX_CLARIFICATION) or "")
        if not text:
            raise FormatError(f'"{CLARIFICATION}" is not a text, or is empty')
        return Prediction(reasoning=reasoning_of(holder), task_output={CLARIFICATION: text})


_DETECTION = Flow(
    name="ambiguity",
    format=VerdictFormat(),
    prompts={"search": "ambiguity_with_tools", "direct": "ambiguity_directly"},
    readings="ambiguity_readings",
)
AMBIGUITY = replace(_DETECTION, protocols={"answers": replace(BRANCHES, name="answers")})
_ASKING = Flow(
    name="clarification",
    format=ClarificationFormat(),
    prompts={"search": "clarification_with_tools", "direct": "clarification_directly"},
    readings="clarification_readings",
)
_OPTION = replace(
    BRANCHES, name="option", prompts={"search": "option_with_tools", "direct": "option_directly"}
)
_DIALOGUE = replace(
    BRANCHES,
    name="dialogue",
    prompts={"search": "dialogue_with_tools", "direct": "dialogue_directly"},
    examples={4: "dialogue_examples"},
)
_CONVERSATIONS: Mapping[StageName, Flow] = {
    "answers": BRANCHES,
    "detection": _DETECTION,
    "question": _ASKING,
    "option": _OPTION,
    "turns": _DIALOGUE,
}
_pipeline = partial(Pipeline, _CONVERSATIONS)

ASKED_BACK = replace(
    _ASKING,
    protocols={
        "answers": _pipeline(asks="answers", answers=False).flow("answers"),
        "gold-answers": replace(_ASKING, name="gold-answers", tells_answers=True),
    },
)
CLARIFIED = replace(
    _pipeline().flow("clarified"),
    protocols={
        "answers": _pipeline(asks="answers").flow("answers"),
        "gold-answers": _pipeline().flow("gold-answers", tells_answers=True),
        "gold-question": _pipeline(asks=None).flow("gold-question"),
        "dialogue": _pipeline(asks=None, in_turns=True).flow("dialogue"),
    },
)
_COMBINATIONS = {
    "answers": _pipeline("answers", "answers"),
    "answers-to-detect": _pipeline("answers"),
    "answers-to-ask": _pipeline("itself", "answers"),
}


def _whole(name: str, *, person: bool = False) -> Flow:
    """All stages; protocols say which of them go by listed answers."""
    combined = {key: replace(own, person=person).flow(key) for key, own in _COMBINATIONS.items()}
    return replace(_pipeline("itself", person=person).flow(name), protocols=combined)


CLARIFY = _whole("clarify")
LIVE = _whole("live", person=True)
"""The same, asking a person. It has no gold, so it is no task."""
