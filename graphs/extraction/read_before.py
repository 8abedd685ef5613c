"""Which passages the calls of a turn need not bring again, since they were extracted."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from branchwise.graphs.context_window import with_omissions
from branchwise.graphs.extraction.earlier import (
    all_spans,
    asked_words,
    asks_for_more,
    has_before_it,
)
from branchwise.graphs.extraction.materials import Material, materials_of, searched_all
from branchwise.graphs.messages import calls_of
from branchwise.graphs.state import AgentState, PassageExtract
from branchwise.trace.artifacts import Artifact


class ReadBefore:
    """`KnownPassages` where passages are extracted: those that were read for what a call asks.

    Nothing was found in them, or the agent has before it what was. What the calls before bring in
    the same turn is read for all its searches.
    """

    def before(self, state: AgentState, question: str) -> list[frozenset[str]]:
        known = asked_words(question, state.get("readings", ()))
        read = list(_read(state))
        searches = map(searched_all, calls_of(state))
        return [
            frozenset(id for id, of in read if not asks_for_more([search], known, of))
            for search in searches
        ]

    def brought(self, content: str, artifact: Mapping[str, Any]) -> Iterable[str]:
        return (passage.id for passage in Artifact(artifact).passages)


def _read(state: AgentState) -> Iterator[tuple[str, PassageExtract]]:
    """By their ids, the passages of the conversation that need not be shown again."""
    extracts = state.get("extracts") or {}
    found: dict[str, tuple[Material, list[str]]] = {}
    for message in with_omissions(state["messages"], state.get("omitted", 0)):
        for material in materials_of(message):
            results = found.setdefault(material.key, (material, []))[1]
            results.append(message.text)
    for key, (material, results) in found.items():
        if (before := extracts.get(key)) is not None:
            spans = all_spans(before, material.text)
            if not spans or has_before_it(results, material, spans, before):
                yield material.id, before
