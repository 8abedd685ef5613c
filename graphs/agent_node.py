"""One model turn: ask the model with its tools, or tell it that the budget is spent."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import ModelError, Reply
from branchwise.graphs.budget import Budget
from branchwise.graphs.compaction import due_compaction, with_compaction
from branchwise.graphs.flows import Route
from branchwise.graphs.ledger import AGENT
from branchwise.graphs.messages import (
    PROMPT_CUT,
    oldest_to_omit,
    recorded_turn,
    with_omissions,
    without_rewritten,
)
from branchwise.graphs.reduce import (
    StateUpdate,
    compacted,
    entering,
    folded,
    told,
    trimmed,
    turned,
)
from branchwise.graphs.state import AgentState, GraphNode, ItemContext, Spent
from branchwise.trace.events import BudgetSpent, ContextTrimmed

PROMPTS = frozenset({"budget_left", "budget_low"})
LOW = 1 / 5
"""The share of a part of the budget at which the agent is told that an answer must follow."""


def budget_left(prompts: Prompts, budget: Budget, spent: Spent) -> str:
    """The end of a tool result. Seconds are left out: a resumed question must read the same."""
    turns, calls = max(0, budget.turns - spent.turns), max(0, budget.calls - spent.calls)
    low = (
        turns - 1 <= LOW * budget.turns
        or calls <= LOW * budget.calls
        or budget.tokens - spent.tokens <= LOW * budget.tokens
    )
    return prompts.render(
        "budget_low" if low else "budget_left",
        turns_left=str(turns),
        turns=str(budget.turns),
        calls_left=str(calls),
        calls=str(budget.calls),
    )


def spent_reason(budget: Budget, spent: Spent, seconds: float) -> str | None:
    """Which part of the budget is spent, in words; None while some of each is left. The last model
    turn is reserved for the answer, so `turns` is spent one turn early."""
    if spent.turns >= budget.turns - 1:
        return f"{budget.turns} model turns"
    if spent.calls >= budget.calls:
        return f"{budget.calls} tool calls"
    if spent.tokens >= budget.tokens:
        return f"{budget.tokens} tokens"
    if seconds >= budget.seconds:
        return f"{budget.seconds:g} seconds"
    return None


# The last answer is requested even when the seconds are spent; this limits how long it may take.
GRACE_SECONDS = 30.0


def make_agent_node(
    caller: ModelCaller,
    tools: Sequence[BaseTool],
    prompts: Prompts,
    budget: Budget,
    schema: Mapping[str, Any] | None,
    route: Route,
    compact: int | None = None,
) -> GraphNode:
    """The node `agent`; continues with the tools or, after its last message, towards the answer.
    `schema` shapes the answer if the model is called without tools; None: it is text. `compact`:
    tokens of a prompt beyond which older results are compacted."""

    async def agent(state: AgentState, runtime: Runtime[ItemContext]) -> Command[str]:
        context, change = runtime.context, StateUpdate()
        limits = (context.share or budget).of(state.get("readings", ()))
        reason = None
        if tools and not state.get("told"):
            reason = spent_reason(limits, state["spent"], context.elapsed)
        if reason:
            note = BudgetSpent(reason=reason, text=prompts.render("budget_spent", reason=reason))
            context.event(note)
            change |= told(note, state)
        if due := due_compaction(folded(state, change), compact, tools):
            context.event(due)
            change |= compacted(due)
        seen = folded(state, change)
        asked = () if seen.get("told") else tools
        joined = entering(seen)
        messages = without_rewritten([*seen["messages"], *joined])
        ask = partial(_ask, caller, with_compaction(messages, seen), asked, schema, context)
        reply, trim = await _fitted(ask, messages, state.get("omitted", 0), context)
        if trim:
            change |= trimmed(trim)
        context.charge(AGENT, reply)
        context.waited += reply.waited
        now = folded(state, change)
        shortened = now.get("compacted", 0) + now.get("omitted", 0)
        if context.prompts_seen.is_cut(messages, shortened, reply.usage):
            context.remark(AGENT, PROMPT_CUT)
        turn = recorded_turn(reply, turn=state["spent"].turns + 1)
        context.event(turn)
        # A model that calls tools although it was told to answer has its text read as the answer.
        goes_on = route.after_turn(calls=bool(turn.calls and asked))
        change |= turned(turn, reply.message, joined, seen)
        return Command(update=change, goto=goes_on)

    return agent


async def _fitted(
    ask: Callable[[int], Awaitable[Reply]],
    messages: Sequence[BaseMessage],
    omitted: int,
    context: ItemContext,
) -> tuple[Reply, ContextTrimmed | None]:
    """The reply; after a context-length refusal with more of the tool results left out, once."""
    try:
        return await ask(omitted), None
    except ModelError as error:
        more = oldest_to_omit(messages, omitted) if error.kind == "context_length" else omitted
        if more == omitted:
            raise
        trim = ContextTrimmed(omitted=more, newly=more - omitted)
        context.event(trim)
        return await ask(more), trim


async def _ask(
    caller: ModelCaller,
    messages: Sequence[BaseMessage],
    tools: Sequence[BaseTool],
    schema: Mapping[str, Any] | None,
    context: ItemContext,
    omitted: int,
) -> Reply:
    return await caller.ask(
        with_omissions(messages, omitted),
        tools=tools,
        schema=None if tools else schema,
        journal=context.journal,
        time_left=max(context.time_left, GRACE_SECONDS),
    )
