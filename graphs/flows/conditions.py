"""Answers in free text, each under its condition and with its citations."""

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.flow import Flow

CONDITIONS = Flow(
    name="conditions",
    format=FORMATS["conditions"],
    prompts={
        "search": "conditions_with_tools",
        "given": "conditions_given",
        "direct": "conditions_directly",
    },
    readings="conditions_readings",
)
