"""The task `clarify`: detect ambiguity, ask the clarification question, answer each option.

What goes wrong is carried on: a question called unambiguous has no option, and its gold answers
count as missed; one that is not ambiguous has no gold, and what is answered to its options is
wrong.
"""

from dataclasses import replace
from typing import Any

from pydantic import Field

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.cambignq.ambiguity import AmbiguityTask
from branchwise.eval.tasks.cambignq.asked_back import AskedBackTask
from branchwise.eval.tasks.cambignq.clarification import is_format_error
from branchwise.eval.tasks.cambignq.clarifications import read_asked, said_question
from branchwise.eval.tasks.cambignq.clarified import (
    AnsweredOptions,
    ClarifiedOutput,
    answer_columns,
    answer_metrics,
    answers_beside,
    read_output,
)
from branchwise.eval.tasks.cambignq.flows import CLARIFY, LIVE
from branchwise.eval.tasks.cambignq.options_way import SUBSTRING, OptionsWay
from branchwise.eval.tasks.column import Metrics
from branchwise.eval.tasks.task import Beside
from branchwise.graphs.flows.pipeline import VERDICT

_DETECTION = AmbiguityTask()
_NOT_HERE = "none_listed"


class _Output(ClarifiedOutput):
    # Of a question that was called unambiguous there is no more to say.
    ambiguous: bool
    clarification_question: str = ""
    answers: AnsweredOptions = Field(default_factory=list)


class ClarifyTask(AskedBackTask):
    """The whole pipeline, scored by its answers; detection stands beside them."""

    name = "clarify"
    version = 1
    names_evidence = True
    flow = CLARIFY
    live = LIVE

    def __init__(self, way: OptionsWay = SUBSTRING) -> None:
        self.way = way
        self.matcher = way.matcher
        found = [replace(one, role=None) for one in _DETECTION.columns if one.key != _NOT_HERE]
        self.columns = (*answer_columns(way), *found)

    def score(self, item: AnsweredItem) -> Metrics:
        """Answers' addends and detection's counts."""
        asked = read_asked(said_question(item.prediction), as_published=self.way.as_published)
        output = item.prediction.task_output
        asks = not isinstance(output, dict) or output.get(VERDICT, False)
        wrong = bool(asks) and is_format_error(item, asked)
        detected = {k: v for k, v in _DETECTION.score(item).items() if k != _NOT_HERE}
        return {**answer_metrics(item, self.way, format_error=wrong), **detected}

    def read_output(self, data: Any) -> Any:
        return read_output(_Output, data)

    def beside(self, question: Question, prediction: Prediction) -> list[Beside]:
        """Answers as they are scored."""
        return answers_beside(question, prediction)
