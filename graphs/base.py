"""The base graph: agent and tools in a loop under the budget, then the answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from branchwise.agents.caller import ModelCaller
from branchwise.agents.formats import AnswerFormat
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.agent_node import make_agent_node
from branchwise.graphs.answer_node import make_answer_node
from branchwise.graphs.state import AgentState, ItemContext
from branchwise.graphs.system import Budget
from branchwise.graphs.tool_node import make_tool_node

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


def build_base_graph(
    caller: ModelCaller,
    tools: Sequence[BaseTool],
    prompts: Prompts,
    answer_format: AnswerFormat,
    budget: Budget,
) -> "CompiledStateGraph[AgentState, ItemContext, AgentState, AgentState]":
    """Compile the graph. Without tools it is the direct-answer setting: one turn, then answer."""
    graph: StateGraph[AgentState, ItemContext, Any, Any] = StateGraph(AgentState, ItemContext)
    agent = make_agent_node(caller, tools, prompts, budget, answer_format.schema)
    # The agent names its successor itself: a conditional edge reads the whole state again, which
    # costs a quarter of a millisecond a turn.
    graph.add_node("agent", agent, destinations=("tools", "answer") if tools else ("answer",))
    graph.add_node("answer", make_answer_node(caller, prompts, answer_format))
    graph.add_edge(START, "agent")
    graph.add_edge("answer", END)
    if tools:
        graph.add_node("tools", make_tool_node(tools, budget))
        graph.add_edge("tools", "agent")
    return graph.compile()


def recursion_limit(budget: Budget) -> int:
    """LangGraph's step limit: two steps a turn, the answer, and some room."""
    return 2 * budget.turns + 8
