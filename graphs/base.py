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
) -> "CompiledStateGraph[AgentState, ItemContext, AgentState, AgentState]":
    """Compile the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer`.

    The modules are there where `models` has one for them. Without tools it is the direct-answer
    setting: one turn, then the answer. `start_at`: the node that is entered first, with a state
    that earlier steps left (graphs/rebuild.py); None is the beginning.
    """
    graph: StateGraph[AgentState, ItemContext, Any, Any] = StateGraph(AgentState, ItemContext)
    caller = models.agent
    agent = make_agent_node(caller, tools, prompts, budget, answer_format.schema)
    # The agent names its successor itself: a conditional edge reads the whole state again, which
    # costs a quarter of a millisecond a turn.
    graph.add_node("agent", agent, destinations=("tools", "answer") if tools else ("answer",))
    graph.add_node("answer", make_answer_node(caller, prompts, answer_format))
    graph.add_edge("answer", END)
    first, after_tools = "agent", "agent"
    if models.expander and start_at in (None, "expand"):
        first, shown_by = "expand", READINGS_PROMPTS[answer_format.name]
        graph.add_node("expand", make_expand_node(models.expander, prompts, shown_by))
        graph.add_edge("expand", "agent")
    if models.extractor:
        after_tools = "extract"
        graph.add_node("extract", make_extract_node(models.extractor, prompts))
        graph.add_edge("extract", "agent")
    if tools:
        graph.add_node("tools", make_tool_node(tools, budget))
        graph.add_edge("tools", after_tools)
    graph.add_edge(START, start_at or first)
    return graph.compile()


def recursion_limit(budget: Budget) -> int:
    """LangGraph's step limit: at most three steps a turn, the answer, and some room."""
    return 3 * budget.turns + 8
