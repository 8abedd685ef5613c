"""One item of a run as scorers read it: a question, what was predicted, what was seen."""

from dataclasses import dataclass, field

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.evidence import Evidence


@dataclass(frozen=True)
class AnsweredItem:
    """An item that ended, well or badly.

    A failed item (`error` set) has an empty prediction and counts 0 in every mean: no question
    vanishes. `how` says how the answer was read: strict, tolerant, repaired or failed.
    """

    question: Question
    prediction: Prediction
    epoch: int = 0
    evidence: Evidence = field(default_factory=Evidence)
    how: str = "strict"
    error: str | None = None
