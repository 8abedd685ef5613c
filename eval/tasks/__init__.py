"""Kinds of question, each with its prompts, parser, metrics and report columns."""

from branchwise.corpora.errors import InputError
from branchwise.eval.tasks.branches import BranchesTask
from branchwise.eval.tasks.condambigqa import CondAmbigQATask
from branchwise.eval.tasks.task import Column, Metrics, Setting, Task

__all__ = ["TASKS", "Column", "Metrics", "Setting", "Task", "get_task"]

TASKS: dict[str, Task] = {task.name: task for task in (BranchesTask(), CondAmbigQATask())}


def get_task(name: str) -> Task:
    """The task of that name. Raises InputError with the known names."""
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}", remedy=f"known tasks: {', '.join(TASKS)}")
    return TASKS[name]
