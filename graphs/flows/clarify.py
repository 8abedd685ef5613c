"""Detect ambiguity, ask back, answer each option: CAmbigNQ's stages, and the tasks made of them.

A stage is the flow of a conversation. A pipeline says which stages a question goes through, and
whether they go by all answers to the question, which are then listed first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.ambiguity import DETECTION
from branchwise.graphs.flows.branches import BRANCHES
from branchwise.graphs.flows.flow import Flow, numbered

if TYPE_CHECKING:
    from branchwise.graphs.flows.flow import AgentGraph, GraphParts

By = Literal["itself", "answers"]
"""What a stage goes by: the question alone, or also the answers that were listed for it."""
_ASKING = Flow(
    name="clarification",
    format=FORMATS["clarification"],
    prompts={"search": "clarification_with_tools", "direct": "clarification_directly"},
    readings="clarification_readings",
)
_OPTION = Flow(
    name="option",
    format=FORMATS["branches"],
    prompts={"search": "option_with_tools", "direct": "option_directly"},
    readings="readings",
)
_DIALOGUE = Flow(
    name="dialogue",
    format=FORMATS["branches"],
    prompts={"search": "dialogue_with_tools", "direct": "dialogue_directly"},
    readings="readings",
    examples={4: "dialogue_examples"},
)
MAX_OPTIONS = 32
"""Options that are answered: each is a conversation, and all go on at the same time."""
OPTION_ANSWERS = "answers"
"""Key of a `task_output`: pairs of an option and the texts of its answer, in the order asked."""


def with_answers(message: str, answers: Iterable[str]) -> str:
    """What the user says, with answers to the question below it, where there are any."""
    listed = list(dict.fromkeys(answers))
    return f"{message}\n\n{numbered('Its answers:', listed)}" if listed else message


@dataclass(frozen=True)
class Pipeline:
    """The stages of a question.

    `detects`: how it is told whether it is ambiguous; None: it is taken to be. `asks`: how the
    question back is found; None: it is given. `answers`: whether its options are answered.
    `in_turns`: an option is what the user says behind the question back, instead of a part of the
    question. `person`: someone is asked which options are meant (`ItemContext.person`), and a
    question that has not several is answered as it is.
    """

    detects: By | None = None
    asks: By | None = "itself"
    answers: bool = True
    in_turns: bool = False
    person: bool = False

    @property
    def lists(self) -> bool:
        """Whether stages go by all answers, which are then listed first."""
        return "answers" in (self.detects, self.asks)

    @property
    def stages(self) -> Mapping[str, Flow]:
        """The flow of each conversation, by what it is for, in order."""
        found = (
            ("answers", BRANCHES, self.lists or self.person),
            ("detection", DETECTION, self.detects == "itself"),
            ("question", _ASKING, self.asks is not None),
            ("option", _DIALOGUE if self.in_turns else _OPTION, self.answers),
        )
        return MappingProxyType({name: flow for name, flow, is_there in found if is_there})

    def flow(self, name: str, *, tells_answers: bool = False) -> Flow:
        """How a question goes through it; `tells_answers`: the gold ones, for the question back."""
        stages = tuple(self.stages.values())
        return Flow(
            name=name,
            format=stages[-1].format,
            prompts=stages[0].prompts,
            readings=stages[0].readings,
            graph=partial(_build, self),
            stages=stages,
            conversations=len(stages) + (MAX_OPTIONS - 1 if self.answers else 0),
            tells_answers=tells_answers,
            tells_question=self.asks is None,
            examples=stages[-1].examples,
        )


def _build(pipeline: Pipeline, parts: "GraphParts", start_at: str | None = None) -> "AgentGraph":
    from branchwise.graphs.clarify import build_pipeline

    return build_pipeline(pipeline, parts)


CLARIFICATION = replace(
    _ASKING,
    protocols={
        "answers": Pipeline(asks="answers", answers=False).flow("answers"),
        "gold-answers": replace(_ASKING, name="gold-answers", tells_answers=True),
    },
)
CLARIFIED = replace(
    Pipeline().flow("clarified"),
    protocols={
        "answers": Pipeline(asks="answers").flow("answers"),
        "gold-answers": Pipeline().flow("gold-answers", tells_answers=True),
        "gold-question": Pipeline(asks=None).flow("gold-question"),
        "dialogue": Pipeline(asks=None, in_turns=True).flow("dialogue"),
    },
)
_COMBINATIONS = {
    "answers": Pipeline("answers", "answers"),
    "answers-to-detect": Pipeline("answers"),
    "answers-to-ask": Pipeline("itself", "answers"),
}


def _whole(name: str, *, person: bool = False) -> Flow:
    """All stages; protocols say which of them go by listed answers."""
    combined = {key: replace(one, person=person).flow(key) for key, one in _COMBINATIONS.items()}
    return replace(Pipeline("itself", person=person).flow(name), protocols=combined)


CLARIFY = _whole("clarify")
LIVE = _whole("live", person=True)
"""The same with a person who is asked. It is no task, since it has no gold."""
