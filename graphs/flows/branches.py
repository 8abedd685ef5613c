"""Entities under the names of readings."""

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.flow import Flow

BRANCHES = Flow(
    name="branches",
    format=FORMATS["branches"],
    prompts={"search": "answer_with_tools", "direct": "answer_directly"},
    readings="readings",
)
