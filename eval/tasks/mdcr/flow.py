"""How MDCR's questions are put, with or without hints, and what their scores are broken down by.

The documents are in the user's message, with or without tools.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from branchwise.base.setting import Setting
from branchwise.corpora.conditions.documents import QUESTION_KINDS, QuestionKind
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.eval.grouping import BinPlace, Bins, Grouping, ScoredItem, binned, labels
from branchwise.eval.tasks.mdcr.format import MDCRFormat
from branchwise.eval.tasks.task import ShotSettings
from branchwise.graphs.flows import Flow, PromptSection

if TYPE_CHECKING:
    from branchwise.graphs.system import System

QuestionHints = Literal["none", "documents", "values", "relations", "all"]
"""What of the gold is told, as in the paper's Table 8: nothing / of each document the sentences
that state conditions, in place of all / after the situation, the value of each condition that it
mentions / there, how conditions are related / all three."""

ONLY_STATING = "Of each document only the sentences that state conditions are shown."


def tells(hints: QuestionHints, hint: QuestionHints) -> bool:
    """Whether `hints` has one of the three."""
    return hints in (hint, "all")


class MDCRSettings(ShotSettings):
    """`reasoning`: whether to reason in steps first; `hints`: what of the gold is told."""

    reasoning: Annotated[
        Literal["off", "steps"],
        Setting(
            "Conditional answers: answer at once, or reason in steps before.", "Model", of_task=True
        ),
    ] = "off"
    hints: Annotated[
        QuestionHints,
        Setting(
            "Conditional answers: what is told of the gold. Documents: of these only the sentences "
            "that state conditions; values of mentioned conditions; relations; or all three.",
            "Model",
            of_task=True,
        ),
    ] = "none"


def message(asked: ConditionsQuestion, hints: QuestionHints) -> str:
    """What the user says: documents, situation, hints and question, apart by empty lines."""
    return "\n\n".join(_blocks(asked, hints))


def _blocks(asked: ConditionsQuestion, hints: QuestionHints) -> Iterator[str]:
    problem = asked.problem
    own = problem.conditions
    is_short = tells(hints, "documents")
    if is_short:
        yield ONLY_STATING
    for document in problem.documents:
        shown = document.stating if is_short else document.sentences
        lines = [f"{document.sentence_id(name)}: {text}" for name, text in shown.items()]
        yield "\n".join([f"Document {document.id}: {document.title}", *lines])
    yield f"Situation: {asked.scenario_text}"
    if tells(hints, "values"):
        known = [(id, value) for id, value in problem.values.items() if id in own]
        values = [f"{_named(asked, id)}: {str(value).lower()}" for id, value in known]
        yield "\n".join(["Conditions that the situation mentions:", *(values or ["none"])])
    if tells(hints, "relations"):
        related = [r for r in problem.relations if r.first in own and r.second in own]
        relations = [
            str(replace(r, first=_named(asked, r.first), second=_named(asked, r.second)))
            for r in related
        ]
        yield "\n".join(["Relations between conditions:", *(relations or ["none"])])
    yield f"Question: {asked.asked}"


def _named(asked: ConditionsQuestion, id: str) -> str:
    """A condition by the sentence that states it, and its number there where that has several."""
    sentence = asked.problem.conditions[id].sentence_id
    conditions = asked.problem.conditions.values()
    own = [condition.id for condition in conditions if condition.sentence_id == sentence]
    return sentence if len(own) == 1 else f"{sentence} (condition {own.index(id) + 1})"


def _asked(item: ScoredItem) -> ConditionsQuestion:
    return ConditionsQuestion.of(item.item.question)


def _type(item: ScoredItem) -> Sequence[BinPlace]:
    kind = _asked(item).problem.kind
    return [(QUESTION_KINDS.index(kind), _TYPE_WORDS[kind])]


def _relations(item: ScoredItem) -> Sequence[BinPlace] | None:
    decide = _asked(item).relations_decide
    return None if decide is None else [(0, "they decide") if decide else (1, "they do not")]


_TYPE_WORDS: Mapping[QuestionKind, str] = {
    "q1": "at least one (Q1)",
    "q2": "all (Q2)",
    "q3": "maximum (Q3)",
}
_TYPES = Grouping("type", "type of question", _type)
_DOCUMENTS = Grouping(
    "documents",
    "documents",
    binned(Bins((1, 2, 3, 4, 5, 6)), lambda item: len(_asked(item).problem.documents)),
)
_DOMAIN = Grouping("domain", "domain", lambda item: labels([_asked(item).domain]))
_RELATIONS = Grouping("relations", "whether relations decide", _relations)
GROUPINGS = (_TYPES, _DOCUMENTS, _DOMAIN, _RELATIONS)
CROSSED = (_TYPES.name, _DOCUMENTS.name)
"""Those that make a table, down and across."""


class MDCRFlow(Flow):
    """The flow with the paper's settings: an example, reasoning in steps, hints."""

    @property
    def takes(self) -> frozenset[str]:
        return frozenset({"shots", "reasoning", "hints"})

    def sections(self, system: "System") -> tuple[PromptSection, ...]:
        """How to answer, then the example, with the hints that the questions have."""
        in_steps = system.asked("reasoning") == "steps"
        manner = PromptSection("mdcr_steps" if in_steps else "mdcr_at_once")
        if not system.asked("shots"):
            return (manner,)
        hints = system.asked("hints")
        shown = "stating" if tells(hints, "documents") else "documents"
        hinted = [part for part in ("values", "relations") if tells(hints, part)]
        given = tuple(f"mdcr_example_{part}" for part in (shown, "situation", *hinted))
        reasoning = ("mdcr_example_reasoning",) if in_steps else ()
        values = {"given": given, "answer": (*reasoning, "mdcr_example_answer")}
        return manner, PromptSection("mdcr_example", values)


MDCR = MDCRFlow(
    name="mdcr",
    format=MDCRFormat(),
    prompts={"search": "mdcr_with_tools", "given": "mdcr_given"},
    examples={1: "mdcr_example"},
)
