"""A trace as what the nodes of the graph did: which events one run of a node left behind."""

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.trace.events import AnswerRead, Event, Model, Tool

_LASTING = ("tools", "extract", "answer")
"""Nodes that may write several of the events that tell them."""


@dataclass(frozen=True)
class Execution:
    """One run of a node: `events[first:end]` of the trace. `start` and `error` are not nodes."""

    node: str
    first: int
    end: int


def executions(events: Sequence[Event]) -> list[Execution]:
    """The executions of a trace, in order; together they hold every event.

    Retries, a note of the budget and whatever nodes of later versions write stand before the event
    that tells whose they are. What ended in an error is one with it. What follows the last
    execution belongs to it.
    """
    found: list[Execution] = []
    reached = 0
    for n, event in enumerate(events):
        node = event.body.step
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


def _goes_on(events: Sequence[Event], last: Execution, node: str) -> bool:
    if node != "error":
        return node == last.node and node in _LASTING
    own = events[last.first : last.end]
    if last.node == "answer":
        return not isinstance(own[-1].body, AnswerRead)
    return last.node == "tools" and _results(own) < _calls(events[: last.first])


def _results(events: Sequence[Event]) -> int:
    return sum(isinstance(event.body, Tool) for event in events)


def _calls(events: Sequence[Event]) -> int:
    """How many calls the last turn before made."""
    bodies = (event.body for event in reversed(events))
    turn = next((b for b in bodies if isinstance(b, Model) and not b.is_repair), None)
    return len(turn.calls) if turn else 0


def taken_up_at(events: Sequence[Event], place: int) -> int:
    """How many first events are left as they were where the one at `place` is made again.

    The whole execution is made again; of a turn's tool calls, those that ended before stay. Raises
    ValueError where no execution holds the event: the trace tells of none.
    """
    execution = execution_of(events, place)
    if execution.node != "tools":
        return execution.first
    own = range(execution.first, execution.end)
    ends = [n + 1 for n in own if isinstance(events[n].body, Tool)]
    if not ends or place >= ends[-1]:
        return execution.first
    return max((end for end in ends if end <= place), default=execution.first)


def execution_of(events: Sequence[Event], place: int) -> Execution:
    """The execution that wrote an event. Raises ValueError where the trace tells of none."""
    for execution in executions(events):
        if execution.first <= place < execution.end:
            return execution
    raise ValueError("no step of the graph wrote the event")
