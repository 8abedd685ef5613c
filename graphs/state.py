"""What flows through a graph, and its context."""

import operator
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

# LangGraph's tools get its schema from pydantic, which rejects typing.TypedDict below Python 3.12.
from typing_extensions import TypedDict

from branchwise.agents.journal import Journal
from branchwise.agents.outages import Outages
from branchwise.agents.prediction import Prediction
from branchwise.agents.reply import Reply
from branchwise.graphs.choices import Person
from branchwise.graphs.lanes import Lanes
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.prompt_growth import PromptGrowth
from branchwise.trace.events import Body, Remark, Tool
from branchwise.trace.parts import Usage


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
    and the spans, those of one extraction together."""

    words: tuple[str, ...] = ()
    spans: tuple[tuple[str, ...], ...] = ()


class AgentState(TypedDict, total=False):
    """The state of a graph. `messages` and `evidence` grow, the rest is replaced.

    `pending`: what follows `messages` at the agent's next turn; until then nodes may change it. At
    the start it is the system's and the user's message, after a turn its tool results, one for each
    call, in order, each with the tool's artifact. `readings`: the readings of the question.
    `omitted`: how many of the oldest tool results are left out of requests (context length).
    `finish`: how the agent's last turn ended. `evidence`: ids of the passages that tools returned,
    in the order shown. `extracts`: what was extracted of passages, by `Material.key`. Only if an
    item continues after recorded steps (graphs/rebuild.py): `kept`, results that the turn already
    has, by the position of their call; `told`, whether the last of `pending` is the note of a spent
    budget.
    """

    messages: Annotated[list[BaseMessage], operator.add]
    pending: list[BaseMessage]
    readings: tuple[str, ...]
    evidence: Annotated[list[str], operator.add]
    spent: Spent
    omitted: int
    finish: str
    extracts: Mapping[str, PassageExtract]
    kept: Mapping[int, Tool]
    told: bool
    prediction: Prediction
    how: str
    problem: str | None


@dataclass
class ItemContext:
    """What the nodes of one item need beside the state (LangGraph's run-time context).

    `question` is on one line; `ledger` counts model calls. `follow_ups`: what the user says after
    the agent's first answer, in flows of several turns. `asked_back`: the clarification question,
    where it is given; `person`: who says which of its options are meant, if not all of them.
    `outages`: the servers that are watched. `waited`: seconds in which the item only waited for its
    turn at a server with a request limit, for a server that was gone, or for a person.
    `prompts_seen`: the conversation's requests, as far as they grew. `lanes` hold
    the events of conversations that run at the same time.
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
    started: float = field(init=False)
    lanes: Lanes = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self.lanes = Lanes(self.journal)

    @property
    def elapsed(self) -> float:
        """Seconds since the item started in this process, without its waiting time."""
        return self.clock() - self.started - self.waited

    @property
    def time_left(self) -> float:
        """Seconds left of the budget; negative once it is overdrawn."""
        return self.seconds - self.elapsed

    def within(self, question: str, journal: Journal) -> "ItemContext":
        """The context of one of several conversations: the same ledger and time."""
        own = replace(
            self,
            journal=journal,
            question=question,
            fragments=(),
            follow_ups=(),
            prompts_seen=PromptGrowth(),
        )
        own.started = self.started
        return own

    def event(self, body: Body) -> None:
        """Append to the item's trace."""
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
    """A step of the graph: state in, the changed part of the state out.

    A `Command` also says which step is next; after a plain dictionary the graph's edge does.
    """

    def __call__(
        self, state: AgentState, *, runtime: Runtime[ItemContext]
    ) -> Awaitable[dict[str, Any] | Command[Any]]: ...
