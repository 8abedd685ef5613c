"""The flow of a task's questions by a system's protocol, and what must hold for it."""

from collections.abc import Iterable

from branchwise.base.errors import FLAGS, InputError, SettingError, SettingNames
from branchwise.corpora.questions import Question
from branchwise.eval.tasks.task import Task
from branchwise.graphs.asking import DEFAULT_PROTOCOL, PROTOCOL
from branchwise.graphs.flows import Flow
from branchwise.graphs.system import System
from branchwise.graphs.system_checks import tools_of


def flow_of(task: Task, system: System, words: SettingNames = FLAGS) -> Flow:
    """How the system is asked the task's questions; `words`: what a refusal calls settings.

    Raises SettingError for a protocol that the task has not, closed book with tools, a setting that
    changes nothing there, and a number of worked examples that it has not.
    """
    protocol = system.asked(PROTOCOL)
    if protocol != DEFAULT_PROTOCOL and protocol not in task.flow.protocols:
        what = f"the task {task.name} has no protocol {protocol!r}"
        known = ", ".join(task.flow.protocols)
        remedy = f"its protocols: {known}" if known else "its questions are put in one way"
        raise SettingError("protocol", what, remedy=f"leave it out: {remedy}")
    flow = task.flow.by(protocol)
    if "search" not in flow.prompts and tools_of(system):
        remedy = "leave out corpus and graph, or ask by another protocol"
        raise SettingError("protocol", f"{protocol} is without tools", remedy=remedy)
    in_what = f"with the protocol {protocol}" if task.flow.protocols else f"in the task {task.name}"
    for name in system.asking:
        if name not in (PROTOCOL, *flow.takes):
            raise _idle(name, in_what, words)
    shots = system.asking.get("shots")
    if shots and shots not in flow.examples:
        what = f"{shots} examples are not available {in_what}"
        known = " or ".join(map(str, (0, *flow.examples)))
        raise SettingError("shots", what, where=words.name("shots"), remedy=f"write {known}")
    if system.expand and not flow.readings:
        raise _idle("expand", in_what, words)
    return flow


def _idle(setting: str, in_what: str, words: SettingNames) -> SettingError:
    what = f"has no effect {in_what}"
    return SettingError(setting, what, where=words.name(setting), remedy="leave it out")


def check_questions(
    task: Task, system: System, questions: Iterable[Question], *, has_tools: bool, source: str
) -> None:
    """Raise InputError for the first question that cannot be put to the system as it wants.
    `source`: what the questions are of, for the error."""
    for question in questions:
        try:
            task.check(question, system, has_tools=has_tools)
        except InputError as error:
            where = f"{source}: question {question.id[:80]!r}"
            raise InputError(error.what, where=where, remedy=error.remedy) from None
