"""Detect ambiguity, ask back, answer each option: the stages of questions that are asked back.

A stage is the flow of a conversation. A pipeline says which stages a question goes through, and
whether they go by all answers to the question, which are then listed first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from branchwise.base.normalise import normalise
from branchwise.graphs.flows.flow import Flow, numbered

if TYPE_CHECKING:
    from branchwise.graphs.flows.flow import AgentGraph, GraphParts

By = Literal["itself", "answers"]
"""What a stage goes by: the question alone, or also the answers that were listed for it."""
StageName = Literal["answers", "detection", "question", "option", "turns"]
"""What a conversation is for: all answers / whether there are several readings / the question back
/ an option as part of the question / an option as what the user says after the question back."""
MAX_OPTIONS = 32
"""Options that are answered: each is a conversation, and all go on at the same time."""
VERDICT, CLARIFICATION, OPTION_ANSWERS = "ambiguous", "clarification_question", "answers"
"""Keys of a `task_output`: a bool; a text on one line; pairs of an option and the texts of its
answer, in the order asked."""


def different_answers(texts: Iterable[str]) -> set[str]:
    """What texts are compared by; several mean that the question has several readings."""
    return {normalise(text) for text in texts}


def with_answers(message: str, answers: Iterable[str]) -> str:
    """What the user says, with answers to the question below it, where there are any."""
    listed = list(dict.fromkeys(answers))
    return f"{message}\n\n{numbered('Its answers:', listed)}" if listed else message


@dataclass(frozen=True)
class Pipeline:
    """The stages of a question, of the flows of its conversations.

    `detects`: how it is told whether it is ambiguous; None: it is taken to be. `asks`: how the
    question back is found; None: it is given. `answers`: whether its options are answered.
    `in_turns`: an option is what the user says after the question back, instead of a part of the
    question. `person`: someone is asked which options are meant (`ItemContext.person`), and a
    question that has not several is answered as it is.
    """

    flows: Mapping[StageName, Flow]
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
        flows = self.flows
        found = (
            ("answers", flows["answers"], self.lists or self.person),
            ("detection", flows["detection"], self.detects == "itself"),
            ("question", flows["question"], self.asks is not None),
            ("option", flows["turns" if self.in_turns else "option"], self.answers),
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
            asks_person=self.person,
            examples=stages[-1].examples,
        )


def _build(pipeline: Pipeline, parts: "GraphParts", start_at: str | None = None) -> "AgentGraph":
    from branchwise.graphs.clarify import build_pipeline

    return build_pipeline(pipeline, parts)
