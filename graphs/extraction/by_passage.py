"""Extraction with one request for each passage of each result: the paper's way."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.extraction.asking import ask_all
from branchwise.graphs.extraction.materials import (
    GAP,
    Material,
    PassageResult,
    passage_message,
    passage_results,
    searched,
)
from branchwise.graphs.extraction.spans import Spans, read_spans
from branchwise.graphs.module_call import ModuleReply
from branchwise.graphs.reduce import StateUpdate, extracted, folded
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.graphs.tool_node import bounded
from branchwise.trace.events import Extraction
from branchwise.trace.parts import Call, Extracted


@dataclass(frozen=True)
class _PassageSpans:
    """The result for a passage. If the call failed, the agent sees the passage whole."""

    material: Material
    said: ModuleReply
    spans: Spans

    @classmethod
    def of(cls, material: Material, said: ModuleReply) -> "_PassageSpans":
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


def _shown_extractions(extractions: Sequence[_PassageSpans]) -> str:
    """The tool result that the agent sees; the last line says how many passages are left out."""
    blocks = [shown for extraction in extractions if (shown := extraction.shown) is not None]
    if missing := len(extractions) - len(blocks):
        passages = "1 passage" if missing == 1 else f"{missing} passages"
        blocks.append(f"[left out: {passages} without anything that helps]")
    return bounded("\n\n".join(blocks))


def make_extract_by_passage_node(caller: ModelCaller, prompts: Prompts) -> GraphNode:
    """The node `extract`: tool results with passages become what was copied out of them.

    The extractor reads each passage in its own call; the calls of a turn are concurrent. A passage
    whose call failed is shown whole.
    """
    system = prompts.render("extractor")

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        results = [result for result in passage_results(state) if result.materials]
        readings = state.get("readings", ())
        asked = [
            (material, passage_message(context.question, readings, search, material))
            for result in results
            for search in [searched(result.call)]
            for material in result.materials
        ]
        said = await ask_all(caller, [(system, message) for _, message in asked], context)
        read = iter([_PassageSpans.of(m, s) for (m, _), s in zip(asked, said, strict=True)])
        change = StateUpdate()
        for result in results:
            extraction = _extraction(result, [next(read) for _ in result.materials])
            context.event(extraction)
            change = extracted(extraction, folded(state, change))
        return change

    return extract


def _extraction(result: PassageResult, read: Sequence[_PassageSpans]) -> Extraction:
    """Of one tool call."""
    return Extraction(
        call=Call(result.call["id"], result.call["name"]),
        of=result.of,
        passages=tuple(one.event for one in read),
        content=_shown_extractions(read),
    )
