"""The task `condambigqa`: answers in free text, each with its condition and its citations.

Gold: a branch is a property, its name the condition, its answer the reference text. Without
tools the question's own passages are given, which is the main protocol of the CondAmbigQA paper;
with tools the agent searches, and cites passage ids.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, Field

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.base.setting import Setting
from branchwise.base.text import one_line
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.properties import (
    Aligned,
    AlignedPair,
    ConditionalAnswer,
    PropertyPair,
    align_properties,
    cite_everything,
    gold_properties,
    predicted_properties,
    score_citations,
)
from branchwise.eval.tasks.condambigqa.formats import AnswersFormat, ConditionsFormat
from branchwise.eval.tasks.task import Beside, Column, GradedPair, Metrics, Task, shuffled
from branchwise.graphs.flows import Flow, numbered
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL, PROTOCOL
from branchwise.graphs.system import System


class CondAmbigQASettings(BaseModel):
    """`at_most`: how much an answer in free text may hold."""

    at_most: Annotated[
        int | None,
        Field(ge=1, le=1000),
        Setting(
            "Free text: conditions, with --protocol standard citations of an answer, at most.",
            "Model",
            none="unbounded",
            of_task=True,
        ),
    ] = None


_STANDARD = Flow(
    name="standard",
    format=AnswersFormat(),
    prompts={
        "search": "answers_with_tools",
        "given": "answers_given",
        "direct": "answers_directly",
    },
    readings="answers_readings",
    reading="answers_reading",
    at_most="at_most_citations",
)
_GUIDED = Flow(
    name="guided",
    format=ConditionsFormat(),
    prompts={"search": "guided_with_tools", "given": "guided_given"},
    readings="conditions_readings",
    tells_conditions=True,
)
_CLOSED = Flow(
    name="closed",
    format=AnswersFormat(),
    prompts={"direct": "answers_directly"},
    readings="answers_readings",
    reading="answers_reading",
)
CONDITIONS = Flow(
    name="conditions",
    format=ConditionsFormat(),
    prompts={
        "search": "conditions_with_tools",
        "given": "conditions_given",
        "direct": "conditions_directly",
    },
    readings="conditions_readings",
    reading="conditions_reading",
    at_most="at_most_conditions",
    protocols={"standard": _STANDARD, "guided": _GUIDED, "closed": _CLOSED},
)
ASKS_FOR_CONDITIONS: frozenset[str] = frozenset({DEFAULT_PROTOCOL})
"""Protocols in which the model writes conditions: `guided` gives them, the others have none."""

_TEXT, _CITED = "answers in free text", "citations"
_F1_NOTE = "F1: shared tokens of best-aligned properties; missed gold properties count 0"
_COUNT_NOTE = "answers +/-: predicted minus gold; off by: the same without its sign"
_CITATION_NOTE = "citation P, R: means over predicted, gold properties; unaligned ones count 0"
_QUESTION_NOTE = "question R: of all passages that gold cites, those that any property cites"
_BASELINE_NOTE = "cite all: the same answers, each citing every passage that the agent was shown"


class CondAmbigQATask(Task):
    """Free-text answers under conditions, scored by token overlap and citations."""

    name = "condambigqa"
    version = 3
    flow = CONDITIONS
    matcher = "answer F1"
    is_graded = True
    graded_variant = "one-to-one"
    former_variants = MappingProxyType({"published-code": "rewrite-code"})
    tells_deviation = True
    # Which conditions the model has there.
    protocol_words = MappingProxyType(
        {"standard": "without", DEFAULT_PROTOCOL: "own", "guided": "gold", "closed": "no passages"}
    )
    subset_words = MappingProxyType(
        {"all": "all", "ambiguous": "several", "unambiguous": "one condition"}
    )
    columns: tuple[Column, ...] = (
        Column("answer_f1", "answer\nF1", _TEXT, note=_F1_NOTE, role="headline"),
        Column("condition_f1", "condition\nF1", _TEXT, role="headline"),
        Column("count_difference", "answers\n+/-", _TEXT, note=_COUNT_NOTE, unit="value"),
        Column("count_error", "answers\noff by", _TEXT, unit="value"),
        Column("citation_precision", "citation\nP", _CITED, note=_CITATION_NOTE),
        Column("cite_all_precision", "cite all\nP", _CITED, needs_evidence=True),
        Column("citation_recall", "citation\nR", _CITED, note=_BASELINE_NOTE),
        Column("cite_all_recall", "cite all\nR", _CITED, needs_evidence=True),
        Column("citation_f1", "citation\nF1", _CITED),
        Column("citation_recall_question", "question\nR", _CITED, note=_QUESTION_NOTE),
    )

    def questions_words(self, subset: str) -> str:
        with_conditions = {
            "ambiguous": "questions with several conditions",
            "unambiguous": "questions with one condition",
        }
        return with_conditions.get(subset) or super().questions_words(subset)

    def message(self, question: Question, flow: Flow, *, has_tools: bool) -> str:
        """The question; by a protocol that is guided by the gold conditions also these, one a line,
        in an order that says nothing of the gold's own."""
        message = super().message(question, flow, has_tools=has_tools)
        if not flow.tells_conditions:
            return message
        names = [one_line(own.name) for own in question.branches if own.name != DEFAULT_BRANCH]
        return f"{message}\n\n{numbered('Conditions:', shuffled(question, names))}"

    def check(self, question: Question, system: System, *, has_tools: bool) -> None:
        """By the guided protocol, refuse questions without conditions, and those without passages
        if the agent has no tools."""
        protocol = system.asked(PROTOCOL)
        if not self.gives_conditions(protocol):
            return
        problem, remedy = "", "ask it by another protocol"
        if all(branch.name == DEFAULT_BRANCH for branch in question.branches):
            problem = "it has no conditions to be guided by"
        elif not question.passages and not has_tools:
            problem, remedy = "it brings no passages", "give the agent a corpus to search"
        if problem:
            raise InputError(f"the protocol {protocol}: {problem}", remedy=remedy)

    def score(self, item: AnsweredItem) -> Metrics:
        """Token F1, citations and answer counts; all None for a question without gold. `answer_f1`
        and `condition_f1` (of conditions that the model wrote) are sums over aligned pairs divided
        by the number of gold properties: one that was missed counts 0."""
        gold, predicted = gold_properties(item.question), predicted_properties(item.prediction)
        if not gold:
            return {column.key: None for column in self.columns}
        asks = item.protocol in ASKS_FOR_CONDITIONS
        conditions = sum(1 for property in gold if property.condition) if asks else 0
        pairs = self.aligned(predicted, gold, item.protocol)
        difference = len(predicted) - len(gold)
        return {
            "answer_f1": sum(pair.answer_f1 for pair in pairs) / len(gold),
            "condition_f1": (
                sum(pair.condition_f1 for pair in pairs) / conditions if conditions else None
            ),
            "count_difference": float(difference),
            "count_error": float(abs(difference)),
            **citation_metrics(item, pairs),
        }

    def aligned(
        self,
        predicted: Sequence[ConditionalAnswer],
        gold: Sequence[ConditionalAnswer],
        protocol: str,
    ) -> tuple[AlignedPair, ...]:
        """By token F1 of answers, or where the protocol gives the conditions of these."""
        return align_properties(predicted, gold, by_condition=self.gives_conditions(protocol))

    def gives_conditions(self, protocol: str) -> bool:
        return self.flow.by(protocol).tells_conditions

    def graded_pairs(self, item: AnsweredItem, pairs: str) -> Iterator[GradedPair]:
        """Properties by their places in their sorted order."""
        predicted, gold = predicted_properties(item.prediction), gold_properties(item.question)
        chosen = [PropertyPair(p, g) for p in range(len(predicted)) for g in range(len(gold))]
        if pairs == "aligned":
            aligned = self.aligned(predicted, gold, item.protocol)
            chosen = [PropertyPair(pair.predicted, pair.gold) for pair in aligned]
        yield from ((pair, predicted[pair.predicted], gold[pair.gold]) for pair in chosen)

    def grading(self, question: Question, system: System) -> tuple[int, int | None]:
        """Conditions are graded where answers have them: the model's own, or the gold ones."""
        gold, protocol = gold_properties(question), system.asked(PROTOCOL)
        conditions = sum(bool(property.condition) for property in gold)
        if self.gives_conditions(protocol):
            return len(gold) + conditions, len(gold)
        if protocol in ASKS_FOR_CONDITIONS:
            return len(gold) + conditions, system.asked("at_most")
        return len(gold), None

    def beside(
        self, question: Question, prediction: Prediction, protocol: str = DEFAULT_PROTOCOL
    ) -> list[Beside]:
        """Gold properties in their order, then the predicted ones that stand for none."""
        gold, predicted = gold_properties(question), predicted_properties(prediction)
        pairs = {pair.gold: pair for pair in self.aligned(predicted, gold, protocol)}
        given = [(own.condition or DEFAULT_BRANCH, own.answers) for own in predicted]
        beside = []
        for index, wanted in enumerate(gold):
            # The first wording: the others are what counts as it, too.
            own = wanted.condition or DEFAULT_BRANCH, wanted.answers[:1]
            if (pair := pairs.get(index)) is None:
                beside.append(Beside(own, None))
                continue
            scores = [("answer F1", pair.answer_f1)]
            scores += [("condition F1", pair.condition_f1)] if wanted.condition else []
            beside.append(Beside(own, given[pair.predicted], scores))
        aligned = {pair.predicted for pair in pairs.values()}
        return beside + [Beside(None, own) for p, own in enumerate(given) if p not in aligned]


CITATIONS = frozenset(column.key for column in CondAmbigQATask.columns if column.table == _CITED)
"""The metrics that compare what aligned properties cite."""


def citation_metrics(item: AnsweredItem, pairs: Sequence[Aligned]) -> Metrics:
    """The citations of aligned properties, and what citing everything would have brought."""
    gold, predicted = gold_properties(item.question), predicted_properties(item.prediction)
    cited = score_citations(predicted, gold, pairs)
    everything = cite_everything(predicted, item.evidence.passages)
    baseline = score_citations(everything, gold, pairs)
    return {
        "citation_precision": cited.precision,
        "cite_all_precision": baseline.precision,
        "citation_recall": cited.recall,
        "cite_all_recall": baseline.recall,
        "citation_f1": cited.f1,
        "citation_recall_question": cited.of_question,
    }
