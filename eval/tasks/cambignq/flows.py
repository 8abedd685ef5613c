"""How CAmbigNQ's questions are put: is it ambiguous, ask back, answer each option, or all three."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from branchwise.eval.tasks.branches.flow import BRANCHES
from branchwise.eval.tasks.cambignq.clarification_format import ClarificationFormat
from branchwise.eval.tasks.cambignq.verdict_format import VerdictFormat
from branchwise.graphs.flows.flow import Flow
from branchwise.graphs.flows.pipeline import Pipeline, StageName

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

CLARIFICATION = replace(
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
    combined = {key: replace(one, person=person).flow(key) for key, one in _COMBINATIONS.items()}
    return replace(_pipeline("itself", person=person).flow(name), protocols=combined)


CLARIFY = _whole("clarify")
LIVE = _whole("live", person=True)
"""The same, asking a person. It has no gold, so it is no task."""
