"""What is left of a budget, in words for the agent."""

from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.state import Spent
from branchwise.graphs.system import Budget

PROMPTS = frozenset({"budget", "budget_left", "budget_low"})
LOW = 1 / 5
"""The share of a part of the budget at which the agent is told that an answer must follow."""


def budget_stated(prompts: Prompts, budget: Budget) -> str:
    """The part of the system prompt that says what there is."""
    return prompts.render("budget", turns=str(budget.turns), calls=str(budget.calls))


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
    """Which part of the budget is spent, in words; None while some of each is left.

    The last model turn is reserved for the answer, so `turns` is spent one turn early.
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
