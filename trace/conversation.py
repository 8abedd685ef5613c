"""A trace in the order of the conversation: its turns, their tool calls, and how it ended."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from branchwise.trace.events import (
    AnswerRead,
    BudgetSpent,
    ContextTrimmed,
    Event,
    Expansion,
    Extraction,
    Model,
    Node,
    Start,
    Tool,
)
from branchwise.trace.parts import ChangedMessage


class Change(NamedTuple):
    """A tool result as the node of a step left it."""

    step: int
    message: ChangedMessage


class ToolCall(NamedTuple):
    """A tool call with its result, as the agent got it.

    `number`: from 1, in the order of the model, failed and refused calls counted. `step`: of the
    result. `tokens`: input and output of all model calls until it was made. `extraction`: of its
    passages, where there was one. `seen`: whether the agent was asked anything with this result
    before it; False where it did not fit the context window from the start. `changes`: what
    plug-ins' nodes made of the result, in order, before extraction read it.
    """

    number: int
    step: int
    result: Tool
    tokens: int
    extraction: Extraction | None = None
    seen: bool = True
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """`calls` in the order made; `answering` is the agent's last turn, before any repair;
    `modules`: the events of query expansion, tools, evidence extraction and nodes; `rewritten`: the
    last node's that put another text in the place of what the agent answered."""

    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    start: Event | None = None
    answering: Event | None = None
    answer: Event | None = None
    budget: Event | None = None
    events: int = 0
    modules: tuple[Event, ...] = ()
    rewritten: Event | None = None


@dataclass
class Turn:
    """A model turn with what its calls brought; `model` is None before the first.

    `results`: by the place of the call, in the order in which they ended; `extractions`: by place;
    `nodes`: that stand behind the tools. `tokens`: of all model calls until the turn's calls were
    made; `omitted`: how many of the oldest results of the item were left out behind it.
    """

    model: Event | None = None
    tokens: int = 0
    results: dict[int, Event] = field(default_factory=dict)
    extractions: dict[int, Event] = field(default_factory=dict)
    nodes: list[Event] = field(default_factory=list)
    omitted: int = 0

    @property
    def calls(self) -> int:
        """How many calls the model made."""
        body = self.model.body if self.model else None
        return len(body.calls) if isinstance(body, Model) else 0

    def place(self, event: Event) -> int:
        """The place of the call that a result belongs to: of two for one, the second is none's."""
        of = event.body.of if isinstance(event.body, Tool) else 0
        return of if of not in self.results else max(self.calls, *self.results) + 1


def read_conversation(events: Iterable[Event]) -> Conversation:
    """Read a trace once, whatever it was written by: what is not there is left out."""
    turns, tokens, count = [Turn()], 0, 0
    last: dict[str, Event] = {}
    modules: list[Event] = []
    for event in events:
        count += 1
        body, turn = event.body, turns[-1]
        tokens += body.tokens
        match body:
            case Tool():
                turn.results[turn.place(event)] = event
                modules.append(event)
            case Extraction():
                turn.extractions[body.of] = event
                modules.append(event)
            case Node():
                modules.append(event)
                if body.update.messages is not None:
                    last["rewritten"] = event
                elif body.slot == "after_tools":
                    turn.nodes.append(event)
            case Model(is_repair=False):
                turns.append(Turn(event, tokens))
                last["answering"] = event
                last.pop("rewritten", None)
            case Expansion():
                modules.append(event)
            case ContextTrimmed():
                turn.omitted = body.omitted
            case Start() | BudgetSpent():
                last.setdefault(body.KIND, event)
            case AnswerRead():
                last[body.KIND] = event
    calls = tuple(_numbered(turns))
    return Conversation(calls, tokens, events=count, modules=tuple(modules), **last)


def _numbered(turns: Iterable[Turn]) -> Iterator[ToolCall]:
    made = 0
    for turn in turns:
        changes = changes_by_place(turn.nodes) if turn.nodes else {}
        for place in sorted(turn.results):
            made += 1
            event, extraction = turn.results[place], turn.extractions.get(place)
            assert isinstance(event.body, Tool)
            yield ToolCall(
                number=made,
                step=event.seq,
                result=event.body,
                tokens=turn.tokens,
                extraction=extraction.body if extraction else None,  # type: ignore[arg-type]
                # What was left out in an earlier turn had been seen; only this turn's had not.
                seen=made > turn.omitted,
                changes=tuple(changes.get(place, ())),
            )


def changes_by_place(nodes: Iterable[Event]) -> dict[int, list[Change]]:
    """What the nodes behind a turn's tools changed, by the place of the call."""
    found: dict[int, list[Change]] = {}
    for event in nodes:
        update = event.body.update if isinstance(event.body, Node) else None
        for message in update.results if update else ():
            if message.of is not None:
                found.setdefault(message.of, []).append(Change(event.seq, message))
    return found


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
