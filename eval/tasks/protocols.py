"""The flow of a task's questions by a system's protocol, and what must hold for it."""

from collections.abc import Iterable

from branchwise.corpora.errors import InputError, SettingError
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.tasks.task import Task
from branchwise.graphs.flows import Flow
from branchwise.graphs.protocol import DEFAULT_PROTOCOL
from branchwise.graphs.system import System
from branchwise.graphs.system_checks import tools_of


def flow_of(task: Task, system: System) -> Flow:
    """How the system is asked the task's questions.

    Raises SettingError for a protocol that the task has not, closed book with tools, and a bound
    that the protocol has no place for.
    """
    protocol = system.protocol
    if protocol != DEFAULT_PROTOCOL and protocol not in task.flow.protocols:
        what = f"the task {task.name} has no protocol {protocol!r}"
        known = ", ".join(task.flow.protocols)
        remedy = f"its protocols: {known}" if known else "its questions are put in one way"
        raise SettingError("protocol", what, remedy=f"leave it out: {remedy}")
    flow = task.flow.by(protocol)
    if "search" not in flow.prompts and tools_of(system):
        remedy = "leave out corpus and graph, or ask by another protocol"
        raise SettingError("protocol", f"{protocol} is without tools", remedy=remedy)
    if system.at_most is not None and flow.at_most is None:
        where = (
            f"with the protocol {protocol}" if task.flow.protocols else f"in the task {task.name}"
        )
        raise SettingError("at_most", f"has no effect {where}", remedy="leave it out")
    return flow


def check_conditions(flow: Flow, questions: Iterable[Question], *, has_tools: bool) -> None:
    """Raise InputError for a question that the flow cannot put: guided by no condition, or neither
    with passages nor with tools where there is no prompt for that."""
    if not flow.tells_conditions:
        return
    for question in questions:
        if all(branch.name == DEFAULT_BRANCH for branch in question.branches):
            what, remedy = "it has no conditions to be guided by", "ask it by another protocol"
        elif not question.passages and not has_tools:
            what, remedy = "it brings no passages", "give the agent a corpus to search"
        else:
            continue
        where = f"question {question.id[:80]!r}"
        raise InputError(f"the protocol guided: {what}", where=where, remedy=remedy)
