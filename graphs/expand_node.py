"""Query expansion: the question's readings, written by one model call, go into the prompt."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.ledger import EXPANDER
from branchwise.graphs.module_call import ask_module
from branchwise.graphs.readings import Readings, read_readings
from branchwise.graphs.state import AgentState, ItemContext, Node


def make_expand_node(caller: ModelCaller, prompts: Prompts, readings_prompt: str) -> Node:
    """The node `expand`: the first user message gets the readings at its end.

    `readings_prompt` names the prompt file that presents them. Where there are fewer than two, or
    the call failed, the question is asked as it stands.
    """

    async def expand(state: AgentState, runtime: Runtime[ItemContext]) -> dict[str, Any]:
        context = runtime.context
        system = prompts.render("expander")
        said = await ask_module(caller, EXPANDER, system, context.question, context)
        context.waited += said.waited
        found = Readings() if said.error else read_readings(said.text)
        nothing = "failed" if said.error else "none"
        context.event(
            "expansion",
            question=context.question,
            readings=list(found.kept),
            dropped=[asdict(dropped) for dropped in found.dropped],
            how="readings" if found.kept else nothing,
            text=said.text,
            **said.record(),
        )
        update: dict[str, Any] = {"spent": state["spent"].plus(usage=said.usage)}
        if found.kept:
            shown = shown_readings(prompts, readings_prompt, found.kept)
            update |= {
                "pending": with_readings(state["pending"], shown),
                "readings": found.kept,
            }
        return update

    return expand


def shown_readings(prompts: Prompts, readings_prompt: str, readings: Sequence[str]) -> str:
    """The readings as the agent is shown them."""
    listed = "\n".join(f"- {reading}" for reading in readings)
    return prompts.render(readings_prompt, readings=listed)


def with_readings(messages: Sequence[BaseMessage], shown: str) -> list[BaseMessage]:
    """The user message, which is the last, with the readings behind it.

    One message: several servers refuse two of the user in a row.
    """
    *before, question = messages
    return [*before, HumanMessage(f"{question.text}\n\n{shown}")]
