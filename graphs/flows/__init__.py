"""Flows: how each kind of question is put to an agent, and the graph that it goes through."""

from branchwise.base.registry import Registry
from branchwise.graphs.flows.flow import Brief, Flow, FlowSetting, GraphParts

__all__ = ["FLOWS", "Brief", "Flow", "FlowSetting", "GraphParts", "default_flow"]

FLOWS: Registry[Flow] = Registry()
"""Those of all tasks, by their names."""


def default_flow() -> Flow:
    """The flow of a question that comes without a question set: the first task's."""
    return next(iter(FLOWS.values()))
