"""Evidence extraction: of each retrieved passage the agent sees what a model copied out of it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller, ModelError
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.extractions import (
    Extraction,
    Material,
    extraction_message,
    shown_extractions,
)
from branchwise.graphs.ledger import EXTRACTOR
from branchwise.graphs.module_call import Said, ask_module
from branchwise.graphs.state import AgentState, ItemContext, Node

MAX_AT_ONCE = 32
"""Extraction calls of one item at the same time."""


@dataclass(frozen=True)
class _Result:
    """A tool result with passages: its place among the turn's calls, and its call."""

    of: int
    call: Mapping[str, Any]
    materials: Sequence[Material]


def make_extract_node(caller: ModelCaller, prompts: Prompts) -> Node:
    """The node `extract`: tool results with passages become what was copied out of these.

    The extractor is asked about each passage on its own, about all of a turn concurrently. A
    passage whose call failed is shown whole.
    """
    system = prompts.render("extractor")

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> dict[str, Any]:
        context, results = runtime.context, list(_results(state))
        readings = state.get("readings", ())
        asked = [
            (material, extraction_message(context.question, readings, result.call, material))
            for result in results
            for material in result.materials
        ]
        said = await _ask_all(caller, system, [message for _, message in asked], context)
        # They wait at the same time: no longer, all together, than the one that waited longest.
        context.waited += max((one.waited for one in said), default=0.0)
        extractions = [Extraction.of(m, s) for (m, _), s in zip(asked, said, strict=True)]
        pending, spent = list(state["pending"]), state["spent"]
        read = iter(extractions)
        for result in results:
            own = [next(read) for _ in result.materials]
            content = _record(result, own, context)
            pending[result.of] = pending[result.of].model_copy(update={"content": content})
        for extraction in extractions:
            spent = spent.plus(usage=extraction.said.usage)
        return {"pending": pending, "spent": spent}

    return extract


def _results(state: AgentState) -> Iterator[_Result]:
    """The turn's tool results that hold passages."""
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    calls: list[Mapping[str, Any]] = [*last.tool_calls, *last.invalid_tool_calls]
    for of, (call, message) in enumerate(zip(calls, state["pending"], strict=True)):
        artifact = message.artifact if isinstance(message, ToolMessage) else None
        if passages := (artifact or {}).get("passages"):
            yield _Result(of, call, [Material.of(passage) for passage in passages])


async def _ask_all(
    caller: ModelCaller, system: str, messages: Sequence[str], context: ItemContext
) -> list[Said]:
    """What the extractor says to each message, in their order.

    After an error that every call would meet no other is begun; those on their way are waited
    for, because what they bring is recorded and paid for.
    """
    said: dict[int, Said] = {}
    errors: list[ModelError] = []
    waiting = iter(enumerate(messages))

    async def work() -> None:
        # A message is asked in the step that takes it, so the journal's slots are in the order of
        # the messages however fast the replies come, and a replay finds its own.
        for number, message in waiting:
            try:
                said[number] = await ask_module(caller, EXTRACTOR, system, message, context)
            except ModelError as error:
                errors.append(error)
            if errors:
                return

    await asyncio.gather(*(work() for _ in range(min(MAX_AT_ONCE, len(messages)))))
    if errors:
        raise errors[0]
    return [said[number] for number in range(len(messages))]


def _record(result: _Result, extractions: Sequence[Extraction], context: ItemContext) -> str:
    """Write the extraction of one tool call into the trace; returns what the agent sees."""
    content = shown_extractions(extractions)
    context.event(
        "extraction",
        call={"id": result.call["id"], "name": result.call["name"]},
        of=result.of,
        passages=[extraction.record() for extraction in extractions],
        content=content,
    )
    return content
