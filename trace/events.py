"""The events of a trace, each kind declared once: its fields are those of its record.

`docs/traces.md` says when each is written. A kind that is not known is an `Unknown`, whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from branchwise.trace.artifacts import Artifact
from branchwise.trace.parts import (
    Body,
    Call,
    Dropped,
    Extracted,
    ExtractionRequest,
    ModelQuestion,
    Predicted,
    TitleSearch,
    Update,
    Usage,
)
from branchwise.trace.records import mapping

REPAIR = "repair"
"""The role of the model turn that writes an unreadable answer once more."""
READING = "reading"
"""The stage that answers one reading of a question, which its `option` names."""


@dataclass(frozen=True, kw_only=True)
class Start(Body):
    """The question was put: the system's and the user's message, the passages in it."""

    KIND, STEP = "start", "start"
    system: str
    content: str
    artifact: Mapping[str, Any]

    @property
    def given(self) -> Artifact:
        return Artifact(self.artifact)


@dataclass(frozen=True, kw_only=True)
class Expansion(Body):
    """The question's readings. `how`: readings, none or failed; `looked`: what was searched for
    first, for the expander to choose from."""

    KIND, STEP = "expansion", "expand"
    OPTIONAL = Body.OPTIONAL | frozenset({"looked"})
    question: str = ""
    looked: tuple[TitleSearch, ...] = ()
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
    def failed(self) -> bool:
        return bool(self.error) or self.how == "failed"


@dataclass(frozen=True, kw_only=True)
class Model(Body):
    """A model turn, or with the role `repair` the answer written once more. Calls that cannot be
    made come behind those that can: the place of a call is its `of`. `reasoning_field` and
    `reasoning_details`: how the server sent the reasoning, if not as usual; `reason`: what it
    called an end that is not known."""

    KIND = "model"
    OPTIONAL = Body.OPTIONAL | frozenset(
        {"role", "turn", "reasoning_field", "reasoning_details", "reason"}
    )
    AROUND = Body.AROUND | frozenset({"reasoning_field", "reasoning_details"})
    role: str | None = None
    turn: int | None = None
    text: str
    tool_calls: tuple[Call, ...]
    invalid_tool_calls: tuple[Call, ...]
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    reasoning_details: tuple[Mapping[str, Any], ...] = ()
    finish: str
    reason: str = ""
    usage: Usage
    seconds: float
    replayed: bool = False

    @property
    def is_repair(self) -> bool:
        return self.role == REPAIR

    @property
    def calls(self) -> tuple[Call, ...]:
        return (*self.tool_calls, *self.invalid_tool_calls)

    @property
    def step(self) -> str:
        return "answer" if self.is_repair else "agent"


@dataclass(frozen=True, kw_only=True)
class Tool(Body):
    """A tool call came back. `of`: its place among the calls of the turn, from 0; `content`: what
    the model reads; `failure`: which kind of error it is; `left`: what is left of the budget, as it
    stands at the end of what the model reads."""

    KIND, STEP = "tool", "tools"
    OPTIONAL = Body.OPTIONAL | frozenset({"asked", "left"})
    call: Call
    of: int
    seconds: float = 0.0
    replayed: bool = False
    content: str
    artifact: Mapping[str, Any]
    error: str | None
    failure: str | None = None
    asked: tuple[ModelQuestion, ...] = ()
    left: str = ""

    @property
    def found(self) -> Artifact:
        """What the tool returned beside its text."""
        return Artifact(self.artifact)

    @property
    def shown(self) -> str:
        """What the model reads where no module changes it."""
        return f"{self.content}\n\n{self.left}" if self.left else self.content

    @property
    def failed(self) -> bool:
        return bool(self.error)


@dataclass(frozen=True, kw_only=True)
class Node(Body):
    """A plug-in's node ran: what it changed, or why it did not, what it asked."""

    KIND = "node"
    OPTIONAL = Body.OPTIONAL | frozenset({"asked"})
    name: str
    slot: str
    seconds: float = 0.0
    replayed: bool = False
    asked: tuple[ModelQuestion, ...] = ()
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
    """The passages of tool call `of` were extracted; `content`: what the model reads now;
    `requests`: for several passages each, the first of which is this call's."""

    KIND, STEP = "extraction", "extract"
    OPTIONAL = Body.OPTIONAL | frozenset({"requests"})
    call: Call = field(default_factory=lambda: Call(None))
    of: int
    passages: tuple[Extracted, ...]
    content: str
    requests: tuple[ExtractionRequest, ...] = ()

    @property
    def model_calls(self) -> tuple[Extracted | ExtractionRequest, ...]:
        """The requests that it stands for: shared ones, and those for a passage alone."""
        return (*self.requests, *(passage for passage in self.passages if passage.asked_alone))

    @property
    def failed(self) -> bool:
        return any(passage.how == "failed" for passage in self.passages)

    @property
    def tokens(self) -> int:
        return sum([call.usage.total for call in self.model_calls])


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
class Compacted(Body):
    """The prompt would have had more `tokens` than it may before this: the oldest `results` are
    compacted by now. `reopens`: they say that `open_passages` shows a passage whole."""

    KIND = "compacted"
    results: int
    newly: int = 0
    tokens: int = 0
    reopens: bool = False


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
class Remark(Body):
    """Something is to be told of a reply of this role: how it ended, or what it answers."""

    KIND, INCIDENTAL = "remark", True
    role: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Repair(Body):
    """An answer could not be read; `text`: what the agent was told."""

    KIND, STEP = "repair", "answer"
    problem: str | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class RepairFailed(Body):
    """The call that was to write the answer once more failed."""

    KIND, STEP, FAILED = "repair_failed", "answer", True
    error: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerRead(Body):
    """The last text was read. `how`: strict, tolerant, repaired or failed (`raw` has the text).
    Where an agent that was sent back answers once more, the last such event has the answer that
    counts. `kept`: the text, in `raw`, could not be read, and the answer before it stands."""

    KIND, STEP = "answer", "answer"
    OPTIONAL = Body.OPTIONAL | frozenset({"kept"})
    how: str
    problem: str | None = None
    raw: str | None = None
    prediction: Predicted
    kept: bool = False

    @property
    def failed(self) -> bool:
        return self.how == "failed"


TRY = "try"
"""The name of a stage that is one of several tries of the whole question."""


@dataclass(frozen=True, kw_only=True)
class Checked(Body):
    """A reviewer looked at an answer. `how`: complete, missing or failed (the answer stands);
    `missing`: what is missing; `content`: what the agent is told of it, empty where the answer
    stands; `text`: the reply as it came."""

    KIND, STEP = "check", "check"
    how: str
    missing: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    content: str
    text: str = ""
    reasoning: str = ""
    error: str | None
    usage: Usage
    seconds: float
    replayed: bool = False

    @property
    def failed(self) -> bool:
        return self.how == "failed"


@dataclass(frozen=True, kw_only=True)
class Stage(Body):
    """A stage of a question's way began, a conversation of its own: `name` says what it is for,
    `option` which option of the question that was asked back it answers. `turns`: what was said
    behind `content` before it began, the agent's and the user's in turn."""

    KIND, STEP = "stage", "stage"
    OPTIONAL = Body.OPTIONAL | frozenset({"option", "turns"})
    name: str
    option: str = ""
    system: str
    content: str
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StageEnded(Body):
    """What a stage came to: whether the question is ambiguous, what is asked back with which
    options, the options that a person chose, or the answers. `left_out`: of several tries, answers
    that their merge lacks. `problem`: why there is less than was asked for."""

    KIND, STEP = "stage_end", "stage"
    OPTIONAL = Body.OPTIONAL | frozenset(
        {"option", "ambiguous", "question", "options", "answers", "left_out", "problem"}
    )
    name: str
    option: str = ""
    ambiguous: bool | None = None
    question: str = ""
    options: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def failed(self) -> bool:
        return bool(self.problem)


@dataclass(frozen=True, kw_only=True)
class Error(Body):
    """The question failed."""

    KIND, STEP, FAILED = "error", "error", True
    kind: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Unknown(Body):
    """An event of a newer version, or of a plug-in: all of it is in `more`."""

    @property
    def failed(self) -> bool:
        return bool(self.more.get("error")) or self.more.get("how") == "failed"


KINDS: Mapping[str, type[Body]] = {cls.KIND: cls for cls in Body.__subclasses__() if cls.KIND}


def read_body(kind: str, data: Any) -> Body:
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
    def body(self) -> Body:
        return read_body(self.kind, self.data)

    def record(self) -> dict[str, Any]:
        """As it is exported: JSON-serialisable."""
        return {"seq": self.seq, "kind": self.kind, "at": self.at, "data": self.data}

    def with_body(self, body: Body) -> "Event":
        return Event(self.seq, self.kind, self.at, body.record())


def graph_name(node: str) -> str:
    """What a plug-in's node is called in the graph, where it must not meet another step's name."""
    return f"node_{node}"
