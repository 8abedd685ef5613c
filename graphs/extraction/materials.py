"""The passages of a turn's tool results, and what an extractor is told of them."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from branchwise.base.text import one_line
from branchwise.graphs.messages import calls_of
from branchwise.graphs.state import AgentState
from branchwise.tools.tool_results import MAX_RESULT_CHARS
from branchwise.trace.artifacts import Artifact, ShownPassage

MAX_SEARCHED = 4000
"""Characters of a tool call's arguments that an extractor sees."""
GAP = " … "


@dataclass(frozen=True)
class Material:
    """A retrieved passage: title and text each on one line, the text at most 200,000 characters.

    `record`: the passage as the tool's artifact has it.
    """

    id: str
    title: str
    text: str
    record: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, passage: Mapping[str, Any]) -> "Material":
        """From a passage of a tool's artifact."""
        text = one_line(str(passage["text"]))[:MAX_RESULT_CHARS].rstrip()
        return cls(str(passage["id"]), one_line(str(passage["title"])), text, passage)

    @cached_property
    def key(self) -> str:
        """The same for equal passages alone: ids may be anyone's."""
        said = "\0".join((self.id, self.title, self.text)).encode("utf-8", "replace")
        return hashlib.blake2b(said, digest_size=12).hexdigest()


@dataclass(frozen=True)
class PassageResult:
    """A tool result with passages: its place among the turn's calls, its call, and what it names
    only, since it is known."""

    of: int
    call: Mapping[str, Any]
    materials: Sequence[Material]
    repeats: Sequence[ShownPassage] = ()


def passage_results(state: AgentState) -> Iterator[PassageResult]:
    """The turn's tool results that hold passages, or name some."""
    for of, (call, message) in enumerate(zip(calls_of(state), state["pending"], strict=True)):
        materials, repeats = materials_of(message), repeats_of(message)
        if materials or repeats:
            yield PassageResult(of, call, materials, repeats)


def materials_of(message: BaseMessage) -> list[Material]:
    """The passages of a tool's result."""
    return [Material.of(passage) for passage in _artifact_of(message).passage_records]


def repeats_of(message: BaseMessage) -> list[ShownPassage]:
    """The passages that a tool's result names only."""
    return _artifact_of(message).repeats


def _artifact_of(message: BaseMessage) -> Artifact:
    return Artifact((message.artifact if isinstance(message, ToolMessage) else None) or {})


def searched(call: Mapping[str, Any]) -> str:
    """The texts among a call's arguments."""
    return _joined(value for value in _values(call) if isinstance(value, str))


def searched_all(call: Mapping[str, Any]) -> str:
    """The same with the texts of lists: one call may ask several queries."""
    return _joined(
        text
        for value in _values(call)
        for text in (value if isinstance(value, list | tuple) else [value])
        if isinstance(text, str)
    )


def _values(call: Mapping[str, Any]) -> Iterable[Any]:
    args = call["args"]
    return args.values() if isinstance(args, Mapping) else [args]


def _joined(texts: Iterable[str]) -> str:
    return one_line("; ".join(texts))[:MAX_SEARCHED]


def asked_about(question: str, readings: Sequence[str], searches: Sequence[str]) -> list[str]:
    """The head of an extractor's user message, each part on lines of its own."""
    lines = [f"Question: {question}"]
    if readings:
        lines += ["Readings:", *(f"- {reading}" for reading in readings)]
    return [*lines, *(f"Searched for: {search}" for search in searches if search)]


def passage_message(question: str, readings: Sequence[str], search: str, material: Material) -> str:
    """The user message for one passage: question, readings, what was searched for, the passage.

    Each of them, the passage included, is on its own line, which it cannot break.
    """
    head = asked_about(question, readings, [search])
    return "\n".join([*head, f"Passage: {material.title}", material.text])
