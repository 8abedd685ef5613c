"""What the process that writes a run and the workers that answer its items say to each other.

Messages do not depend on their order, except that a worker's come in the order in which it said
them. Items and calls have numbers, which are the worker's own for calls.
"""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from branchwise.agents.outages import Outage
from branchwise.agents.reply import FailureKind, ModelError
from branchwise.corpora.questions import Question
from branchwise.graphs.system import System
from branchwise.runs.store.run_store import Beginning
from branchwise.runs.store.tables import Statement
from branchwise.trace.parts import Usage


@dataclass(frozen=True)
class WorkerSystem:
    """A system that workers open, with absolute paths, its task, and its name in messages."""

    system: System
    task: str
    name: str = ""


@dataclass(frozen=True)
class Opening:
    """What a worker needs before its first item: systems, shipped sources by path, the patience,
    whether requests ask for their turn and for money, and the working directory and `sys.path` of
    who asks."""

    systems: Sequence[WorkerSystem]
    files: Mapping[str, bytes]
    patience: float
    has_limits: bool
    has_allowance: bool
    folder: str
    search_path: Sequence[str]


class WorkerOpened(NamedTuple):
    """A worker's node, version there and identities of its systems, or why it cannot answer."""

    node: str
    version: str
    identities: Sequence[Mapping[str, Any]] = ()
    refusal: str | None = None


class StartItem(NamedTuple):
    """To a worker: answer this item of the system `part`."""

    item: int
    part: int
    question: Question
    beginning: Beginning


class Granted(NamedTuple):
    """To a worker: the value of one of its calls, or what it raised."""

    call: int
    value: Any = None
    error: Exception | None = None


class WorkerCall(NamedTuple):
    """Of a worker: a call (commit, request, slot or has_answers), answered by `Granted`."""

    call: int
    item: int
    name: str
    argument: Any = None


class RequestOutcome(NamedTuple):
    """Of a worker: how a granted request ended; `kind` None: answered, or given up."""

    call: int
    usage: Usage | None = None
    kind: FailureKind | None = None
    retryable: bool = False
    retry_after: float | None = None

    @classmethod
    def failed(cls, call: int, error: ModelError) -> "RequestOutcome":
        return cls(call, None, error.kind, error.retryable, error.retry_after)

    def raise_failure(self) -> None:
        if self.kind is not None:
            raise ModelError(self.kind, "", retryable=self.retryable, retry_after=self.retry_after)


class ItemEnded(NamedTuple):
    """Of a worker: an item has ended; its last statements, and its record."""

    item: int
    statements: Sequence[Statement]
    record: dict[str, Any]


class Stopped(NamedTuple):
    """Of a worker: an item's error that is not the item's own."""

    item: int
    error: Exception


class Gone(NamedTuple):
    """Of a worker: the servers that it waits for now."""

    outages: Sequence[Outage]


def packed(messages: Sequence[object]) -> bytes:
    """Messages as bytes, for Ray to carry. They come from our own processes alone."""
    return pickle.dumps(messages, protocol=pickle.HIGHEST_PROTOCOL)


def unpacked(body: bytes) -> list[Any]:
    found: list[Any] = pickle.loads(body)  # noqa: S301 - of our own processes
    return found
