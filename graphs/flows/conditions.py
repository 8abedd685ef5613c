"""Answers in free text: each under its condition and with its citations, or by another protocol.

The protocols are those of CondAmbigQA.
"""

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.flow import Flow

_STANDARD = Flow(
    name="standard",
    format=FORMATS["answers"],
    prompts={
        "search": "answers_with_tools",
        "given": "answers_given",
        "direct": "answers_directly",
    },
    readings="answers_readings",
    at_most="at_most_citations",
)
_GUIDED = Flow(
    name="guided",
    format=FORMATS["conditions"],
    prompts={"search": "guided_with_tools", "given": "guided_given"},
    readings="conditions_readings",
    tells_conditions=True,
)
_CLOSED = Flow(
    name="closed",
    format=FORMATS["answers"],
    prompts={"direct": "answers_directly"},
    readings="answers_readings",
)
CONDITIONS = Flow(
    name="conditions",
    format=FORMATS["conditions"],
    prompts={
        "search": "conditions_with_tools",
        "given": "conditions_given",
        "direct": "conditions_directly",
    },
    readings="conditions_readings",
    at_most="at_most_conditions",
    protocols={"standard": _STANDARD, "guided": _GUIDED, "closed": _CLOSED},
)
