"""An item's trace in the order of the conversation: its tool calls and how it ended."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from branchwise.eval.errors.node_changes import Change, changes_of

MODULE_KINDS = ("expansion", "extraction", "node")
MAX_TOOL_CHARS, MAX_PROBLEM_CHARS = 80, 500
"""Of a tool's name (a model may make one up) and of a problem in words, so much is kept."""


class TraceEvent(Protocol):
    """What is read of an event; `eval.store.Event` is one."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class ToolCall:
    """A tool call with its result, as the agent got it.

    `number`: from 1, in the order of the model, failed and refused calls counted. `tokens`: input
    and output of all model calls until it was made. `extraction`: the record of the evidence
    extraction of its passages, where there was one. `seen`: whether the agent was asked anything
    with this result before it; False where it did not fit the context window from the start.
    `changes`: what plug-ins' nodes made of the result, in order, before extraction read it.
    """

    number: int
    step: int
    data: Mapping[str, Any]
    tokens: int
    extraction: Mapping[str, Any] | None = None
    seen: bool = True
    changes: tuple[Change, ...] = ()

    @property
    def tool(self) -> str:
        """The name that the model called."""
        return str(mapping(self.data.get("call")).get("name"))[:MAX_TOOL_CHARS]

    @property
    def error(self) -> str | None:
        """One line about why there is no result."""
        error = self.data.get("error")
        return None if error is None else str(error)[:MAX_PROBLEM_CHARS]


@dataclass(frozen=True)
class TraceReading:
    """`calls` in the order made; `answering` is the agent's last turn, before any repair;
    `modules`: the events of query expansion, evidence extraction and nodes; `rewritten`: the last
    node's that put another text in the place of what the agent answered."""

    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    start: TraceEvent | None = None
    answering: TraceEvent | None = None
    repair: TraceEvent | None = None
    answer: TraceEvent | None = None
    budget: TraceEvent | None = None
    events: int = 0
    modules: tuple[TraceEvent, ...] = ()
    rewritten: TraceEvent | None = None


@dataclass
class _Turn:
    """Tool calls of one model turn, with their events in the order in which they ended."""

    tokens: int = 0
    calls: list[Any] = field(default_factory=list)
    results: list[TraceEvent] = field(default_factory=list)
    extractions: list[TraceEvent] = field(default_factory=list)
    nodes: list[TraceEvent] = field(default_factory=list)
    omitted: int = 0


def read_trace(events: Iterable[TraceEvent]) -> TraceReading:
    """Read a trace once, whatever it was written by: what is not there is left out.

    Calls of one turn end in any order; each is put in its place by the event's `of`, in older
    traces by its id.
    """
    turns, tokens, count = [_Turn()], 0, 0
    last: dict[str, TraceEvent] = {}
    modules: list[TraceEvent] = []
    for event in events:
        count += 1
        tokens += _spent(event)
        if event.kind in MODULE_KINDS:
            modules.append(event)
        if event.kind == "tool":
            turns[-1].results.append(event)
        elif event.kind == "extraction":
            turns[-1].extractions.append(event)
        elif event.kind == "node":
            if "messages" in mapping(event.data.get("update")):
                last["rewritten"] = event
            elif event.data.get("slot") == "after_tools":
                turns[-1].nodes.append(event)
        elif event.kind == "context_trimmed":
            turns[-1].omitted = _number(event.data.get("omitted"))
        elif event.kind == "model" and event.data.get("role") != "repair":
            turns.append(_Turn(tokens, _called(event.data)))
            last["answering"] = event
            last.pop("rewritten", None)
        elif event.kind in ("start", "budget"):
            last.setdefault(event.kind, event)
        elif event.kind in ("repair", "answer"):
            last[event.kind] = event
    return TraceReading(
        tuple(_numbered(turns)), tokens, events=count, modules=tuple(modules), **last
    )


def _numbered(turns: Iterable[_Turn]) -> Iterator[ToolCall]:
    made = 0
    for turn in turns:
        extractions = {_place(event, turn.calls, ()): event.data for event in turn.extractions}
        changes = changes_of(turn.nodes) if turn.nodes else {}
        for place, event in sorted(_places(turn), key=lambda pair: pair[0]):
            made += 1
            yield ToolCall(
                number=made,
                step=event.seq,
                data=event.data,
                tokens=turn.tokens,
                extraction=extractions.get(place),
                # What was left out in an earlier turn had been seen; only this turn's had not.
                seen=made > turn.omitted,
                changes=tuple(changes.get(place, ())),
            )


def _places(turn: _Turn) -> list[tuple[int, TraceEvent]]:
    """Each result with the place of its call in its turn."""
    taken: dict[int, TraceEvent] = {}
    for event in turn.results:
        taken[_place(event, turn.calls, taken)] = event
    return list(taken.items())


def _place(event: TraceEvent, calls: list[Any], taken: Iterable[int]) -> int:
    """`of`, else where a call of this id (and name, and arguments) stands, else what is free."""
    used = set(taken)
    place = event.data.get("of")
    if isinstance(place, int) and place not in used:
        return place
    call = mapping(event.data.get("call"))
    free = [n for n in range(len(calls) + len(used) + 1) if n not in used]
    same = [n for n in free if n < len(calls) and calls[n].get("id") == call.get("id")]
    exact = [n for n in same if calls[n] == call]
    return (exact or same or [n for n in free if n >= len(calls)])[0]


def _called(data: Mapping[str, Any]) -> list[Any]:
    listed = [data.get("tool_calls"), data.get("invalid_tool_calls")]
    return [mapping(call) for calls in listed if isinstance(calls, list) for call in calls]


def _spent(event: TraceEvent) -> int:
    """Tokens of the model calls that an event stands for."""
    if event.kind in ("model", "expansion"):
        return _total(event.data)
    if event.kind == "extraction":
        return sum(map(_total, listed(event.data.get("passages"))))
    return 0


def _total(record: Mapping[str, Any]) -> int:
    usage = record.get("usage")
    if not isinstance(usage, dict | Mapping):
        return 0
    said, wrote = usage.get("input"), usage.get("output")
    return (said if isinstance(said, int) else 0) + (wrote if isinstance(wrote, int) else 0)


def listed(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list from a record, which may come from anyone's tool."""
    if not isinstance(value, list | tuple):
        return []
    return [v for v in value if isinstance(v, dict | Mapping)]


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict | Mapping) else {}


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
