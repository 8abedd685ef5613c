"""A trace in the order of the conversation: its turns, their tool calls, and how it ended."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from branchwise.trace.events import (
    READING,
    AnswerRead,
    BudgetSpent,
    Checked,
    ContextTrimmed,
    Error,
    Event,
    Expansion,
    Extraction,
    Model,
    Node,
    Retry,
    Stage,
    StageEnded,
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
    plug-ins' nodes made of the result, in order, before extraction read it. `reading`: the one
    whose conversation it is of, in a fan-out.
    """

    number: int
    step: int
    result: Tool
    tokens: int
    extraction: Extraction | None = None
    seen: bool = True
    changes: tuple[Change, ...] = ()
    reading: str = ""


class LastWords(NamedTuple):
    """How a conversation ended: its `stage` ("": the item is a single one); the agent's last turn,
    before any repair; the last node's event that put another text in the place of what it answered;
    and the event of how that was read."""

    stage: str = ""
    turn: Model | None = None
    rewritten: Event | None = None
    answer: Event | None = None

    @property
    def read(self) -> AnswerRead | None:
        body = self.answer.body if self.answer else None
        return body if isinstance(body, AnswerRead) else None


@dataclass(frozen=True)
class Conversation:
    """`calls` in the order made; `endings`: of an item's conversations, mostly one; `modules`: of
    query expansion, tools, evidence extraction, nodes, checks and retries; `earlier`: the answers
    from which the agent was sent back."""

    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    start: Event | None = None
    answer: Event | None = None
    budget: Event | None = None
    events: int = 0
    modules: tuple[Event, ...] = ()
    endings: tuple[LastWords, ...] = ()
    earlier: tuple[Event, ...] = ()


@dataclass
class _Turn:
    """What the calls of a model turn brought, by the place of the call, before the first turn too.
    `results` in the order in which they ended. `calls`: how many the model made; `tokens`: of all
    model calls until then; `omitted`: how many of the conversation's oldest results were left out
    later. `reading`: it is where another conversation begins, about this reading ("": about all).
    """

    calls: int = 0
    tokens: int = 0
    reading: str | None = None
    results: dict[int, tuple[int, Tool]] = field(default_factory=dict)
    extractions: dict[int, Extraction] = field(default_factory=dict)
    changes: dict[int, list[Change]] = field(default_factory=lambda: defaultdict(list))
    omitted: int = 0

    def add(self, step: int, result: Tool) -> None:
        """Add a result: of two for one call, the second is none's."""
        taken = result.of in self.results
        self.results[max(self.calls, *self.results) + 1 if taken else result.of] = (step, result)


def called(reading: str, answers: Iterable[str]) -> str:
    """What a sub-agent's answer calls its reading. It knows more of it than who listed it did: its
    one key, where that is the reading's name with words of its own in brackets."""
    (key, *others) = [*answers] or [""]
    is_own = not others and key.endswith(")") and key.startswith(f"{reading.partition(' (')[0]} (")
    return key if is_own else reading


def read_conversation(events: Iterable[Event]) -> Conversation:
    """Read a trace once, whatever it was written by: what is not there is left out."""
    turns, tokens, count, began = [_Turn()], 0, 0, _Turn()
    last: dict[str, Event] = {}
    endings, ending = list[LastWords](), LastWords()
    modules: list[Event] = []
    earlier: list[Event] = []
    for event in events:
        count += 1
        body, turn = event.body, turns[-1]
        tokens += body.tokens
        if isinstance(body, Tool | Extraction | Node | Expansion | Checked | Retry):
            modules.append(event)
        match body:
            case Tool():
                turn.add(event.seq, body)
            case Extraction():
                turn.extractions[body.of] = body
            case Checked():
                earlier += [ending.answer] if body.content and ending.answer else []
            case Node():
                if body.update.messages is not None:
                    ending = ending._replace(rewritten=event)
                elif body.slot == "after_answer" and body.update.pending is not None:
                    earlier += [ending.answer] if ending.answer else []
                elif body.slot == "after_tools":
                    for message in body.update.results:
                        turn.changes[message.of or 0].append(Change(event.seq, message))
            case Model(is_repair=False):
                turns.append(_Turn(len(body.calls), tokens))
                ending = LastWords(ending.stage, body)
            case ContextTrimmed():
                turn.omitted = body.omitted
            case Start() | BudgetSpent():
                last.setdefault(body.KIND, event)
            case Stage():
                about = body.option if body.name == READING else ""
                began = _Turn(tokens=tokens, reading=about)
                turns.append(began)
                endings.append(ending)
                ending = LastWords(body.name)
            case StageEnded():
                endings.append(ending)
                ending = LastWords()
            case AnswerRead():
                if ending.stage == READING:
                    began.reading = called(began.reading or "", body.prediction.branches)
                last[body.KIND] = event
                ending = ending._replace(answer=event)
    endings.append(ending)
    return Conversation(
        tuple(_numbered(turns)),
        tokens,
        events=count,
        modules=tuple(modules),
        endings=tuple(ending for ending in endings if ending.turn),
        earlier=tuple(earlier),
        **last,
    )


def _numbered(turns: Iterable[_Turn]) -> Iterator[ToolCall]:
    made, before, reading = 0, 0, ""
    for turn in turns:
        if turn.reading is not None:
            before, reading = made, turn.reading
        for place, (step, result) in sorted(turn.results.items()):
            made += 1
            yield ToolCall(
                number=made,
                step=step,
                result=result,
                tokens=turn.tokens,
                extraction=turn.extractions.get(place),
                # What was left out in an earlier turn had been seen; only this turn's had not.
                seen=made - before > turn.omitted,
                changes=tuple(turn.changes.get(place, ())),
                reading=reading,
            )


_LASTING = ("tools", "extract", "answer")
"""Nodes that may write several of the events that tell them."""


@dataclass(frozen=True)
class Execution:
    """One run of a node: `events[first:end]` of the trace. `start` and `error` are not nodes."""

    node: str
    first: int
    end: int


def executions(events: Sequence[Event]) -> list[Execution]:
    """The executions of a trace, in order; together they hold every event. Retries, a note of the
    budget and whatever nodes of later versions write stand before the event that tells whose they
    are. What ended in an error is one with it. What follows the last execution belongs to it."""
    done: list[Execution] = []
    reached = 0
    for n, event in enumerate(events):
        node = event.body.step
        if node is None:
            continue
        last = done[-1] if done else None
        if last and _goes_on(events, last, node):
            done[-1] = Execution(last.node, last.first, n + 1)
        else:
            done.append(Execution(node, reached, n + 1))
        reached = n + 1
    if reached < len(events) and done:
        done[-1] = Execution(done[-1].node, done[-1].first, len(events))
    return done


def _goes_on(events: Sequence[Event], last: Execution, node: str) -> bool:
    if node != "error":
        return node == last.node and node in _LASTING
    own = events[last.first : last.end]
    if last.node == "answer":
        return not isinstance(own[-1].body, AnswerRead)
    if last.node != "tools":
        return False
    results = sum(isinstance(event.body, Tool) for event in own)
    before = (event.body for event in reversed(events[: last.first]))
    turn = next((body for body in before if isinstance(body, Model) and not body.is_repair), None)
    return turn is not None and results < len(turn.calls)


def conversations(events: Iterable[Event]) -> list[list[Event]]:
    """The events of an item by conversation: first those that belong to no stage, which are all
    where it has none, then those of each stage, in order."""
    parts: list[list[Event]] = [[]]
    part = parts[0]
    for event in events:
        if isinstance(event.body, Stage):
            part = []
            parts.append(part)
        elif isinstance(event.body, Error):
            part = parts[0]
        part.append(event)
        if isinstance(event.body, StageEnded):
            part = parts[0]
    return parts


def has_ended(stage: Sequence[Event]) -> bool:
    """Whether the last of a stage's events is what it came to."""
    return isinstance(stage[-1].body, StageEnded)


def conversation_at(events: Sequence[Event], place: int) -> tuple[list[Event], list[Event], int]:
    """What else had happened before `events[place]`, the events of its conversation, and its place
    among these. Of stages that a failure cut off, which had been under way at the same time, only
    the step's own is left, or the first where the step is the failure: a trace tells one after the
    other, and only the last can be continued."""
    step = events[place]
    own, *stages = conversations(events)
    cut = [stage for stage in stages if not has_ended(stage)]
    part = next((stage for stage in stages if step in stage), None)
    if isinstance(step.body, Error) and cut:
        part = [*cut[0], step]
    whole = [one for one in (own, *stages) if one not in cut and one is not part]
    rest = sorted((event for one in whole for event in one), key=lambda event: event.seq)
    if part is None:
        return [], rest, rest.index(step)
    return [event for event in rest if event.seq < step.seq], part, part.index(step)


def left_before(events: Sequence[Event], place: int) -> list[Event]:
    """The events that are left as they were where the one at `place` is made again. Raises
    ValueError as `taken_up_at`."""
    others, own, place = conversation_at(events, place)
    return [*others, *own[: taken_up_at(own, place)]]


def taken_up_at(events: Sequence[Event], place: int) -> int:
    """How many first events of a conversation stay where that at `place` is made again. The whole
    execution is made again; of a turn's tool calls, those that ended before stay. Raises ValueError
    where no execution holds the event: the trace tells of none."""
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
