"""Whether a question is ambiguous: the model says so, or its answers tell (CAmbigNQ)."""

from collections.abc import Iterable
from dataclasses import replace

from branchwise.agents.formats import FORMATS
from branchwise.base.normalise import normalise
from branchwise.graphs.flows.branches import BRANCHES
from branchwise.graphs.flows.flow import Flow

DETECTION = Flow(
    name="ambiguity",
    format=FORMATS["ambiguity"],
    prompts={"search": "ambiguity_with_tools", "direct": "ambiguity_directly"},
    readings="ambiguity_readings",
)
AMBIGUITY = replace(DETECTION, protocols={"answers": replace(BRANCHES, name="answers")})


def different_answers(texts: Iterable[str]) -> set[str]:
    """What texts are compared by; several mean that the question has several readings."""
    return {normalise(text) for text in texts}
