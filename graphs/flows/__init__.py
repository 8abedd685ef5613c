"""Flows: how each kind of question is put to an agent, and the graph that it goes through."""

from collections.abc import Mapping

from branchwise.graphs.flows.ambiguity import AMBIGUITY
from branchwise.graphs.flows.branches import BRANCHES
from branchwise.graphs.flows.clarify import CLARIFICATION, CLARIFIED, CLARIFY
from branchwise.graphs.flows.conditions import CONDITIONS
from branchwise.graphs.flows.flow import Brief, Flow, FlowSetting, GraphParts
from branchwise.graphs.flows.keyed import KEYED
from branchwise.graphs.flows.mdcr import MDCR

__all__ = ["DEFAULT", "FLOWS", "Brief", "Flow", "FlowSetting", "GraphParts"]

FLOWS: Mapping[str, Flow] = {
    flow.name: flow
    for flow in (
        BRANCHES,
        CONDITIONS,
        AMBIGUITY,
        CLARIFICATION,
        CLARIFIED,
        CLARIFY,
        KEYED,
        MDCR,
    )
}
DEFAULT = BRANCHES
"""The flow of a question that comes without a question set."""
