"""Whether a question is ambiguous: the model says so, or its answers tell (CAmbigNQ)."""

from dataclasses import replace

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.branches import BRANCHES
from branchwise.graphs.flows.flow import Flow

AMBIGUITY = Flow(
    name="ambiguity",
    format=FORMATS["ambiguity"],
    prompts={"search": "ambiguity_with_tools", "direct": "ambiguity_directly"},
    readings="ambiguity_readings",
    protocols={"answers": replace(BRANCHES, name="answers")},
)
