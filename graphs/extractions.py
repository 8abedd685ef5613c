"""What an extractor reads of a passage, and what agent and trace get of its reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.corpora.text import one_line
from branchwise.graphs.module_call import Said
from branchwise.graphs.spans import Spans, read_spans
from branchwise.graphs.tool_node import bounded
from branchwise.tools.plugins.results import MAX_RESULT_CHARS
from branchwise.trace.parts import Extracted

MAX_SEARCHED = 4000
"""Characters of a tool call's arguments that an extractor sees."""
GAP = " … "


@dataclass(frozen=True)
class Material:
    """A retrieved passage: title and text each on one line, the text at most 200,000 characters."""

    id: str
    title: str
    text: str

    @classmethod
    def of(cls, passage: Mapping[str, Any]) -> "Material":
        """From a passage of a tool's artifact."""
        text = one_line(str(passage["text"]))[:MAX_RESULT_CHARS].rstrip()
        return cls(str(passage["id"]), one_line(str(passage["title"])), text)


@dataclass(frozen=True)
class PassageSpans:
    """The result for a passage. If the call failed, the agent sees the passage whole."""

    material: Material
    said: Said
    spans: Spans

    @classmethod
    def of(cls, material: Material, said: Said) -> "PassageSpans":
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


def extraction_message(
    question: str, readings: Sequence[str], call: Mapping[str, Any], material: Material
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


def shown_extractions(extractions: Sequence[PassageSpans]) -> str:
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
