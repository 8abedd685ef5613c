"""What the tasks have in common that ask a question back: gold answers and questions are told."""

from branchwise.base.text import one_line
from branchwise.corpora.questions import Question
from branchwise.eval.tasks.cambignq.clarifications import gold_text
from branchwise.eval.tasks.task import Task, shuffled
from branchwise.graphs.flows import Flow
from branchwise.graphs.flows.pipeline import with_answers


class AskedBackTask(Task):
    """A task of questions that are asked back."""

    def message(self, question: Question, flow: Flow, *, has_tools: bool) -> str:
        """The question; by a protocol that tells the gold answers these, of all readings, in an
        order that says nothing of the gold's own."""
        message = super().message(question, flow, has_tools=has_tools)
        if not flow.tells_answers:
            return message
        told = (one_line(answer.text) for one in question.branches for answer in one.answers)
        return with_answers(message, shuffled(question, told))

    def asked_back(self, question: Question, flow: Flow) -> str:
        return gold_text(question) if flow.tells_question else ""
