"""Kinds of question, each with its flow, metrics and report columns."""

from branchwise.corpora.errors import InputError
from branchwise.eval.tasks.branches import BranchesTask
from branchwise.eval.tasks.column import Column, Metrics, Role, Total, totals_of
from branchwise.eval.tasks.condambigqa import CondAmbigQATask
from branchwise.eval.tasks.task import Task

__all__ = [
    "DEFAULT",
    "TASKS",
    "Column",
    "Metrics",
    "Role",
    "Task",
    "Total",
    "get_task",
    "is_attributable",
    "totals_of",
]

DEFAULT: Task = BranchesTask()
"""The task of a question that comes without a question set."""
TASKS: dict[str, Task] = {task.name: task for task in (DEFAULT, CondAmbigQATask())}


def get_task(name: str) -> Task:
    """The task of that name. Raises InputError with the known names."""
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}", remedy=f"known tasks: {', '.join(TASKS)}")
    return TASKS[name]


def is_attributable(name: str) -> bool:
    """Whether it can be said where an answer was lost; False for a task that is not known."""
    return name in TASKS and TASKS[name].is_attributable
