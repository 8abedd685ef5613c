"""The tasks there are, each registered by its folder, and how a system puts their questions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files

from pydantic import BaseModel

from branchwise.agents.prediction import FORMATS
from branchwise.agents.prompt_files import register_prompts
from branchwise.base.errors import FLAGS, InputError, SettingError, SettingNames
from branchwise.corpora.questions import Gold, Question
from branchwise.eval.tasks.task import Column, Task
from branchwise.graphs.designs import designed
from branchwise.graphs.flows import FLOWS, Flow
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL, PROTOCOL, register_settings
from branchwise.graphs.sources import tools_of
from branchwise.graphs.system import System

TASKS: dict[str, Task] = {}
_VARIANTS: dict[tuple[str, str], Task] = {}


def register(
    task: Task, variants: Mapping[str, Task] = {}, settings: type[BaseModel] | None = None
) -> None:
    """Add a task with its flow, answer formats and prompts, which lie in `prompts` beside its
    module. `variants`: the same task where its items are scored in other ways, by their names.
    `settings`: those of a system that its flow takes."""
    register_settings(task.flow.protocols, settings)
    TASKS[task.name] = task
    package = type(task).__module__.rpartition(".")[0]
    if files(package).joinpath("prompts").is_dir():
        register_prompts(package)
    _VARIANTS.update({(task.name, name): variant for name, variant in variants.items()})
    for flow in filter(None, (task.flow, task.live)):
        FLOWS.register(flow.name, flow)
        for inner in _within(flow):
            FORMATS.register(inner.format.name, inner.format)


def _within(flow: Flow) -> Iterator[Flow]:
    yield flow
    for inner in (*flow.protocols.values(), *flow.stages):
        yield from _within(inner)


def get_task(name: str, variant: str = "") -> Task:
    """The task of that name, or a variant that scores its items in another way. Raises InputError
    with the known names."""
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}", remedy=f"known tasks: {', '.join(TASKS)}")
    if not variant:
        return TASKS[name]
    if (name, variant) not in _VARIANTS:
        known = ", ".join(variants_of(name))
        remedy = f"its variants: {known}" if known else "it is scored in one way"
        raise InputError(f"the task {name} has no variant {variant!r}", remedy=remedy)
    return _VARIANTS[name, variant]


def task_that_asks_back() -> Task:
    return next(task for task in TASKS.values() if task.live)


def variants_of(name: str) -> list[str]:
    return [variant for task, variant in _VARIANTS if task == name]


def known_variants() -> list[str]:
    return list(dict.fromkeys(variant for _, variant in _VARIANTS))


def gold_of(name: str | None) -> Callable[[str], Gold]:
    """What a question must say to be scored, by its format's task: gold of the named task, or else
    of that one. Raises InputError for an unknown task: at once if it is named."""
    if name is not None:
        gold = get_task(name).gold
        return lambda _: gold
    return lambda of_format: get_task(of_format).gold


def columns_of(name: str) -> dict[str, Column]:
    ways = [get_task(name), *(get_task(name, variant) for variant in variants_of(name))]
    return {column.key: column for way in ways for column in way.columns}


def is_graded(name: str) -> bool:
    """Whether a judge grades its answers; False for a task that is not known."""
    return name in TASKS and TASKS[name].is_graded


def is_attributable(name: str) -> bool:
    """Whether it can be said where an answer was lost; False for a task that is not known."""
    return name in TASKS and TASKS[name].is_attributable


def flow_of(task: Task, system: System, words: SettingNames = FLAGS) -> Flow:
    """How the system is asked the task's questions; `words`: what a refusal calls settings. Raises
    SettingError for a protocol that the task has not, closed book with tools, a setting that
    changes nothing there, a number of worked examples that it has not, and a design that it cannot
    have (`designed`)."""
    protocol = system.asked(PROTOCOL)
    if protocol != DEFAULT_PROTOCOL and protocol not in task.flow.protocols:
        problem = f"the task {task.name} has no protocol {protocol!r}"
        known = ", ".join(task.flow.protocols)
        remedy = f"its protocols: {known}" if known else "its questions are put in one way"
        raise SettingError("protocol", problem, remedy=f"leave it out: {remedy}")
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
        problem = f"{shots} examples are not available {in_what}"
        known = " or ".join(map(str, (0, *flow.examples)))
        raise SettingError("shots", problem, where=words.name("shots"), remedy=f"write {known}")
    designed(flow, system, words)
    if system.expand and not flow.readings:
        raise _idle("expand", in_what, words)
    return flow


def _idle(setting: str, in_what: str, words: SettingNames) -> SettingError:
    problem = f"has no effect {in_what}"
    return SettingError(setting, problem, where=words.name(setting), remedy="leave it out")


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
