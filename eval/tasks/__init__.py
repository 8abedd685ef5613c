"""Kinds of question, each a folder with its flow, answer format, metrics and report columns."""

from importlib import import_module

from branchwise.eval.tasks.registry import (
    TASKS,
    columns_of,
    get_task,
    gold_of,
    is_attributable,
    is_graded,
    known_variants,
    task_that_asks_back,
    variants_of,
)
from branchwise.eval.tasks.task import Column, Metrics, Role, Task, Total, totals_of

__all__ = [
    "DEFAULT",
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
    "known_variants",
    "task_that_asks_back",
    "totals_of",
    "variants_of",
]

FOLDERS = (
    "branches",
    "ambigqa",
    "fanoutqa",
    "condambigqa",
    "cambignq",
    "mdcr",
)
"""Those of the tasks, in the order in which tasks are listed."""

for _folder in FOLDERS:
    import_module(f"{__name__}.{_folder}")

DEFAULT: Task = next(iter(TASKS.values()))
"""The task of a question that comes without a question set."""
