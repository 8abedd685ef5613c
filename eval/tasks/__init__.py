"""Kinds of question, each with its flow, metrics and report columns."""

from collections.abc import Callable

from branchwise.base.errors import InputError
from branchwise.corpora.questions import Gold
from branchwise.eval.tasks.ambigqa import AmbigQATask
from branchwise.eval.tasks.ambiguity import AmbiguityTask
from branchwise.eval.tasks.branches import BranchesTask
from branchwise.eval.tasks.clarification import ClarificationTask
from branchwise.eval.tasks.clarified import ClarifiedTask
from branchwise.eval.tasks.clarify import ClarifyTask
from branchwise.eval.tasks.column import Column, Metrics, Role, Total, totals_of
from branchwise.eval.tasks.condambigqa import CondAmbigQATask
from branchwise.eval.tasks.condambigqa_graded import GradedTask, PublishedCodeTask
from branchwise.eval.tasks.fanoutqa import FanOutQATask
from branchwise.eval.tasks.mdcr import BY_PAIRS, SUMMED, MDCRTask
from branchwise.eval.tasks.options_way import PUBLISHED, SUBSEQUENCE, SUBSTRING
from branchwise.eval.tasks.task import Task
from branchwise.graphs.flows import FLOWS

__all__ = [
    "DEFAULT",
    "GRADED",
    "TASKS",
    "Column",
    "Metrics",
    "Role",
    "Task",
    "Total",
    "columns_of",
    "get_task",
    "gold_of",
    "is_attributable",
    "is_graded",
    "totals_of",
    "variants_of",
]

DEFAULT: Task = BranchesTask()
"""The task of a question that comes without a question set."""
_WAYS: dict[tuple[str, str], Task] = {
    (kind.name, way.variant): kind(FLOWS[kind.name], way)
    for kind in (ClarificationTask, ClarifiedTask, ClarifyTask)
    for way in (SUBSTRING, SUBSEQUENCE, PUBLISHED)
}
"""Tasks whose scores compare options, or answers to them, by the text that they share."""
TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        DEFAULT,
        AmbigQATask(),
        FanOutQATask(),
        CondAmbigQATask(),
        AmbiguityTask(),
        *(task for (_, way), task in _WAYS.items() if way == SUBSTRING.variant),
        MDCRTask(),
    )
}


GRADED = "graded"
"""The way in which answers in free text are scored if a judge grades them."""
_VARIANTS: dict[tuple[str, str], Task] = {
    (CondAmbigQATask.name, GRADED): GradedTask(),
    (CondAmbigQATask.name, PUBLISHED.variant): PublishedCodeTask(),
    **_WAYS,
    **{(MDCRTask.name, way.variant): MDCRTask(way) for way in (SUMMED, BY_PAIRS)},
}


def get_task(name: str, variant: str = "") -> Task:
    """The task of that name, or a variant that scores its items in another way.

    Raises InputError with the known names.
    """
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}", remedy=f"known tasks: {', '.join(TASKS)}")
    if not variant:
        return TASKS[name]
    if (name, variant) not in _VARIANTS:
        known = ", ".join(variants_of(name))
        remedy = f"its variants: {known}" if known else "it is scored in one way"
        raise InputError(f"the task {name} has no variant {variant!r}", remedy=remedy)
    return _VARIANTS[name, variant]


def variants_of(name: str) -> list[str]:
    """The ways in which a task is scored, where there are several."""
    return [variant for task, variant in _VARIANTS if task == name]


def gold_of(name: str | None) -> Callable[[str], Gold]:
    """What a question must say to be scored, by its format's task: gold of the named task, or else
    of that one. Raises InputError for an unknown task: at once if it is named."""
    if name is not None:
        gold = get_task(name).gold
        return lambda _: gold
    return lambda of_format: get_task(of_format).gold


def columns_of(name: str) -> dict[str, Column]:
    """The columns of a task and its variants, by their keys."""
    ways = [get_task(name), *(get_task(name, variant) for variant in variants_of(name))]
    return {column.key: column for way in ways for column in way.columns}


def is_graded(name: str) -> bool:
    """Whether a judge grades its answers; False for a task that is not known."""
    return name in TASKS and TASKS[name].is_graded


def is_attributable(name: str) -> bool:
    """Whether it can be said where an answer was lost; False for a task that is not known."""
    return name in TASKS and TASKS[name].is_attributable
