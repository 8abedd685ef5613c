"""Detect ambiguity, ask back, answer each option: the stages of questions that are asked back.

A stage is the flow of a conversation. A pipeline says which stages a question goes through, and
whether they go by all answers to the question, which are then listed first. A person who is asked
back chooses among the options.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from typing_extensions import TypedDict

from branchwise.base.normalise import normalise
from branchwise.base.text import cut, one_line, printable, whole_characters
from branchwise.graphs.flows import Flow, numbered

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph, GraphParts


ALL = "all"
"""Says that every option is meant."""
MAX_OWN_WORDS = 1_000
"""Characters of a choice in one's own words."""
_NUMBER = re.compile(r"#?\s*(\d{1,9})\s*[.)]?")


class PersonAsked(TypedDict):
    """What a person is asked; plain JSON.

    `question`: the one that was put. `clarification_question` and its `options`, each once, in
    order: what is asked back. `problem`: why what was said before is no choice; empty at first.
    """

    question: str
    clarification_question: str
    options: list[str]
    problem: str


class Person(Protocol):
    """Who is asked back, or a program in their place. What is returned is read by `read_choice`; if
    it is no choice, they are asked again, with the problem."""

    async def __call__(self, asked: PersonAsked) -> Any: ...


class ChoiceError(ValueError):
    """What was said is no choice; the message says in one line what is possible."""


def read_choice(choice: Any, options: Sequence[str]) -> tuple[str, ...]:
    """The options that are meant, or a reading in the person's own words. A text that is an
    option's but for case, punctuation and articles is that option, "all" are all of them, numbers
    between commas are options' places from 1; any other text that has a letter is a reading of its
    own. Raises ChoiceError."""
    possible = (
        f'say a number from 1 to {len(options)}, several as "1,2", "{ALL}", or what you mean in '
        "your own words"
    )
    if isinstance(choice, bool) or not isinstance(choice, str | int):
        raise ChoiceError(f"that is neither a number nor a text; {possible}")
    text = one_line(printable(whole_characters(str(choice)), " "))
    if text in options:
        return (text,)
    if len(text) > MAX_OWN_WORDS:
        raise ChoiceError(f"that has {len(text)} characters; use at most {MAX_OWN_WORDS}")
    if same := [option for option in options if normalise(option) == normalise(text)]:
        return (same[0],)
    if text.casefold() == ALL:
        return tuple(options)
    numbers = [_NUMBER.fullmatch(part.strip()) for part in text.split(",")]
    if all(numbers):
        places = dict.fromkeys(int(number[1]) for number in numbers if number)
        for place in places:
            if not 1 <= place <= len(options):
                raise ChoiceError(f"unknown option {place}; {possible}")
        return tuple(options[place - 1] for place in places)
    if not text:
        raise ChoiceError(f"nothing was said; {possible}")
    if not any(map(str.isalpha, text)):
        raise ChoiceError(f"{cut(text, 40)!r} names no option; {possible}")
    return (text,)


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
        stages = (
            ("answers", flows["answers"], self.lists or self.person),
            ("detection", flows["detection"], self.detects == "itself"),
            ("question", flows["question"], self.asks is not None),
            ("option", flows["turns" if self.in_turns else "option"], self.answers),
        )
        return {name: flow for name, flow, is_there in stages if is_there}

    def flow(self, name: str, *, tells_answers: bool = False) -> Flow:
        """How a question goes through it; `tells_answers`: the gold ones, for the question back."""
        stages = tuple(self.stages.values())
        return Flow(
            name=name,
            format=stages[-1].format,
            prompts=stages[0].prompts,
            readings=stages[0].readings,
            graph=self._build,
            stages=stages,
            conversations=len(stages) + (MAX_OPTIONS - 1 if self.answers else 0),
            tells_answers=tells_answers,
            tells_question=self.asks is None,
            asks_person=self.person,
            examples=stages[-1].examples,
        )

    def _build(self, parts: "GraphParts", start_at: str | None = None) -> "AgentGraph":
        from branchwise.graphs.clarify import build_pipeline

        return build_pipeline(self, parts)
