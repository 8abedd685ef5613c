"""Forks: an item re-entered at a step of its trace and run to its end with a change."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from branchwise.runs.forks.edits import editable, read_edit
    from branchwise.runs.forks.making import Changes, make_fork, run_fork

__all__ = ["Changes", "editable", "make_fork", "read_edit", "run_fork"]
_MODULES = {"editable": "edits", "read_edit": "edits"}


def __getattr__(name: str) -> Any:
    """Lazy: importing the agent takes seconds, `folders` does not need it."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'making')}"), name)
