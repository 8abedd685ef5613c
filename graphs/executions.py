"""A trace as what the nodes of the graph did: which events one run of a node left behind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from branchwise.graphs.plugins.slots import graph_name

_NODES: Mapping[str, str] = {
    "start": "start",
    "expansion": "expand",
    "tool": "tools",
    "extraction": "extract",
    "repair": "answer",
    "repair_failed": "answer",
    "answer": "answer",
    "error": "error",
}
_LASTING = ("tools", "extract", "answer")
"""Nodes that may write several of the events that tell them."""


class RecordedEvent(Protocol):
    """What is read of a recorded event; `eval.store.Event` is one."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Execution:
    """One run of a node: `events[first:end]` of the trace. `start` and `error` are no nodes."""

    node: str
    first: int
    end: int


def node_of(event: RecordedEvent) -> str | None:
    """Who wrote an event. None: it belongs to what follows it.

    Retries, a note of the budget and whatever nodes of later versions write stand before the event
    that tells whose they are.
    """
    if event.kind == "model":
        return "answer" if event.data.get("role") == "repair" else "agent"
    if event.kind == "node":
        return graph_name(str(event.data.get("name")))
    return _NODES.get(event.kind)


def executions(events: Sequence[RecordedEvent]) -> list[Execution]:
    """The executions of a trace, in order; together they hold every event.

    What ended in an error is one with it. What follows the last of them belongs to it.
    """
    found: list[Execution] = []
    reached = 0
    for n, event in enumerate(events):
        node = node_of(event)
        if node is None:
            continue
        last = found[-1] if found else None
        if last and _goes_on(events, last, node):
            found[-1] = Execution(last.node, last.first, n + 1)
        else:
            found.append(Execution(node, reached, n + 1))
        reached = n + 1
    if reached < len(events) and found:
        found[-1] = Execution(found[-1].node, found[-1].first, len(events))
    return found


def _goes_on(events: Sequence[RecordedEvent], last: Execution, node: str) -> bool:
    if node != "error":
        return node == last.node and node in _LASTING
    own = events[last.first : last.end]
    if last.node == "answer":
        return own[-1].kind != "answer"
    return last.node == "tools" and _results(own) < _calls(events[: last.first])


def _results(events: Sequence[RecordedEvent]) -> int:
    return sum(event.kind == "tool" for event in events)


def _calls(events: Sequence[RecordedEvent]) -> int:
    """How many calls the last turn before made."""
    turn = next((e for e in reversed(events) if node_of(e) == "agent"), None)
    return len(recorded_calls(turn.data)) if turn else 0


def recorded_calls(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of a recorded turn in their order."""
    return [*data["tool_calls"], *data["invalid_tool_calls"]]


def taken_up_at(events: Sequence[RecordedEvent], place: int) -> int:
    """How many first events are left as they were where the one at `place` is made again.

    The whole execution is made again; of a turn's tool calls, those that ended before stay.
    """
    execution = next(e for e in executions(events) if e.first <= place < e.end)
    if execution.node != "tools":
        return execution.first
    ends = list(_ends_of_results(events, execution))
    if not ends or place >= ends[-1]:
        return execution.first
    return max((end for end in ends if end <= place), default=execution.first)


def _ends_of_results(events: Sequence[RecordedEvent], execution: Execution) -> Iterator[int]:
    for n in range(execution.first, execution.end):
        if events[n].kind == "tool":
            yield n + 1
