"""The task `condambigqa`: answers in free text, each with its condition and its citations.

Gold: a branch is a property, its name the condition, its answer the reference text. Without
tools the question's own passages are given, which is the main protocol of the CondAmbigQA paper;
with tools the agent searches, and cites passage ids.
"""

from branchwise.corpora.questions import Question
from branchwise.eval.citations import cite_everything, score_citations
from branchwise.eval.items import AnsweredItem
from branchwise.eval.properties import align_properties, gold_properties, predicted_properties
from branchwise.eval.tasks.task import Column, Metrics, Setting, ask

_PROMPTS: dict[Setting, str] = {
    "search": "conditions_with_tools",
    "given": "conditions_given",
    "direct": "conditions_directly",
}

_TEXT, _CITED = "answers in free text", "citations"
_F1_NOTE = "F1: shared tokens of best-aligned properties; missed gold properties count 0"
_COUNT_NOTE = "answers +/-: predicted minus gold; off by: the same without its sign"
_CITATION_NOTE = "citation P, R: means over predicted, gold properties; unaligned ones count 0"
_BASELINE_NOTE = "cite all: the same answers, each citing every passage that the agent was shown"


class CondAmbigQATask:
    """Free-text answers under conditions, scored by token overlap and citations."""

    name = "condambigqa"
    version = 1
    format = "conditions"
    matcher = "answer F1"
    columns: tuple[Column, ...] = (
        Column("answer_f1", "answer\nF1", _TEXT, note=_F1_NOTE),
        Column("condition_f1", "condition\nF1", _TEXT),
        Column("count_difference", "answers\n+/-", _TEXT, note=_COUNT_NOTE),
        Column("count_error", "answers\noff by", _TEXT),
        Column("citation_precision", "citation\nP", _CITED, note=_CITATION_NOTE),
        Column("cite_all_precision", "cite all\nP", _CITED, needs_evidence=True),
        Column("citation_recall", "citation\nR", _CITED, note=_BASELINE_NOTE),
        Column("cite_all_recall", "cite all\nR", _CITED, needs_evidence=True),
    )

    def setting(self, question: Question, has_tools: bool) -> Setting:
        if has_tools:
            return "search"
        return "given" if question.passages else "direct"

    def prompt(self, setting: Setting) -> str:
        return _PROMPTS[setting]

    def user_message(self, question: Question, setting: Setting) -> str:
        return ask(question, setting)

    def fragments(self, question: Question, setting: Setting) -> tuple[str, ...]:
        return tuple(passage.id for passage in question.passages) if setting == "given" else ()

    def score(self, item: AnsweredItem) -> Metrics:
        """Token F1, citations and answer counts; all None for a question without gold.

        `answer_f1` and `condition_f1` are sums over aligned pairs divided by the number of gold
        properties (for the latter, of those with a condition): one that was missed counts 0.
        `count_difference` is predicted minus gold.
        """
        gold, predicted = gold_properties(item.question), predicted_properties(item.prediction)
        if not gold:
            return {column.key: None for column in self.columns}
        conditions = sum(1 for property in gold if property.condition)
        pairs = align_properties(predicted, gold)
        cited = score_citations(predicted, gold, pairs)
        everything = cite_everything(predicted, item.evidence.passages)
        baseline = score_citations(everything, gold, pairs)
        difference = len(predicted) - len(gold)
        return {
            "answer_f1": sum(pair.answer_f1 for pair in pairs) / len(gold),
            "condition_f1": (
                sum(pair.condition_f1 for pair in pairs) / conditions if conditions else None
            ),
            "count_difference": float(difference),
            "count_error": float(abs(difference)),
            "citation_precision": cited.precision,
            "cite_all_precision": baseline.precision,
            "citation_recall": cited.recall,
            "cite_all_recall": baseline.recall,
        }
