"""Evidence extraction: the agent sees what a model copied out of each retrieved passage."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller, ModelError
from branchwise.agents.prompt_files import Prompts
from branchwise.corpora.text import one_line
from branchwise.graphs.ledger import EXTRACTOR
from branchwise.graphs.messages import calls_of
from branchwise.graphs.module_call import ModuleReply, ask_module
from branchwise.graphs.reduce import StateUpdate, extracted, folded
from branchwise.graphs.spans import Spans, read_spans
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.graphs.tool_node import bounded
from branchwise.tools.plugins.results import MAX_RESULT_CHARS
from branchwise.trace.events import Extraction
from branchwise.trace.parts import Call, Extracted

MAX_SEARCHED = 4000
"""Characters of a tool call's arguments that an extractor sees."""
GAP = " … "


@dataclass(frozen=True)
class _Material:
    """A retrieved passage: title and text each on one line, the text at most 200,000 characters."""

    id: str
    title: str
    text: str

    @classmethod
    def of(cls, passage: Mapping[str, Any]) -> "_Material":
        """From a passage of a tool's artifact."""
        text = one_line(str(passage["text"]))[:MAX_RESULT_CHARS].rstrip()
        return cls(str(passage["id"]), one_line(str(passage["title"])), text)


@dataclass(frozen=True)
class _PassageSpans:
    """The result for a passage. If the call failed, the agent sees the passage whole."""

    material: _Material
    said: ModuleReply
    spans: Spans

    @classmethod
    def of(cls, material: _Material, said: ModuleReply) -> "_PassageSpans":
        """Read what an extractor said about `material`."""
        return cls(material, said, Spans() if said.error else read_spans(said.text, material.text))

    @property
    def how(self) -> str:
        """`spans`, `none` or `failed`."""
        if self.said.error:
            return "failed"
        return "spans" if self.spans.kept else "none"

    @property
    def shown(self) -> str | None:
        """What the agent sees of it; None if nothing."""
        text = self.material.text if self.said.error else GAP.join(self.spans.kept)
        head = f"[{self.material.id}] {self.material.title}"
        return f"{head}\n{text}" if text or self.said.error else None

    @property
    def event(self) -> Extracted:
        """As the trace keeps it."""
        return Extracted(
            id=self.material.id,
            spans=tuple(self.spans.kept),
            dropped=self.spans.dropped,
            how=self.how,
            whole=self.spans.whole,
            **self.said.facts,
        )


def _extraction_message(
    question: str, readings: Sequence[str], call: Mapping[str, Any], material: _Material
) -> str:
    """The extractor's user message: question, readings, what was searched for, the passage.

    Each of them, the passage included, is on its own line, which it cannot break.
    """
    lines = [f"Question: {question}"]
    if readings:
        lines += ["Readings:", *(f"- {reading}" for reading in readings)]
    if searched := _searched(call):
        lines.append(f"Searched for: {searched}")
    return "\n".join([*lines, f"Passage: {material.title}", material.text])


def _shown_extractions(extractions: Sequence[_PassageSpans]) -> str:
    """The tool result that the agent sees; the last line says how many passages are left out."""
    blocks = [shown for extraction in extractions if (shown := extraction.shown) is not None]
    if missing := len(extractions) - len(blocks):
        passages = "1 passage" if missing == 1 else f"{missing} passages"
        blocks.append(f"[left out: {passages} without anything that helps]")
    return bounded("\n\n".join(blocks))


def _searched(call: Mapping[str, Any]) -> str:
    args = call["args"]
    values = args.values() if isinstance(args, Mapping) else [args]
    return one_line("; ".join(v for v in values if isinstance(v, str)))[:MAX_SEARCHED]


MAX_AT_ONCE = 32
"""Concurrent extraction calls of one item."""


@dataclass(frozen=True)
class _Result:
    """A tool result with passages: its place among the turn's calls, and its call."""

    of: int
    call: Mapping[str, Any]
    materials: Sequence[_Material]


def make_extract_node(caller: ModelCaller, prompts: Prompts) -> GraphNode:
    """The node `extract`: tool results with passages become what was copied out of them.

    The extractor reads each passage in its own call; the calls of a turn are concurrent. A passage
    whose call failed is shown whole.
    """
    system = prompts.render("extractor")

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, results = runtime.context, list(_results(state))
        readings = state.get("readings", ())
        asked = [
            (material, _extraction_message(context.question, readings, result.call, material))
            for result in results
            for material in result.materials
        ]
        said = await _ask_all(caller, system, [message for _, message in asked], context)
        # They wait concurrently: together no longer than the one that waited longest.
        context.waited += max((one.waited for one in said), default=0.0)
        read = iter([_PassageSpans.of(m, s) for (m, _), s in zip(asked, said, strict=True)])
        change = StateUpdate()
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
            yield _Result(of, call, [_Material.of(passage) for passage in passages])


async def _ask_all(
    caller: ModelCaller, system: str, messages: Sequence[str], context: ItemContext
) -> list[ModuleReply]:
    """The extractor's replies to the messages, in order.

    After an error that every call would meet, no further call starts; calls in flight are awaited,
    because their replies are recorded and paid for.
    """
    said: dict[int, ModuleReply] = {}
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


def _extraction(result: _Result, read: Sequence[_PassageSpans]) -> Extraction:
    """Of one tool call."""
    return Extraction(
        call=Call(result.call["id"], result.call["name"]),
        of=result.of,
        passages=tuple(one.event for one in read),
        content=_shown_extractions(read),
    )
