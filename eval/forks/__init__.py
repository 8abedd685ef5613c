"""Forks: an item taken up at a step of its trace and run on with something changed."""

from branchwise.eval.forks.edits import editable, read_edit
from branchwise.eval.forks.making import Changes, make_fork, run_fork

__all__ = ["Changes", "editable", "make_fork", "read_edit", "run_fork"]
