"""What events are made of: their base, calls, what these cost, what became of passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from branchwise.trace.artifacts import Artifact
from branchwise.trace.records import Record, mapping


@dataclass(frozen=True)
class Usage(Record):
    """Tokens of one call as the server counts them (0 where it does not say). `cached` (read from
    the prompt cache) and `written` (to it) are parts of `input`, `reasoning` is part of
    `output`."""

    OPTIONAL = frozenset({"written"})
    input: int
    output: int
    cached: int = 0
    reasoning: int = 0
    written: int = 0

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
        return str(self.name)


@dataclass(frozen=True)
class Dropped(Record):
    """A line of a module's reply that was not taken, and why."""

    text: str
    why: str


@dataclass(frozen=True)
class FoundTitle(Record):
    """Something that bears a name in the question: what tells it apart from others of that name.
    `name`: as the question has it; `about`: how it is described, at most a line."""

    OPTIONAL = frozenset({"about"})
    id: str = ""
    title: str = ""
    name: str = ""
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class TitleSearch(Record):
    """What a tool was asked before the readings were written. `hits`: how much it found; `found`:
    that of it which bears a name in the question, each title once; `error`: why it found nothing.
    """

    OPTIONAL = frozenset({"error"})
    AROUND = frozenset({"seconds", "replayed"})
    tool: str
    args: Mapping[str, Any]
    hits: int = 0
    found: tuple[FoundTitle, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class ModelQuestion(Record):
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
    spans are all of it. `shared`: it was read in a request with others, whose cost stands in the
    turn's `ExtractionRequest`s; `reused`: it was read before, and this is what was kept then."""

    OPTIONAL = frozenset({"shared", "reused"})
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
    shared: bool = False
    reused: bool = False

    @property
    def asked_alone(self) -> bool:
        """Whether a request of its own was made for it."""
        return not (self.shared or self.reused)


@dataclass(frozen=True, kw_only=True)
class ExtractionRequest(Record):
    """One request for `passages` passages, of which the reply was of use for `used`; the others
    were asked about again."""

    AROUND = frozenset({"seconds", "replayed", "usage"})
    passages: int
    used: int
    reasoning: str = ""
    error: str | None = None
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
        return tuple(one for one in self.pending or () if one.of is not None)

    @property
    def is_empty(self) -> bool:
        return not self.record()


@dataclass(frozen=True)
class Predicted(Record):
    """The agent's answer by branch, as `agents.prediction.Prediction` writes it."""

    reasoning: str = ""
    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    citations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    task_output: Any = None

    @property
    def branches(self) -> dict[str, list[str]]:
        return {str(name): _texts(texts) for name, texts in self.answers.items()}

    @property
    def cited(self) -> dict[str, list[str]]:
        return {str(name): _texts(ids) for name, ids in self.citations.items()}


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


@dataclass(frozen=True, kw_only=True)
class Body(Record):
    """What an event holds. `KIND`: what the trace calls it. `STEP`: the node of the graph that
    wrote it; None for what belongs to the event that follows. `INCIDENTAL`: it tells how requests
    travelled, not what was done. `FAILED`: it always tells of a failure. `edited`: a fork put a
    text of its own into it."""

    KIND: ClassVar[str] = ""
    STEP: ClassVar[str | None] = None
    INCIDENTAL: ClassVar[bool] = False
    FAILED: ClassVar[bool] = False
    OPTIONAL = frozenset({"edited"})
    AROUND = frozenset({"seconds", "replayed", "usage", "wait", "edited"})
    edited: bool = False

    def written(self) -> tuple[str, dict[str, Any]]:
        return self.KIND, self.record()

    @property
    def step(self) -> str | None:
        return self.STEP

    @property
    def failed(self) -> bool:
        return self.FAILED

    @property
    def tokens(self) -> int:
        """Input and output of the agent's and the modules' calls that it stands for."""
        usage = getattr(self, "usage", None)
        return usage.total if isinstance(usage, Usage) else 0
