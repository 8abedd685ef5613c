"""One model turn: ask the model with its tools, or tell it that the budget is spent."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command

from branchwise.agents.caller import ModelCaller, ModelError, Reply
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.context_window import oldest_to_omit, with_omissions
from branchwise.graphs.ledger import AGENT
from branchwise.graphs.state import AgentState, ItemContext, Node, Spent
from branchwise.graphs.system import Budget
from branchwise.graphs.trace_records import reply_record

# A last answer is asked for even when the seconds are spent; this bounds how long it may take.
GRACE_SECONDS = 30.0


def spent_reason(budget: Budget, spent: Spent, seconds: float) -> str | None:
    """Which part of the budget is spent, in words; None while there is some of each left.

    The last model turn is kept for the answer, so `turns` is spent one turn early.
    """
    if spent.turns >= budget.turns - 1:
        return f"{budget.turns} model turns"
    if spent.calls >= budget.calls:
        return f"{budget.calls} tool calls"
    if spent.tokens >= budget.tokens:
        return f"{budget.tokens} tokens"
    if seconds >= budget.seconds:
        return f"{budget.seconds:g} seconds"
    return None


def make_agent_node(
    caller: ModelCaller,
    tools: Sequence[BaseTool],
    prompts: Prompts,
    budget: Budget,
    schema: Mapping[str, Any],
    answer_at: str = "answer",
) -> Node:
    """The node `agent`; goes on to `tools`, or with its last words to `answer_at`.

    `schema` shapes the answer where the model is called without tools.
    """

    async def agent(state: AgentState, runtime: Runtime[ItemContext]) -> Command[str]:
        context, spent = runtime.context, state["spent"]
        added: list[BaseMessage] = []
        told = state.get("told", False)
        reason = spent_reason(budget, spent, context.elapsed) if tools and not told else None
        if reason:
            note = prompts.render("budget_spent", reason=reason)
            context.event("budget", reason=reason, text=note)
            added.append(HumanMessage(note))
        asked = () if reason or told else tools
        new = [*state["pending"], *added]
        messages = [*state["messages"], *new]
        omitted = state.get("omitted", 0)
        try:
            reply = await _ask(caller, messages, omitted, asked, schema, context)
        except ModelError as error:
            omitted = _more_omitted(error, messages, omitted, context)
            reply = await _ask(caller, messages, omitted, asked, schema, context)
        context.ledger.charge(AGENT, reply)
        context.waited += reply.waited
        context.event("model", turn=spent.turns + 1, **reply_record(reply))
        update = {
            "messages": [*new, reply.message],
            "pending": [],
            "spent": spent.plus(turns=1, usage=reply.usage),
            "omitted": omitted,
            "finish": reply.finish,
        }
        # A model that calls tools although it was told to answer has its text read as the answer.
        wants_tools = bool(reply.message.tool_calls or reply.message.invalid_tool_calls)
        return Command(update=update, goto="tools" if wants_tools and asked else answer_at)

    return agent


async def _ask(
    caller: ModelCaller,
    messages: Sequence[BaseMessage],
    omitted: int,
    tools: Sequence[BaseTool],
    schema: Mapping[str, Any],
    context: ItemContext,
) -> Reply:
    return await caller.ask(
        with_omissions(messages, omitted),
        tools=tools,
        schema=None if tools else schema,
        journal=context.journal,
        time_left=max(context.time_left, GRACE_SECONDS),
    )


def _more_omitted(
    error: ModelError, messages: Sequence[BaseMessage], omitted: int, context: ItemContext
) -> int:
    """How many tool results to leave out after a context-length refusal; re-raises the rest."""
    more = oldest_to_omit(messages, omitted) if error.kind == "context_length" else omitted
    if more == omitted:
        raise error
    context.event("context_trimmed", omitted=more, newly=more - omitted)
    return more
