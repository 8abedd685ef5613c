"""What was extracted of a passage before, and whether a search asks for something else of it.

A search asks for something else where it has a content word that the question, its readings and the
searches for which the passage was extracted lack. Content words are words in lower case, whatever
their case and possessive ending; words like "the" and "which" are none.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage, ToolMessage

from branchwise.agents.offline.words import STOP_WORDS
from branchwise.graphs.context_window import with_omissions
from branchwise.graphs.extraction.materials import (
    GAP,
    Material,
    materials_of,
    repeats_of,
    searched_all,
)
from branchwise.graphs.messages import calls_of
from branchwise.graphs.state import AgentState, PassageExtract
from branchwise.tools.result_text import block
from branchwise.trace.events import Extraction
from branchwise.trace.parts import Extracted

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEW = PassageExtract()


def content_words(text: str) -> frozenset[str]:
    """The words that say what is asked for."""
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
            words = content_words("\n".join(_searches_for(state, extraction.of, record.id)))
            extracts[material.key] = _with(extracts.get(material.key, _NEW), words, record)
    return extracts


def _searches_for(state: AgentState, of: int, id: str) -> list[str]:
    """The search of a turn's call, and those behind it that found a passage of it once more."""
    last = state["messages"][-1] if state["messages"] else None
    calls = calls_of(state) if isinstance(last, AIMessage) else []
    return [
        searched_all(call)
        for n, (call, message) in enumerate(zip(calls, state["pending"], strict=False))
        if n == of or (n > of and id in (one.id for one in repeats_of(message)))
    ]


def _with(before: PassageExtract, words: frozenset[str], record: Extracted) -> PassageExtract:
    spans = before.spans
    if record.spans and not record.reused:
        spans = (*spans, record.spans)
    return PassageExtract(tuple(sorted({*before.words, *words})), spans)


def results_in_view(state: AgentState) -> list[str]:
    """Tool results as requests hold them: some may be left out to fit the context window."""
    messages = with_omissions(state["messages"], state.get("omitted", 0))
    return [message.text for message in messages if isinstance(message, ToolMessage)]


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
    seen = in_view(results, material, before)
    return bool(spans) and all(any(span in one for one in seen) for span in spans)


def in_view(results: Collection[str], material: Material, before: PassageExtract) -> list[str]:
    """The texts of earlier extractions of a passage that the results show."""
    texts = map(GAP.join, before.spans)
    return [text for text in texts if stands_in(results, material, text)]


def all_spans(before: PassageExtract, passage: str) -> tuple[str, ...]:
    """The spans of all extractions in the order of the passage, none within another."""
    spans: Sequence[str] = sorted(
        {span for spans in before.spans for span in spans},
        key=lambda span: (passage.find(span), -len(span)),
    )
    found: list[str] = []
    for span in spans:
        if not any(span in other for other in spans if other != span):
            found.append(span)
    return tuple(found)
