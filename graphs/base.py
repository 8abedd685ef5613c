"""The graph: agent and tools in a loop under the budget, modules before and between, the answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from branchwise.agents.formats import AnswerFormat
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.agent_node import make_agent_node
from branchwise.graphs.answer_node import make_answer_node
from branchwise.graphs.expand_node import make_expand_node
from branchwise.graphs.extract_node import make_extract_node
from branchwise.graphs.models import Models
from branchwise.graphs.plugins.running import MadeNode, make_plugin_node
from branchwise.graphs.route import Route
from branchwise.graphs.state import AgentState, ItemContext
from branchwise.graphs.system import Budget
from branchwise.graphs.tool_node import make_tool_node
from branchwise.trace.events import graph_name

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
    route: Route,
    start_at: str | None = None,
    plugins: Sequence[MadeNode] = (),
) -> "CompiledStateGraph[AgentState, ItemContext, AgentState, AgentState]":
    """Compile the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer`.

    `route` says which of them there are: the modules where `models` has one for them, `plugins` in
    their slots, several of one slot in their order. Without tools it is the direct-answer setting:
    one turn, then the answer. `start_at`: the node that is entered first, with a state that earlier
    steps left (graphs/rebuild.py); None is the beginning.
    """
    # ItemContext is not declared: it is no JSON, and LangGraph's tools ask for schemas of all.
    graph: StateGraph[AgentState, ItemContext, Any, Any] = StateGraph(AgentState)
    caller = models.agent
    agent = make_agent_node(caller, tools, prompts, budget, answer_format.schema, route)
    # The agent names its successor itself: a conditional edge reads the whole state again, which
    # costs a quarter of a millisecond a turn.
    behind = {route.after_turn(calls=True), route.after_turn(calls=False)}
    graph.add_node("agent", agent, destinations=tuple(sorted(behind)))
    graph.add_node("answer", make_answer_node(caller, prompts, answer_format))
    if models.expander:
        shown_by = READINGS_PROMPTS[answer_format.name]
        graph.add_node("expand", make_expand_node(models.expander, prompts, shown_by))
    if models.extractor:
        graph.add_node("extract", make_extract_node(models.extractor, prompts))
    if tools:
        graph.add_node("tools", make_tool_node(tools, budget, caller))
    for made in plugins:
        graph.add_node(graph_name(made.plugin.name), make_plugin_node(made, caller))
    for step, then in route.edges():
        graph.add_edge(step, then)
    graph.add_edge("answer", END)
    graph.add_edge(START, start_at or route.first)
    return graph.compile()


def recursion_limit(budget: Budget, plugins: int = 0) -> int:
    """LangGraph's step limit: at most three steps a turn and the plug-ins' nodes, the answer, and
    some room."""
    return (3 + plugins) * budget.turns + plugins + 8
