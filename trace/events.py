"""The events of a trace, each kind declared once: its fields are those of its record.

`docs/traces.md` says when each is written. A kind that is not known is an `Unknown`, whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, get_args

from branchwise.trace.artifacts import Artifact
from branchwise.trace.records import Record, mapping

REPAIR = "repair"
"""The role of the model turn that writes an unreadable answer once more."""


@dataclass(frozen=True)
class Usage(Record):
    """Tokens of one call as the server counts them (0 where it does not say).

    `cached` is part of `input`, `reasoning` part of `output`.
    """

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """Input and output tokens together: what a token budget counts."""
        return self.input + self.output


@dataclass(frozen=True)
class Call(Record):
    """A tool call as the model made it; where it cannot be made, `args` is the model's text."""

    OPTIONAL = frozenset({"args"})
    AROUND = frozenset({"id"})
    id: str | None
    name: str | None = None
    args: Any = None

    @property
    def tool(self) -> str:
        """The name that the model called."""
        return str(self.name)


@dataclass(frozen=True)
class Dropped(Record):
    """A line of a module's reply that was not taken, and why."""

    text: str
    why: str


@dataclass(frozen=True)
class Asked(Record):
    """What a plug-in asked the agent's model; without `usage` where no reply came."""

    OPTIONAL = frozenset({"content", "reasoning", "error", "usage", "seconds", "replayed"})
    AROUND = frozenset({"seconds", "replayed", "usage"})
    system: str = ""
    message: str = ""
    content: str | None = None
    reasoning: str | None = None
    error: str | None = None
    usage: Usage | None = None
    seconds: float | None = None
    replayed: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Extracted(Record):
    """What became of a passage. `how`: spans, none or failed (it was shown whole); `whole`: the
    spans are all of it."""

    AROUND = frozenset({"seconds", "replayed", "usage"})
    id: str = ""
    spans: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    how: str = ""
    whole: bool = False
    reasoning: str = ""
    error: str | None
    usage: Usage
    seconds: float
    replayed: bool = False


@dataclass(frozen=True, kw_only=True)
class ChangedMessage(Record):
    """A message as a node left it. A tool's result has its place in the turn (`of`) and its
    artifact; a message of an opening, or the agent's last words, has its type."""

    OPTIONAL = frozenset({"of", "type", "artifact"})
    of: int | None = None
    type: str | None = None
    content: str = ""
    artifact: Mapping[str, Any] | None = None

    @property
    def found(self) -> Artifact:
        """What the tool's result holds beside its text."""
        return Artifact(mapping(self.artifact))


@dataclass(frozen=True)
class Update(Record):
    """What a node changed: None of what it left as it was."""

    OPTIONAL = frozenset({"messages", "readings", "pending"})
    messages: tuple[ChangedMessage, ...] | None = None
    readings: tuple[str, ...] | None = None
    pending: tuple[ChangedMessage, ...] | None = None

    @property
    def results(self) -> tuple[ChangedMessage, ...]:
        """The tool results that it changed."""
        return tuple(one for one in self.pending or () if one.of is not None)

    @property
    def is_empty(self) -> bool:
        """Whether it changed nothing."""
        return not self.record()


@dataclass(frozen=True)
class Predicted(Record):
    """The agent's answer by branch, as `agents.prediction.Prediction` writes it."""

    reasoning: str = ""
    answers: Mapping[str, Any] = field(default_factory=dict)
    citations: Mapping[str, Any] = field(default_factory=dict)
    task_output: Any = None

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """The record; each branch's answers and citations are lists of texts."""
        made = super().read(data)
        by_branch = {"answers": made.answers, "citations": made.citations}
        odd = [
            name for name, listed in by_branch.items() if not all(map(_is_texts, listed.values()))
        ]
        return made.changed(problems=(*made.problems, *odd)) if odd else made

    @property
    def branches(self) -> dict[str, list[str]]:
        """The texts of each branch."""
        return {str(name): _texts(texts) for name, texts in self.answers.items()}

    @property
    def cited(self) -> dict[str, list[str]]:
        """Ids of the passages that each branch cites."""
        return {str(name): _texts(ids) for name, ids in self.citations.items()}


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


@dataclass(frozen=True, kw_only=True)
class Body(Record):
    """What an event holds.

    `KIND`: what the trace calls it. `INCIDENTAL`: it tells how requests travelled, not what was
    done. `FAILED`: it always tells of a failure. `edited`: a fork put a text of its own into it.
    """

    KIND: ClassVar[str] = ""
    INCIDENTAL: ClassVar[bool] = False
    FAILED: ClassVar[bool] = False
    OPTIONAL = frozenset({"edited"})
    AROUND = frozenset({"seconds", "replayed", "usage", "wait", "edited"})
    edited: bool = False

    def written(self) -> tuple[str, dict[str, Any]]:
        """Its kind and its record: what a journal takes."""
        return self.KIND, self.record()

    @property
    def step(self) -> str | None:
        """The node of the graph that wrote it; None for what belongs to the event that follows."""
        return None

    @property
    def failed(self) -> bool:
        """Whether the step brought an error."""
        return self.FAILED

    @property
    def tokens(self) -> int:
        """Input and output of the agent's and the modules' calls that it stands for."""
        return 0


@dataclass(frozen=True, kw_only=True)
class Start(Body):
    """The question was put: the system's and the user's message, the passages in it."""

    KIND = "start"
    system: str
    content: str
    artifact: Mapping[str, Any]

    @property
    def step(self) -> str:
        return "start"

    @property
    def given(self) -> Artifact:
        """The passages that came with the question."""
        return Artifact(self.artifact)


@dataclass(frozen=True, kw_only=True)
class Expansion(Body):
    """The question's readings. `how`: readings, none or failed."""

    KIND = "expansion"
    question: str = ""
    readings: tuple[str, ...]
    dropped: tuple[Dropped, ...] = ()
    how: str = ""
    text: str = ""
    reasoning: str = ""
    error: str | None
    usage: Usage
    seconds: float
    replayed: bool = False

    @property
    def step(self) -> str:
        return "expand"

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.how == "failed"

    @property
    def tokens(self) -> int:
        return self.usage.total


@dataclass(frozen=True, kw_only=True)
class Model(Body):
    """A model turn, or with the role `repair` the answer written once more.

    Calls that cannot be made come behind those that can: the place of a call is its `of`.
    """

    KIND = "model"
    OPTIONAL = Body.OPTIONAL | frozenset({"role", "turn"})
    role: str | None = None
    turn: int | None = None
    text: str
    tool_calls: tuple[Call, ...]
    invalid_tool_calls: tuple[Call, ...]
    reasoning: str = ""
    finish: str
    usage: Usage
    seconds: float
    replayed: bool = False

    @property
    def is_repair(self) -> bool:
        return self.role == REPAIR

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the turn, in their order."""
        return (*self.tool_calls, *self.invalid_tool_calls)

    @property
    def step(self) -> str:
        return "answer" if self.is_repair else "agent"

    @property
    def tokens(self) -> int:
        return self.usage.total


@dataclass(frozen=True, kw_only=True)
class Tool(Body):
    """A tool call came back. `of`: its place among the calls of the turn, from 0; `content`: what
    the model reads; `failure`: which kind of error it is."""

    KIND = "tool"
    OPTIONAL = Body.OPTIONAL | frozenset({"printed", "asked"})
    call: Call
    of: int
    seconds: float = 0.0
    replayed: bool = False
    content: str
    artifact: Mapping[str, Any]
    error: str | None
    failure: str | None = None
    printed: str = ""
    asked: tuple[Asked, ...] = ()

    @property
    def found(self) -> Artifact:
        """What the tool returned beside its text."""
        return Artifact(self.artifact)

    @property
    def step(self) -> str:
        return "tools"

    @property
    def failed(self) -> bool:
        return bool(self.error)


@dataclass(frozen=True, kw_only=True)
class Node(Body):
    """A plug-in's node ran: what it changed, or why it did not, what it printed and asked."""

    KIND = "node"
    OPTIONAL = Body.OPTIONAL | frozenset({"asked"})
    name: str
    slot: str
    seconds: float = 0.0
    replayed: bool = False
    asked: tuple[Asked, ...] = ()
    printed: str = ""
    error: str | None = None
    update: Update

    @property
    def step(self) -> str:
        return graph_name(self.name)

    @property
    def failed(self) -> bool:
        return bool(self.error)


@dataclass(frozen=True, kw_only=True)
class Extraction(Body):
    """The passages of tool call `of` were extracted; `content`: what the model reads now."""

    KIND = "extraction"
    call: Call = Call(None)
    of: int
    passages: tuple[Extracted, ...]
    content: str

    @property
    def step(self) -> str:
        return "extract"

    @property
    def failed(self) -> bool:
        return any(passage.how == "failed" for passage in self.passages)

    @property
    def tokens(self) -> int:
        return sum(passage.usage.total for passage in self.passages)


@dataclass(frozen=True, kw_only=True)
class BudgetSpent(Body):
    """Turns, calls, tokens or seconds were spent; `text`: what the agent was told."""

    KIND = "budget"
    reason: str = ""
    text: str


@dataclass(frozen=True, kw_only=True)
class ContextTrimmed(Body):
    """The conversation did not fit: `omitted` of the oldest tool results are left out by now."""

    KIND = "context_trimmed"
    omitted: int
    newly: int = 0


@dataclass(frozen=True, kw_only=True)
class Retry(Body):
    """A request failed and was made again after `wait` seconds."""

    KIND, INCIDENTAL, FAILED = "retry", True, True
    role: str = ""
    attempt: int = 0
    kind: str = ""
    message: str = ""
    wait: float | None = None


@dataclass(frozen=True, kw_only=True)
class LeftOut(Body):
    """Requests of this role lack an optional field, since the server refuses it."""

    KIND, INCIDENTAL = "left_out", True
    role: str = ""
    field: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Repair(Body):
    """An answer could not be read; `text`: what the agent was told."""

    KIND = "repair"
    problem: str | None = None
    text: str = ""

    @property
    def step(self) -> str:
        return "answer"


@dataclass(frozen=True, kw_only=True)
class RepairFailed(Body):
    """The call that was to write the answer once more failed."""

    KIND, FAILED = "repair_failed", True
    error: str = ""
    message: str = ""

    @property
    def step(self) -> str:
        return "answer"


@dataclass(frozen=True, kw_only=True)
class Answer(Body):
    """The last text was read. `how`: strict, tolerant, repaired or failed (`raw` has the text)."""

    KIND = "answer"
    how: str
    problem: str | None = None
    raw: str | None = None
    prediction: Predicted

    @property
    def step(self) -> str:
        return "answer"

    @property
    def failed(self) -> bool:
        return self.how == "failed"


@dataclass(frozen=True, kw_only=True)
class Error(Body):
    """The question failed."""

    KIND, FAILED = "error", True
    kind: str = ""
    message: str = ""

    @property
    def step(self) -> str:
        return "error"


@dataclass(frozen=True, kw_only=True)
class Unknown(Body):
    """An event of a newer version, or of a plug-in: all of it is in `more`."""

    @property
    def failed(self) -> bool:
        return bool(self.more.get("error")) or self.more.get("how") == "failed"


AnyBody = (
    Start
    | Expansion
    | Model
    | Tool
    | Node
    | Extraction
    | BudgetSpent
    | ContextTrimmed
    | Retry
    | LeftOut
    | Repair
    | RepairFailed
    | Answer
    | Error
    | Unknown
)
KINDS: Mapping[str, type[AnyBody]] = {cls.KIND: cls for cls in get_args(AnyBody) if cls.KIND}


def read_body(kind: str, data: Any) -> AnyBody:
    """What an event of this kind holds. Never raises."""
    return KINDS.get(kind, Unknown).read(mapping(data))


@dataclass(frozen=True)
class Event:
    """One step of a trace. `at`: seconds since 1970. `data`: as it was given to the journal, to be
    passed on; `body` is what it holds."""

    seq: int
    kind: str
    at: float
    data: Mapping[str, Any]

    @cached_property
    def body(self) -> AnyBody:
        """What the event holds."""
        return read_body(self.kind, self.data)

    def record(self) -> dict[str, Any]:
        """As it is exported: JSON-serialisable."""
        return {"seq": self.seq, "kind": self.kind, "at": self.at, "data": self.data}

    def with_body(self, body: Body) -> "Event":
        """The same step with another content."""
        return Event(self.seq, self.kind, self.at, body.record())


def graph_name(node: str) -> str:
    """What a plug-in's node is called in the graph, where it must not meet another step's name."""
    return f"node_{node}"
