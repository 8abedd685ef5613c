"""The passages of tool results: what an extractor is told of them, what was extracted before.

A search asks for something else than earlier ones where it has a content word that the question,
its readings and the searches for which the passage was extracted lack. Content words are words in
lower case, whatever their case and possessive ending; words like "the" and "which" are none.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from branchwise.agents.offline.words import STOP_WORDS
from branchwise.base.text import one_line
from branchwise.graphs.messages import calls_of
from branchwise.graphs.state import AgentState, PassageExtract
from branchwise.tools.result_text import block
from branchwise.tools.tool_results import MAX_RESULT_CHARS
from branchwise.trace.artifacts import Artifact, ShownPassage
from branchwise.trace.events import Extraction

MAX_SEARCHED = 4000
"""Characters of a tool call's arguments that an extractor sees."""
GAP = " … "


@dataclass(frozen=True)
class Material:
    """A retrieved passage: title and text each on one line, the text at most 200,000 characters.
    `record`: the passage as the tool's artifact has it."""

    id: str
    title: str
    text: str
    record: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, passage: Mapping[str, Any]) -> "Material":
        text = one_line(str(passage["text"]))[:MAX_RESULT_CHARS].rstrip()
        return cls(str(passage["id"]), one_line(str(passage["title"])), text, passage)

    @cached_property
    def key(self) -> str:
        """The same for equal passages alone: ids may be anyone's."""
        whole = "\0".join((self.id, self.title, self.text)).encode("utf-8", "replace")
        return hashlib.blake2b(whole, digest_size=12).hexdigest()


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
    return [Material.of(passage) for passage in _artifact_of(message).passage_records]


def repeats_of(message: BaseMessage) -> list[ShownPassage]:
    """The passages that a tool's result names only."""
    return _artifact_of(message).repeats


def _artifact_of(message: BaseMessage) -> Artifact:
    return Artifact((message.artifact if isinstance(message, ToolMessage) else None) or {})


def searched(call: Mapping[str, Any], *, in_lists: bool = True) -> str:
    """The texts among a call's arguments; `in_lists`: also those of lists, as one call may ask
    several queries."""
    args = call["args"]
    texts: list[str] = []
    for value in args.values() if isinstance(args, Mapping) else [args]:
        parts = value if in_lists and isinstance(value, list | tuple) else [value]
        texts += [part for part in parts if isinstance(part, str)]
    return one_line("; ".join(texts))[:MAX_SEARCHED]


def asked_about(question: str, readings: Sequence[str], searches: Sequence[str]) -> list[str]:
    lines = [f"Question: {question}"]
    if readings:
        lines += ["Readings:", *(f"- {reading}" for reading in readings)]
    return [*lines, *(f"Searched for: {search}" for search in searches if search)]


def passage_message(question: str, readings: Sequence[str], search: str, material: Material) -> str:
    """The user message for one passage: question, readings, what was searched for, the passage.
    Each of them, the passage included, is on its own line, which it cannot break."""
    head = asked_about(question, readings, [search])
    return "\n".join([*head, f"Passage: {material.title}", material.text])


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
NOTHING_YET = PassageExtract()


def content_words(text: str) -> frozenset[str]:
    words = (word.casefold().replace("’", "'") for word in _WORD.findall(text))
    return frozenset(word.removesuffix("'s") for word in words) - STOP_WORDS


def asks_for_more(searches: Iterable[str], known: Collection[str], before: PassageExtract) -> bool:
    """Whether one of the searches asks for something else than those of `before`; `known`: the
    words of the question and its readings."""
    words = frozenset().union(*map(content_words, searches))
    return not words <= {*known, *before.words}


def asked_words(question: str, readings: Iterable[str]) -> frozenset[str]:
    """The content words of the question and its readings, for which every passage is read."""
    return content_words("\n".join([question, *readings]))


def extracts_after(extraction: Extraction, state: AgentState) -> Mapping[str, PassageExtract]:
    """What has been extracted of passages after this extraction. Failed ones are not."""
    extracts = dict(state.get("extracts") or {})
    for material, record in zip(
        materials_of(state["pending"][extraction.of]), extraction.passages, strict=False
    ):
        if material.id == record.id and record.how != "failed":
            before = extracts.get(material.key, NOTHING_YET)
            words = content_words("\n".join(_searches_for(state, extraction.of, record.id)))
            is_new = record.spans and not record.reused
            spans = (*before.spans, record.spans) if is_new else before.spans
            extracts[material.key] = PassageExtract(tuple(sorted({*before.words, *words})), spans)
    return extracts


def _searches_for(state: AgentState, of: int, id: str) -> list[str]:
    """The search of a turn's call, and those behind it that found a passage of it once more."""
    last = state["messages"][-1] if state["messages"] else None
    calls = calls_of(state) if isinstance(last, AIMessage) else []
    return [
        searched(call)
        for n, (call, message) in enumerate(zip(calls, state["pending"], strict=False))
        if n == of or (n > of and id in (repeat.id for repeat in repeats_of(message)))
    ]


def stands_in(results: Iterable[str], material: Material, text: str) -> bool:
    """Whether the results show this text of the passage, under its title."""
    shown = block({**material.record, "text": text})
    return any(shown in result for result in results)


def has_before_it(
    results: Collection[str], material: Material, spans: Sequence[str], before: PassageExtract
) -> bool:
    """Whether the results show the spans of a passage, together or in the texts of several earlier
    extractions."""
    if stands_in(results, material, GAP.join(spans)):
        return True
    texts = [t for t in map(GAP.join, before.spans) if stands_in(results, material, t)]
    return bool(spans) and all(any(span in text for text in texts) for span in spans)


def all_spans(before: PassageExtract, passage: str) -> tuple[str, ...]:
    """The spans of all extractions in the order of the passage, none within another."""
    spans: Sequence[str] = sorted(
        {span for spans in before.spans for span in spans},
        key=lambda span: (passage.find(span), -len(span)),
    )
    return tuple(
        span for span in spans if not any(span in other for other in spans if other != span)
    )
