"""A question back: which of its readings is meant (CAmbigNQ)."""

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.flow import Flow

CLARIFICATION = Flow(
    name="clarification",
    format=FORMATS["clarification"],
    prompts={"search": "clarification_with_tools", "direct": "clarification_directly"},
    readings="clarification_readings",
)
