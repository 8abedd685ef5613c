"""A question back: which of its readings is meant (CAmbigNQ)."""

from dataclasses import replace

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.flow import Flow

_WITHOUT = Flow(
    name="clarification",
    format=FORMATS["clarification"],
    prompts={"search": "clarification_with_tools", "direct": "clarification_directly"},
    readings="clarification_readings",
)
CLARIFICATION = replace(
    _WITHOUT,
    protocols={"gold-answers": replace(_WITHOUT, name="gold-answers", tells_answers=True)},
)
