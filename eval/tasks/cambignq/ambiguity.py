"""The task `ambiguity`: whether a question is ambiguous (CAmbigNQ's first one).

By the protocol `answers`, the agent lists all answers, and several different ones mean that the
question is ambiguous. None mean that it is not, as the paper's text has it; how often that was so
is counted apart.
"""

from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.cambignq.flows import AMBIGUITY
from branchwise.eval.tasks.task import Column, Metrics, Task, Total
from branchwise.graphs.pipeline import VERDICT, different_answers

_DETECTION = "ambiguous or not"
_NOTE = 'P, R, F1: of "ambiguous", over all questions together; accuracy: share of right verdicts'
_NONE_NOTE = "none listed: no answer at all, where answers tell whether a question is ambiguous"
_SUMS = ("rightly_ambiguous", "said_ambiguous", "gold_ambiguous")


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


_P, _R = Total(_SUMS[:2], share), Total((_SUMS[0], _SUMS[2]), share)


def _f1(right: float, called: float, gold: float) -> float | None:
    return share(2 * right, called + gold)


def listed_answers(prediction: Prediction) -> set[str]:
    return different_answers(text for texts in prediction.answers.values() for text in texts)


def verdict(item: AnsweredItem) -> bool | None:
    """Whether the question was called ambiguous; None for an item without a readable answer."""
    if item.error or item.how in ("failed", "missing"):
        return None
    output = item.prediction.task_output
    return len(listed_answers(item.prediction)) > 1 if output is None else bool(output[VERDICT])


class AmbiguityTask(Task):
    """A verdict on each question, scored as a detection of ambiguous ones."""

    name = "ambiguity"
    version = 1
    names_evidence = True
    flow = AMBIGUITY
    matcher = "verdict"
    gold = "label"
    columns: tuple[Column, ...] = (
        Column("accuracy", "accuracy", _DETECTION, note=_NOTE, role="exact"),
        Column(
            "ambiguous_precision", "P", _DETECTION, role="precision", words="precision", total=_P
        ),
        Column("ambiguous_recall", "R", _DETECTION, role="recall", words="recall", total=_R),
        Column("ambiguous_f1", "F1", _DETECTION, role="headline", total=Total(_SUMS, _f1)),
        Column("none_listed", "none\nlisted", _DETECTION, note=_NONE_NOTE),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """Accuracy and the counts that precision, recall and F1 are made of. An item without a
        readable answer is wrong, and a miss where the question is ambiguous."""
        called, gold = verdict(item), item.question.ambiguous
        listed = called is not None and item.prediction.task_output is None
        sums = (float(called is True and gold), float(called is True), float(gold))
        return {
            **dict(zip(_SUMS, sums, strict=True)),
            "accuracy": float(called is gold),
            "ambiguous_precision": share(*sums[:2]),
            "ambiguous_recall": share(sums[0], sums[2]),
            "ambiguous_f1": _f1(*sums),
            "none_listed": float(not listed_answers(item.prediction)) if listed else None,
        }

    def read_output(self, data: Any) -> Any:
        return self.flow.format.read(data).task_output

    def gold_prediction(self, question: Question) -> Prediction:
        return Prediction(task_output={VERDICT: question.ambiguous})
