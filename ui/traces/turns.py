"""The order in which a trace is walked: what a model turn brought stands below it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from branchwise.trace.events import Event

INCIDENTAL = frozenset({"retry", "left_out", "structured_off"})
"""How requests travelled: two runs that differ in these alone have not parted."""
_MODULE_ROLES = ("extractor",)


@dataclass
class Node:
    """An event with what belongs to it: tool calls below a model turn, extraction below a call."""

    event: Event
    below: list["Node"] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[Event, int]]:
        """This event and those below it, each with its depth."""
        yield self.event, depth
        for node in self.below:
            yield from node.walk(depth + 1)


def tree(events: Iterable[Event]) -> list[Node]:
    """The events as a tree, never deeper than three.

    Calls of one turn end in any order; they stand in the order in which the model made them.
    """
    roots: list[Node] = []
    turn: Node | None = None
    for event in events:
        node, home = Node(event), _home(event, turn)
        (roots if home is None else home.below).append(node)
        if event.kind == "model":
            turn = node
    for root in roots:
        # Stable: what names no call of the turn stays behind those that do.
        root.below.sort(key=lambda node: _call_number(node.event))
    return roots


def in_order(events: Iterable[Event]) -> Iterator[tuple[Event, int]]:
    """Every event with its depth, as the tree is read from top to bottom."""
    for root in tree(events):
        yield from root.walk()


def extraction_of(events: Sequence[Event], seq: int) -> Event | None:
    """The evidence extraction of a tool's result; None where there is none."""
    for root in tree(events):
        for call in root.below:
            if call.event.seq == seq:
                return next((n.event for n in call.below if n.event.kind == "extraction"), None)
    return None


def result_of(events: Sequence[Event], seq: int) -> Event | None:
    """The tool's result that an evidence extraction read; None where there is none."""
    for root in tree(events):
        for call in root.below:
            if any(node.event.seq == seq for node in call.below):
                return call.event
    return None


def read_by_node(events: Sequence[Event], seq: int) -> list[Event]:
    """The tool results of the turn that a plug-in's node stands behind."""
    found: list[Event] = []
    for event in events:
        if event.seq >= seq:
            break
        if event.kind == "model":
            found = []
        elif event.kind == "tool":
            found.append(event)
    return found


def _home(event: Event, turn: Node | None) -> Node | None:
    """What an event belongs to; None for a step of the item itself."""
    if turn is None:
        return None
    if event.kind == "tool":
        return turn
    if event.kind == "node":
        return turn if event.data.get("slot") == "after_tools" and turn.below else None
    if event.kind == "extraction":
        of = event.data.get("of")
        calls = [node for node in turn.below if node.event.kind == "tool"]
        return next((node for node in calls if node.event.data.get("of") == of), turn)
    if event.kind in INCIDENTAL and event.data.get("role") in _MODULE_ROLES:
        return turn if turn.below else None
    return None


def _call_number(event: Event) -> float:
    of = event.data.get("of") if event.kind in ("tool", "extraction") else None
    return of if isinstance(of, int) else float("inf")


def called(data: Mapping[str, Any]) -> list[Any]:
    """The calls of a model turn in the order in which `of` counts them."""
    listed = [data.get("tool_calls"), data.get("invalid_tool_calls")]
    return [call for calls in listed if isinstance(calls, list) for call in calls]
