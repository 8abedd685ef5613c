"""Something is asked of each of several things: entities under the names of these (FanOutQA)."""

from branchwise.agents.formats import FORMATS
from branchwise.graphs.flows.flow import Flow

KEYED = Flow(
    name="keyed",
    format=FORMATS["branches"],
    prompts={"search": "keyed_with_tools", "direct": "keyed_directly"},
    readings="keyed_readings",
)
