"""Entities under the names of readings."""

from branchwise.eval.tasks.branches.format import BranchesFormat
from branchwise.graphs.flows.flow import Flow

BRANCHES = Flow(
    name="branches",
    format=BranchesFormat(),
    prompts={"search": "answer_with_tools", "direct": "answer_directly"},
    readings="readings",
)
