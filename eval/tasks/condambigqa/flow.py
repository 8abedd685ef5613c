"""Answers in free text: each under its condition and with its citations, or by another protocol.

The protocols are those of CondAmbigQA.
"""

from branchwise.eval.tasks.condambigqa.answers_format import AnswersFormat
from branchwise.eval.tasks.condambigqa.conditions_format import ConditionsFormat
from branchwise.graphs.asking import DEFAULT_PROTOCOL
from branchwise.graphs.flows.flow import Flow

_STANDARD = Flow(
    name="standard",
    format=AnswersFormat(),
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
    format=ConditionsFormat(),
    prompts={"search": "guided_with_tools", "given": "guided_given"},
    readings="conditions_readings",
    tells_conditions=True,
)
_CLOSED = Flow(
    name="closed",
    format=AnswersFormat(),
    prompts={"direct": "answers_directly"},
    readings="answers_readings",
)
CONDITIONS = Flow(
    name="conditions",
    format=ConditionsFormat(),
    prompts={
        "search": "conditions_with_tools",
        "given": "conditions_given",
        "direct": "conditions_directly",
    },
    readings="conditions_readings",
    at_most="at_most_conditions",
    protocols={"standard": _STANDARD, "guided": _GUIDED, "closed": _CLOSED},
)
ASKS_FOR_CONDITIONS: frozenset[str] = frozenset({DEFAULT_PROTOCOL})
"""Protocols in which the model writes conditions: `guided` gives them, the others have none."""
