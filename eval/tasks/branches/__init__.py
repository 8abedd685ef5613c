"""Entities under the names of readings: the task of questions that come without a question set."""

from branchwise.eval.tasks.branches.task import BranchesTask
from branchwise.eval.tasks.registry import register

register(BranchesTask())
