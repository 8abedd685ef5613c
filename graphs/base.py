"""The graph: agent and tools in a loop under the budget, modules before and between, the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from branchwise.agents.caller import ModelCaller
from branchwise.graphs.agent_node import make_agent_node
from branchwise.graphs.answer_node import make_answer_node
from branchwise.graphs.expand_node import make_expand_node
from branchwise.graphs.extract_node import make_extract_node
from branchwise.graphs.flows.flow import GraphParts
from branchwise.graphs.plugins.running import MadeNode, make_plugin_node
from branchwise.graphs.plugins.slots import Slot, graph_name
from branchwise.graphs.state import AgentState, ItemContext
from branchwise.graphs.system import Budget
from branchwise.graphs.tool_node import make_tool_node

if TYPE_CHECKING:
    from branchwise.graphs.flows.flow import AgentGraph


def build_graph(parts: GraphParts, start_at: str | None = None) -> "AgentGraph":
    """Compile the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer`.

    Without tools it is the direct-answer setting: one turn, then the answer. `start_at`: the node
    that is entered first, with a state that earlier steps left (graphs/rebuild.py); None is the
    beginning.
    """
    graph = new_graph()
    first = add_agent(graph, parts, then=add_answer(graph, parts), start_at=start_at)
    graph.add_edge(START, start_at or first)
    return graph.compile()


def new_graph() -> "StateGraph[AgentState, ItemContext, Any, Any]":
    """A graph without nodes."""
    # ItemContext is not declared: it is no JSON, and LangGraph's tools ask for schemas of all.
    return StateGraph(AgentState)


def add_answer(graph: "StateGraph[AgentState, ItemContext, Any, Any]", parts: GraphParts) -> str:
    """Add the node that reads the last message, behind the plug-ins' nodes before it.

    Returns the first of them: where the agent's last words go.
    """
    caller = parts.models.agent
    graph.add_node("answer", make_answer_node(caller, parts.prompts, parts.flow.format))
    graph.add_edge("answer", END)
    return _Slots(graph, parts.plugins, caller).add("before_answer", "answer")


def add_agent(
    graph: "StateGraph[AgentState, ItemContext, Any, Any]",
    parts: GraphParts,
    *,
    then: str,
    start_at: str | None = None,
) -> str:
    """Add `[expand]? -> agent <-> (tools -> [extract]?)`; its last words go to the node `then`.

    The modules are there where there is a model for them. Returns the node that comes first.
    """
    models, tools, prompts, flow = parts.models, parts.tools, parts.prompts, parts.flow
    slots = _Slots(graph, parts.plugins, models.agent)
    agent = make_agent_node(models.agent, tools, prompts, parts.budget, flow.format.schema, then)
    # The agent names its successor itself: a conditional edge reads the whole state again, which
    # costs a quarter of a millisecond a turn.
    graph.add_node("agent", agent, destinations=("tools", then) if tools else (then,))
    first, after_tools = slots.add("before_agent", "agent"), "agent"
    if models.expander and start_at in (None, "expand"):
        graph.add_node("expand", make_expand_node(models.expander, prompts, flow.readings))
        graph.add_edge("expand", first)
        first = "expand"
    if models.extractor:
        after_tools = "extract"
        graph.add_node("extract", make_extract_node(models.extractor, prompts))
        graph.add_edge("extract", "agent")
    if tools:
        graph.add_node("tools", make_tool_node(tools, parts.budget, models.agent))
        graph.add_edge("tools", slots.add("after_tools", after_tools))
    return first


@dataclass(frozen=True)
class _Slots:
    graph: "StateGraph[AgentState, ItemContext, Any, Any]"
    plugins: Sequence[MadeNode]
    caller: ModelCaller

    def add(self, slot: Slot, then: str) -> str:
        """Put the slot's nodes before the step `then`; returns the first of them, or `then`."""
        for made in reversed([one for one in self.plugins if one.plugin.slot == slot]):
            name = graph_name(made.plugin.name)
            self.graph.add_node(name, make_plugin_node(made, self.caller))
            self.graph.add_edge(name, then)
            then = name
        return then


def recursion_limit(budget: Budget, plugins: int = 0) -> int:
    """LangGraph's step limit: at most three steps a turn and the plug-ins' nodes, the answer, and
    some room."""
    return (3 + plugins) * budget.turns + plugins + 8
