"""Older tool results as titles and verbatim spans, once a conversation's prompt is long.

What a request holds is a function of the messages and of how many results are compacted. So a run,
its resumption and its forks send the same bytes, and no step of the graph is needed: the turn that
makes the request decides, and writes the event.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool

from branchwise.agents.offline.words import sentences, stems
from branchwise.base.text import counted
from branchwise.graphs.extraction.materials import GAP, searched
from branchwise.graphs.messages import calls_made, with_omissions
from branchwise.graphs.reduce import SPANS_OF
from branchwise.graphs.state import AgentState
from branchwise.tools.registry import OPENING_TOOL
from branchwise.tools.result_text import block
from branchwise.trace.artifacts import Artifact
from branchwise.trace.events import Compacted

MOST_SENTENCES = 2
"""Of a passage."""
MOST_LINES, MOST_CHARS = 11, 1000
"""Of a result without passages: of rows the heading, which counts them, and the first ten."""
_BYTES_OF_A_TOKEN = 4
_COMPACTED = "compacted"


def due_compaction(
    state: AgentState, limit: int | None, tools: Iterable[BaseTool]
) -> Compacted | None:
    """The compaction that the next request needs: of the results of all turns but the last, which
    is pending. None where it has at most `limit` tokens, or nothing is left to compact. Tokens are
    those that the server counted for the last turn, and a quarter of the bytes that came since; of
    everything where it counts none."""
    if limit is None:
        return None
    messages = state["messages"]
    results = sum(isinstance(message, ToolMessage) for message in messages)
    newly = results - state.get("compacted", 0)
    if not newly:
        return None
    read = state.get("read", 0)
    new = [*(messages[-1:] if read else in_view(messages, state)), *state["pending"]]
    tokens = read + sum(len(message.text.encode()) for message in new) // _BYTES_OF_A_TOKEN
    if tokens <= limit:
        return None
    # All of them at once, and none before the limit is exceeded again: each change of older
    # messages makes the server read again what it has in its cache.
    reopens = any(tool.name == OPENING_TOOL for tool in tools)
    return Compacted(results=results, newly=newly, tokens=tokens, reopens=reopens)


def in_view(messages: Sequence[BaseMessage], state: AgentState) -> list[BaseMessage]:
    """A conversation as requests hold it: the oldest results compacted, or left out."""
    return with_omissions(with_compaction(messages, state), state.get("omitted", 0))


def with_compaction(messages: Sequence[BaseMessage], state: AgentState) -> list[BaseMessage]:
    """The conversation with as many of its oldest results compacted as the state says."""
    shown, reopens = list(messages), state.get("reopens", False)
    for place, result, sought in oldest_results(messages, state.get("compacted", 0)):
        # What was asked before a result does not change: its text is made once.
        kept = result.additional_kwargs
        if _COMPACTED not in kept:
            kept[_COMPACTED] = compacted_text(result, sought, reopens=reopens)
        if (text := kept[_COMPACTED]) != result.text:
            update = {"content": text, "additional_kwargs": {}}
            shown[place] = result.model_copy(update=update)
    return shown


def oldest_results(
    messages: Sequence[BaseMessage], count: int
) -> Iterator[tuple[int, ToolMessage, str]]:
    """The oldest results, so many: the place of each, and what was sought by it: the user's
    messages before it, and the texts of its call."""
    asked: list[str] = []
    calls: Iterator[Mapping[str, Any]] = iter(())
    for place, message in enumerate(messages if count else ()):
        if isinstance(message, HumanMessage):
            asked.append(message.text)
        elif isinstance(message, AIMessage):
            calls = iter(calls_made(message))
        elif isinstance(message, ToolMessage):
            call = next(calls, None)
            yield place, message, "\n".join([*asked, searched(call) if call else ""])
            count -= 1
            if not count:
                return


def compacted_text(result: ToolMessage, sought: str, *, reopens: bool) -> str:
    """A result compacted, or as it is where that is not longer. `sought`: the question and what
    the call searched for.

    A passage that stands whole keeps its line `[id] Title` and its `nearest_sentences`; one of
    which spans were extracted keeps them. A result without passages keeps its first whole lines.
    `reopens`: the agent has the tool that shows passages whole.
    """
    passages = Artifact(result.artifact or {}).passage_records
    if passages:
        spans_of = result.additional_kwargs.get(SPANS_OF, ())
        whole = [one for one in passages if str(one.get("id")) not in spans_of]
        short = _with_sentences(result.text, whole, stems(sought))
        again = (
            f"{OPENING_TOOL} shows a passage whole"
            if reopens
            else "search in other words for the rest"
        )
        note = f"[compacted to titles and sentences; {again}]"
    else:
        short = _first_lines(result.text)
        note = "[compacted to its first lines; call again for the rest]"
    text = f"{note}\n{short}"
    return text if len(text) < len(result.text) else result.text


def _with_sentences(
    text: str, passages: Iterable[Mapping[str, Any]], sought: Collection[str]
) -> str:
    short: dict[tuple[str, str], str] = {}
    for passage in passages:
        # A plug-in's may lack them.
        if {"id", "title", "text"} <= passage.keys():
            head, _, body = block(passage).partition("\n")
            short[head, body] = GAP.join(nearest_sentences(body, sought))
    lines = text.split("\n")
    then = (short.get(pair, pair[1]) for pair in pairwise(lines))
    return "\n".join([lines[0], *then])


def nearest_sentences(passage: str, sought: Collection[str]) -> list[str]:
    """The two sentences of a passage, in its order, that share most stems of content words
    with what is sought; of equal ones the earlier. None that shares nothing."""
    texts = sentences(passage)
    shared = [len(stems(text) & frozenset(sought)) for text in texts]
    best = sorted(range(len(texts)), key=lambda n: (-shared[n], n))[:MOST_SENTENCES]
    return [texts[n] for n in sorted(best) if shared[n]]


def _first_lines(text: str) -> str:
    """At most 11 whole lines and 1,000 characters, and how many lines are left out."""
    lines, room, kept = text.split("\n"), MOST_CHARS, 0
    for line in lines[:MOST_LINES]:
        room -= len(line) + 1
        if room < 0:
            break
        kept += 1
    left_out = [f"[left out: {counted(len(lines) - kept, 'line')}]"] if kept < len(lines) else []
    return "\n".join([*lines[:kept], *left_out])
