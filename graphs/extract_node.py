"""Evidence extraction: the agent sees what a model copied out of each retrieved passage."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller, ModelError
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.extractions import (
    Material,
    PassageSpans,
    extraction_message,
    shown_extractions,
)
from branchwise.graphs.ledger import EXTRACTOR
from branchwise.graphs.messages import calls_of
from branchwise.graphs.module_call import Said, ask_module
from branchwise.graphs.reduce import Change, extracted, folded
from branchwise.graphs.state import AgentState, ItemContext, Node
from branchwise.trace.events import Extraction
from branchwise.trace.parts import Call

MAX_AT_ONCE = 32
"""Concurrent extraction calls of one item."""


@dataclass(frozen=True)
class _Result:
    """A tool result with passages: its place among the turn's calls, and its call."""

    of: int
    call: Mapping[str, Any]
    materials: Sequence[Material]


def make_extract_node(caller: ModelCaller, prompts: Prompts) -> Node:
    """The node `extract`: tool results with passages become what was copied out of them.

    The extractor reads each passage in its own call; the calls of a turn are concurrent. A passage
    whose call failed is shown whole.
    """
    system = prompts.render("extractor")

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> Change:
        context, results = runtime.context, list(_results(state))
        readings = state.get("readings", ())
        asked = [
            (material, extraction_message(context.question, readings, result.call, material))
            for result in results
            for material in result.materials
        ]
        said = await _ask_all(caller, system, [message for _, message in asked], context)
        # They wait concurrently: together no longer than the one that waited longest.
        context.waited += max((one.waited for one in said), default=0.0)
        read = iter([PassageSpans.of(m, s) for (m, _), s in zip(asked, said, strict=True)])
        change = Change()
        for result in results:
            extraction = _extraction(result, [next(read) for _ in result.materials])
            context.event(extraction)
            change = extracted(extraction, folded(state, change))
        return change

    return extract


def _results(state: AgentState) -> Iterator[_Result]:
    """The turn's tool results that hold passages."""
    for of, (call, message) in enumerate(zip(calls_of(state), state["pending"], strict=True)):
        artifact = message.artifact if isinstance(message, ToolMessage) else None
        if passages := (artifact or {}).get("passages"):
            yield _Result(of, call, [Material.of(passage) for passage in passages])


async def _ask_all(
    caller: ModelCaller, system: str, messages: Sequence[str], context: ItemContext
) -> list[Said]:
    """The extractor's replies to the messages, in order.

    After an error that every call would meet, no further call starts; calls in flight are awaited,
    because their replies are recorded and paid for.
    """
    said: dict[int, Said] = {}
    errors: list[ModelError] = []
    waiting = iter(enumerate(messages))

    async def work() -> None:
        # A message is sent in the step that takes it, so the journal's slots are in the order of
        # the messages, however fast the replies come, and a replay finds its own.
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


def _extraction(result: _Result, read: Sequence[PassageSpans]) -> Extraction:
    """Of one tool call."""
    return Extraction(
        call=Call(result.call["id"], result.call["name"]),
        of=result.of,
        passages=tuple(one.event for one in read),
        content=shown_extractions(read),
    )
