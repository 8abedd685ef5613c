"""The graph: agent and tools in a loop under the budget, modules before and between, the answer,
and what may send the agent back."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from branchwise.graphs.agent_node import budget_left, make_agent_node
from branchwise.graphs.answer_node import make_answer_node
from branchwise.graphs.budget import Budget
from branchwise.graphs.check_node import make_check_node
from branchwise.graphs.expand_node import make_expand_node
from branchwise.graphs.extraction.nodes import (
    make_extract_by_passage_node,
    make_extract_by_search_node,
)
from branchwise.graphs.flows import GraphParts, NodeSlot
from branchwise.graphs.plugin_nodes import make_plugin_node
from branchwise.graphs.shown import KnownPassages, ReadBefore, ShownWhole
from branchwise.graphs.state import AgentState, ItemContext
from branchwise.graphs.tool_node import make_tool_node
from branchwise.trace.events import graph_name

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph

_Graph = StateGraph[AgentState, ItemContext, Any, Any]

_EXTRACT_NODES = {
    "search": make_extract_by_search_node,
    "passage": make_extract_by_passage_node,
}


def build_graph(parts: GraphParts, start_at: str | None = None) -> "AgentGraph":
    """Compile the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer -> [check]?`, from
    where the agent may be sent back. Without tools it is the direct-answer setting: one turn, then
    the answer. `start_at`: the node to enter first, with a state that earlier steps left
    (graphs/rebuild.py); None is the start."""
    graph = new_graph()
    first = add_agent(graph, parts, then=add_answer(graph, parts))
    graph.add_edge(START, start_at or first)
    return graph.compile()


def new_graph() -> _Graph:
    # ItemContext is not declared: it is not JSON, and LangGraph's tools require a schema of all.
    return StateGraph(AgentState)


def add_answer(graph: _Graph, parts: GraphParts) -> str:
    """Add the node that reads the last message, after the plug-ins' nodes before it, and what may
    send the agent back. Returns the first of them, to which the agent's last message goes."""
    models, prompts, route = parts.models, parts.prompts, parts.route
    behind = route.along("after_answer")
    answer = make_answer_node(models.agent, prompts, parts.flow.format, parts.budget, behind[0])
    graph.add_node("answer", answer, destinations=(behind[0], END))
    for plugin in parts.plugins:
        if plugin.slot == "after_answer":
            name = graph_name(plugin.name)
            then = behind[behind.index(name) + 1]
            own = make_plugin_node(plugin, models.agent, then)
            graph.add_node(name, own, destinations=("agent", then))
    if models.checker:
        check = make_check_node(models.checker, prompts, parts.checks)
        graph.add_node("check", check, destinations=("agent", END))
    _add_slots(graph, parts, "before_answer")
    return route.into("before_answer")


def add_agent(graph: _Graph, parts: GraphParts, *, then: str) -> str:
    """Add `[expand]? -> agent <-> (tools -> [extract]?)`; its last message goes to the node `then`.
    A module exists if there is a model for it. Returns the first node."""
    models, prompts, flow = parts.models, parts.prompts, parts.flow
    route = replace(parts.route, last_words=then)
    schema = flow.format.schema
    agent = make_agent_node(
        models.agent, parts.tools, prompts, parts.budget, schema, route, parts.compact
    )
    # The agent names its successor itself: a conditional edge reads the whole state again, which
    # costs a quarter of a millisecond a turn.
    behind = {route.after_turn(calls=True), route.after_turn(calls=False)}
    graph.add_node("agent", agent, destinations=tuple(sorted(behind)))
    if models.expander:
        expand = make_expand_node(models.expander, prompts, flow.readings, parts.searcher)
        graph.add_node("expand", expand)
    if models.extractor:
        make = _EXTRACT_NODES[parts.extracts_by]
        graph.add_node("extract", make(models.extractor, prompts))
    if parts.tools:
        left = partial(budget_left, prompts) if parts.shows_budget else None
        known: KnownPassages | None = None
        if not parts.repeats_passages:
            known = ReadBefore() if models.extractor else ShownWhole()
        tools = make_tool_node(parts.tools, parts.budget, models.agent, left, known)
        graph.add_node("tools", tools)
    _add_slots(graph, parts, "before_agent", *(("after_tools",) if parts.tools else ()))
    return route.first


def _add_slots(graph: _Graph, parts: GraphParts, *slots: NodeSlot) -> None:
    for plugin in parts.plugins:
        if plugin.slot in slots:
            graph.add_node(graph_name(plugin.name), make_plugin_node(plugin, parts.models.agent))
    for slot in slots:
        for before, then in pairwise(parts.route.along(slot)):
            graph.add_edge(before, then)


def recursion_limit(budget: Budget, plugins: int = 0) -> int:
    """LangGraph's step limit: at most three steps and the plug-ins' nodes per turn (who is sent
    back has a turn less), the answer, and some spare."""
    return (3 + plugins) * budget.turns + plugins + 8
