"""What flows through a graph, and what the nodes of an item share besides."""

import hashlib
import operator
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

# LangGraph's tools get its schema from pydantic, which rejects typing.TypedDict below Python 3.12.
from typing_extensions import TypedDict

from branchwise.agents.journal import CallKey, Journal, Slot, item_of
from branchwise.agents.outages import Outages
from branchwise.agents.prediction import Prediction
from branchwise.agents.reply import Reply
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.messages import PromptGrowth
from branchwise.graphs.pipeline import Person
from branchwise.trace.conversation import has_ended
from branchwise.trace.events import Event, Expansion, Remark, Stage, Tool
from branchwise.trace.parts import Body, Usage

if TYPE_CHECKING:
    from branchwise.graphs.budget import Budget


class Lanes:
    """The events of conversations that run at the same time, in the order of the conversations. The
    first that has not ended writes at once; what the others write waits for it. So a trace does not
    depend on which of them is faster. `enters`: one of them may have begun already, and goes first.
    """

    def __init__(self, journal: Journal, *, enters: bool = False) -> None:
        self._journal = journal
        self._waiting: dict[int, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
        self._ended: set[int] = set()
        self._first: float = -1 if enters else 0
        self._entered: int | None = None

    def enter(self, lane: int | None) -> None:
        """Continue the conversation that has begun already; None: it has no lane."""
        self._entered = lane
        if lane is None:
            self._end(-1)

    def event(self, lane: int, kind: str, data: Mapping[str, Any]) -> None:
        """Append to a conversation; lanes are numbered from 0."""
        if lane <= self._first or lane == self._entered:
            self._journal.event(kind, data)
        else:
            self._waiting[lane].append((kind, data))

    @contextmanager
    def conversation(self, lane: int) -> Iterator[None]:
        """Around a conversation: once it has ended, the next one need no longer wait."""
        try:
            yield
        except BaseException:
            # The item ends: what the others have done so far belongs to its trace.
            self.close()
            raise
        self._end(lane)

    def _end(self, lane: int) -> None:
        self._ended |= {lane, -1} if lane == self._entered else {lane}
        while self._first in self._ended:
            self._first += 1
            self._write(int(self._first))

    def close(self) -> None:
        """Write what waits, in order; whatever comes from now on is written at once."""
        self._first = float("inf")
        for lane in sorted(self._waiting):
            self._write(lane)

    def _write(self, lane: int) -> None:
        for kind, data in self._waiting.pop(lane, ()):
            self._journal.event(kind, data)


class ConversationJournal:
    """An item's journal as one of its conversations sees it; implements `Journal`.

    Results of tools and nodes depend on what the conversation has seen and not only on the call, so
    each conversation finds its own again. Requests to models hold all that their replies depend on:
    their keys stay as they are, so that replays find them; but of several samples of one
    conversation (`sample`, from 1), which make equal requests at the same time, each finds its own.
    In a `lane` its events wait their turn.
    """

    def __init__(
        self,
        journal: Journal,
        name: str,
        lanes: Lanes | None = None,
        lane: int = 0,
        sample: int = 0,
    ) -> None:
        self.item = item_of(journal)
        self._journal, self._name = journal, name
        self._lanes, self._lane, self.sample = lanes, lane, sample

    def recall(self, key: CallKey) -> Slot:
        if key.kind == "model" and not self.sample:
            return self._journal.recall(key)
        own = hashlib.sha256(f"{self._name}\0{key.digest}".encode()).hexdigest()
        return self._journal.recall(replace(key, digest=own))

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        await self._journal.keep(slot, value)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        if self._lanes is None:
            self._journal.event(kind, data)
        else:
            self._lanes.event(self._lane, kind, data)


@dataclass(frozen=True)
class Spent:
    """What an item has used of its budget. Seconds are the context's, not the state's."""

    turns: int = 0
    calls: int = 0
    tokens: int = 0

    def plus(self, *, turns: int = 0, calls: int = 0, usage: Usage | None = None) -> "Spent":
        """The sum; the state itself never changes in place."""
        return self + Spent(turns, calls, usage.total if usage else 0)

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.turns + other.turns, self.calls + other.calls, self.tokens + other.tokens)


@dataclass(frozen=True)
class PassageExtract:
    """What was extracted of a passage so far: the content words of the searches for which it was,
    and the spans, those of one extraction together. In the state, so that a resumed run and a
    fork ask the extractor for what the run asked."""

    words: tuple[str, ...] = ()
    spans: tuple[tuple[str, ...], ...] = ()


class AgentState(TypedDict, total=False):
    """The state of a graph. `messages` and `evidence` grow, the rest is replaced.

    `pending`: what follows `messages` at the agent's next turn; until then nodes may change it. At
    the start it is the system's and the user's message, after a turn its tool results, one for each
    call, in order, each with the tool's artifact. `readings`: the readings of the question.
    `omitted`: how many of the oldest tool results are left out of requests (context length), and
    `compacted`: how many are compacted in them; `reopens`: compacted ones say that a tool shows
    passages whole. `read`: input tokens of the agent's last turn, as the server counted them.
    `finish`: how the agent's last turn ended. `evidence`: ids of the passages that tools returned,
    in the order shown. `given`: titles of those that came with the question. `checks`: how often a
    reviewer sent the agent back. `extracts`: what was extracted of passages, by `Material.key`.
    Only if an item continues after recorded steps (graphs/rebuild.py): `kept`, results that the
    turn already has, by the position of their call; `told`, whether the last of `pending` is the
    note of a spent budget. Only for a node after the answer: `answers`, plain JSON, the texts by
    branch, or what else the task's answer is.
    """

    messages: Annotated[list[BaseMessage], operator.add]
    pending: list[BaseMessage]
    readings: tuple[str, ...]
    evidence: Annotated[list[str], operator.add]
    given: Sequence[str]
    checks: int
    spent: Spent
    omitted: int
    compacted: int
    reopens: bool
    read: int
    finish: str
    extracts: Mapping[str, PassageExtract]
    kept: Mapping[int, Tool]
    told: bool
    prediction: Prediction
    how: str
    problem: str | None
    answers: Any


@dataclass
class ItemContext:
    """What the nodes of one item need beside the state (LangGraph's run-time context).

    `question` is on one line; `ledger` counts model calls. `follow_ups`: what the user says after
    the agent's first answer, in flows of several turns. `asked_back`: the clarification question,
    where it is given; `person`: who says which of its options are meant, if not all of them.
    `outages`: the servers that are watched. `waited`: seconds in which the item only waited for its
    turn at a server with a request limit, for a server that was gone, or for a person.
    `prompts_seen`: the conversation's requests, as far as they grew. `lanes` hold the events of
    conversations that run at the same time. `share`: the conversation's part of the budget, where
    it is not the whole. `stages`: the recorded events of those conversations that an item has
    already where it continues after recorded steps; `listed`: the readings that a lead listed
    there; `copied`: how many of its own events are recorded, and are not written again.
    """

    journal: Journal
    seconds: float
    fragments: tuple[str, ...] = ()
    question: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    follow_ups: tuple[str, ...] = ()
    outages: Outages | None = None
    asked_back: str = ""
    person: Person | None = None
    clock: Callable[[], float] = time.monotonic
    waited: float = 0.0
    prompts_seen: PromptGrowth = field(default_factory=PromptGrowth)
    share: "Budget | None" = None
    stages: Sequence[Sequence[Event]] = ()
    listed: Expansion | None = None
    copied: int = 0
    started: float = field(init=False)
    lanes: Lanes = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self.lanes = Lanes(self.journal, enters=not all(map(has_ended, self.stages)))

    @property
    def elapsed(self) -> float:
        """Seconds since the item started in this process, without its waiting time."""
        return self.clock() - self.started - self.waited

    @property
    def time_left(self) -> float:
        """Seconds left of the budget; negative once it is overdrawn."""
        return self.seconds - self.elapsed

    def recorded(self, stage: Stage) -> Sequence[Event]:
        """The recorded events of a stage; none if it is new."""
        for recorded in self.stages:
            match recorded[0].body:
                case Stage(name=stage.name, option=stage.option):
                    return recorded
        return ()

    def within(
        self, question: str, journal: Journal, share: "Budget | None" = None
    ) -> "ItemContext":
        """The context of one of several conversations: the same passages, ledger and time."""
        own = replace(
            self,
            journal=journal,
            question=question,
            follow_ups=(),
            share=share,
            prompts_seen=PromptGrowth(),
            stages=(),
            copied=0,
        )
        own.started = self.started
        return own

    def event(self, body: Body) -> None:
        if self.copied:
            self.copied -= 1
        else:
            self.journal.event(*body.written())

    def charge(self, role: str, reply: Reply) -> None:
        """Count a reply, and tell how it ended if that was not as usual."""
        self.ledger.charge(role, reply)
        if reply.remark:
            self.remark(role, reply.remark)

    def remark(self, role: str, words: str) -> None:
        """Count a reply to which this applies, and tell it in the item's trace."""
        self.ledger.remark(role, words)
        self.event(Remark(role=role, message=words))


class GraphNode(Protocol):
    """A step of the graph: state in, the changed part of the state out. A `Command` also says which
    step is next; after a plain dictionary the graph's edge does."""

    def __call__(
        self, state: AgentState, *, runtime: Runtime[ItemContext]
    ) -> Awaitable[dict[str, Any] | Command[Any]]: ...
