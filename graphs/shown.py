"""Which passages a search need not bring whole, for the tool calls of a turn in their order."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from langchain_core.messages import ToolMessage

from branchwise.corpora.retrieval import MAX_K
from branchwise.graphs.compaction import in_view, oldest_results, with_compaction
from branchwise.graphs.extraction.materials import (
    Material,
    all_spans,
    asked_words,
    asks_for_more,
    content_words,
    has_before_it,
    materials_of,
    searched,
)
from branchwise.graphs.messages import calls_of
from branchwise.graphs.state import AgentState, PassageExtract
from branchwise.tools.registry import SEARCH_TOOL
from branchwise.tools.result_text import shown_whole
from branchwise.trace.artifacts import Artifact
from branchwise.trace.records import mapping

_SHOWN = "shown"


class KnownPassages(Protocol):
    """What makes a passage known, so that it is named and the next one takes its place."""

    def before(self, state: AgentState, question: str) -> Sequence[Collection[str]]:
        """For each call of the turn, ids of the passages that are known from earlier turns."""
        ...

    def brought(self, content: str, artifact: Mapping[str, Any]) -> Iterable[str]:
        """Ids of the passages that are known to the turn's later calls by the result of one."""
        ...


class ShownWhole:
    """`KnownPassages`: those that stand whole in the conversation as requests hold it. What was
    cut, left out by a plug-in or to fit the context window is not among them; what was compacted
    is for a search alone that has no content word besides those for which it was."""

    def before(self, state: AgentState, question: str) -> Sequence[Collection[str]]:
        before, omitted = state["messages"], state.get("omitted", 0)
        results = [m for m in with_compaction(before, state) if isinstance(m, ToolMessage)]
        shown = frozenset[str]().union(*map(self._of, results[omitted:]))
        compacted = list(oldest_results(before, state.get("compacted", 0)))[omitted:]
        near = [(self._of(result), content_words(sought)) for _, result, sought in compacted]
        return [
            shown.union(*(ids for ids, words in near if _is_answered(call, words)))
            for call in calls_of(state)
        ]

    def brought(self, content: str, artifact: Mapping[str, Any]) -> Iterable[str]:
        return shown_whole(content, Artifact(artifact).passage_records)

    def _of(self, result: ToolMessage) -> Collection[str]:
        """Kept with the result, which changes no more: every turn looks at all of them."""
        kept: dict[str, list[str]] = result.additional_kwargs
        if _SHOWN not in kept:
            kept[_SHOWN] = list(self.brought(result.text, mapping(result.artifact)))
        return kept[_SHOWN]


def _is_answered(call: Mapping[str, Any], words: frozenset[str]) -> bool:
    """Whether sentences that were kept for these words are those that a call would have kept."""
    return call["name"] == SEARCH_TOOL and content_words(searched(call)) <= words


class TurnPassages:
    """The passages that each call of a turn finds known: by earlier turns and the calls before."""

    def __init__(self, known: KnownPassages, state: AgentState, question: str) -> None:
        self._known = known
        self.before = known.before(state, question)
        self._brought: list[Collection[str]] = [()] * len(self.before)
        self._ended = [asyncio.Event() for _ in self.before]

    def end(self, of: int, content: str = "", artifact: Mapping[str, Any] | None = None) -> None:
        """Call number `of` has ended with this result; what is said of it later is ignored."""
        if self._ended[of].is_set():
            return
        # Nothing waits for the last call: most turns make one, which is read in the next turn.
        if of + 1 < len(self._ended):
            self._brought[of] = list(self._known.brought(content, artifact or {}))
        self._ended[of].set()

    def at(self, of: int) -> "CallPassages":
        # What the calls before it bring is not known yet.
        return CallPassages(MAX_K if of else len(self.before[0]), partial(self._until, of))

    async def _until(self, of: int) -> frozenset[str]:
        """What is known to call number `of`, once the calls before it have ended."""
        for ended in self._ended[:of]:
            await ended.wait()
        return frozenset(self.before[of]).union(*self._brought[:of])


@dataclass(frozen=True)
class CallPassages:
    """`ShownPassages` for one call of a turn."""

    most: int
    ids: Callable[[], Coroutine[Any, Any, Collection[str]]]


class ReadBefore:
    """`KnownPassages` where passages are extracted: those that were read for what a call asks.
    Nothing was found in them, or the agent has before it what was. What the calls before bring in
    the same turn is read for all its searches."""

    def before(self, state: AgentState, question: str) -> list[frozenset[str]]:
        known = asked_words(question, state.get("readings", ()))
        read = list(_read(state))
        return [
            frozenset(id for id, of in read if not asks_for_more([searched(call)], known, of))
            for call in calls_of(state)
        ]

    def brought(self, content: str, artifact: Mapping[str, Any]) -> Iterable[str]:
        return (passage.id for passage in Artifact(artifact).passages)


def _read(state: AgentState) -> Iterator[tuple[str, PassageExtract]]:
    """By their ids, the passages of the conversation that need not be shown again."""
    extracts = state.get("extracts") or {}
    materials: dict[str, Material] = {}
    results: dict[str, list[str]] = defaultdict(list)
    for message in in_view(state["messages"], state):
        for material in materials_of(message):
            results[materials.setdefault(material.key, material).key].append(message.text)
    for key, material in materials.items():
        if before := extracts.get(key):
            spans = all_spans(before, material.text)
            if not spans or has_before_it(results[key], material, spans, before):
                yield material.id, before
