"""The graph: agent and tools in a loop under the budget, modules before and between, the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from branchwise.agents.caller import ModelCaller
from branchwise.agents.formats import AnswerFormat
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.agent_node import make_agent_node
from branchwise.graphs.answer_node import make_answer_node
from branchwise.graphs.expand_node import make_expand_node
from branchwise.graphs.extract_node import make_extract_node
from branchwise.graphs.models import Models
from branchwise.graphs.plugins.running import MadeNode, make_plugin_node
from branchwise.graphs.plugins.slots import Slot, graph_name
from branchwise.graphs.state import AgentState, ItemContext
from branchwise.graphs.system import Budget
from branchwise.graphs.tool_node import make_tool_node

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


READINGS_PROMPTS = {"branches": "readings", "conditions": "conditions_readings"}
"""By answer format, the prompt file that presents a question's readings to the agent."""


def build_graph(
    models: Models,
    tools: Sequence[BaseTool],
    prompts: Prompts,
    answer_format: AnswerFormat,
    budget: Budget,
    start_at: str | None = None,
    plugins: Sequence[MadeNode] = (),
) -> "CompiledStateGraph[AgentState, ItemContext, AgentState, AgentState]":
    """Compile the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer`.

    The modules are there where `models` has one for them. `plugins` stand in their slots, several
    of one slot in their order. Without tools it is the direct-answer
    setting: one turn, then the answer. `start_at`: the node that is entered first, with a state
    that earlier steps left (graphs/rebuild.py); None is the beginning.
    """
    # ItemContext is not declared: it is no JSON, and LangGraph's tools ask for schemas of all.
    graph: StateGraph[AgentState, ItemContext, Any, Any] = StateGraph(AgentState)
    caller = models.agent
    slots = _Slots(graph, plugins, caller)
    answer_at = slots.add("before_answer", "answer")
    agent = make_agent_node(caller, tools, prompts, budget, answer_format.schema, answer_at)
    # The agent names its successor itself: a conditional edge reads the whole state again, which
    # costs a quarter of a millisecond a turn.
    graph.add_node("agent", agent, destinations=("tools", answer_at) if tools else (answer_at,))
    graph.add_node("answer", make_answer_node(caller, prompts, answer_format))
    graph.add_edge("answer", END)
    first, after_tools = slots.add("before_agent", "agent"), "agent"
    if models.expander and start_at in (None, "expand"):
        shown_by = READINGS_PROMPTS[answer_format.name]
        graph.add_node("expand", make_expand_node(models.expander, prompts, shown_by))
        graph.add_edge("expand", first)
        first = "expand"
    if models.extractor:
        after_tools = "extract"
        graph.add_node("extract", make_extract_node(models.extractor, prompts))
        graph.add_edge("extract", "agent")
    if tools:
        graph.add_node("tools", make_tool_node(tools, budget, caller))
        graph.add_edge("tools", slots.add("after_tools", after_tools))
    graph.add_edge(START, start_at or first)
    return graph.compile()


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
