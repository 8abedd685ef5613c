"""What the process that writes a run and its workers say to each other, and a worker's end of it.

Only the order of one worker's messages matters. Calls have numbers of the worker's own. A request
asks for its turn and tells how it ended; outages are each worker's own."""

import asyncio
import itertools
import pickle
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from branchwise.agents.outages import Outage
from branchwise.agents.reply import FailureKind, ModelError
from branchwise.agents.restraints import Limiter, Limits, Payment, RequestSlot
from branchwise.agents.spec import ModelSpec
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
    """What a worker needs before its first item; `folder`, `search_path`: of who asks."""

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
    messages: list[Any] = pickle.loads(body)  # noqa: S301 - of our own processes
    return messages


GATHERED = 0.005
"""Seconds for which messages wait for others: a batch costs what one message does."""


class Channel:
    """Messages on their way out, and the calls that wait for an answer. For one event loop."""

    def __init__(self) -> None:
        self._out: list[object] = []
        self._filled, self._is_closed = asyncio.Event(), False
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    def say(self, message: object) -> None:
        self._out.append(message)
        self._filled.set()

    async def call(self, name: str, argument: object = None, item: int = 0) -> tuple[int, Any]:
        """The number and the value of a call. Raises what it raised."""
        number = next(self._numbers)
        return number, await self.answered(number, WorkerCall(number, item, name, argument))

    async def answered(self, number: int, message: object) -> Any:
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        self.say(message)
        try:
            return await waiting
        finally:
            self._waiting.pop(number, None)

    def hear(self, granted: Granted) -> None:
        waiting = self._waiting.get(granted.call)
        if waiting is None or waiting.done():
            # Given up meanwhile: what was granted is not held.
            self.say(RequestOutcome(granted.call))
        elif granted.error is not None:
            waiting.set_exception(granted.error)
        else:
            waiting.set_result(granted.value)

    async def batch(self) -> list[object]:
        """The messages that have gathered, at least one; none once it is closed."""
        await self._filled.wait()
        await asyncio.sleep(GATHERED)
        return [] if self._is_closed else self._rest()

    def close(self) -> list[object]:
        self._is_closed = True
        last = self._rest()
        self._filled.set()
        return last

    def _rest(self) -> list[object]:
        batch, self._out = self._out, []
        self._filled.clear()
        return batch


class ItemCommits:
    """Where the journal of an item in a worker commits (`runs.store.run_store.Commits`)."""

    def __init__(self, channel: Channel, item: int) -> None:
        self._channel, self._item = channel, item

    async def commit(self, statements: Sequence[Statement], *, ends_item: bool = False) -> None:
        await self._channel.call("commit", statements, self._item)


class SharedAllowance:
    """An allowance (`agents.restraints.Allowance`) that another process keeps."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    @asynccontextmanager
    async def request(self, spec: ModelSpec, most: Usage) -> AsyncIterator[Payment]:
        payment = Payment()
        async with _held(self._channel, "request", (spec, most)) as (call, _):
            try:
                yield payment
            finally:
                call.usage = payment.usage


class SharedLimiter(Limiter):
    """A server's limiter that another process keeps; `limit` and `held` are as it last said."""

    def __init__(self, channel: Channel, address: str) -> None:
        super().__init__()
        self._channel, self._address = channel, address

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[RequestSlot]:
        def learn(news: tuple[int | None, float]) -> None:
            self.limit, held = news
            self._held_until = self._clock() + held

        async with _held(self._channel, "slot", self._address) as (call, slot):
            call.news = learn
            yield slot


class SharedLimits(Limits):
    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def at(self, address: str) -> Limiter:
        return self._limiters.setdefault(address, SharedLimiter(self._channel, address))


@dataclass
class _Hold:
    usage: Usage | None = None
    news: Any = None


@asynccontextmanager
async def _held(channel: Channel, name: str, argument: object) -> AsyncIterator[tuple[_Hold, Any]]:
    """Wait for the call's grant, and tell how the body ended; `news` hears of a failure."""
    number, granted = await channel.call(name, argument)
    hold, outcome = _Hold(), RequestOutcome(number)
    try:
        yield hold, granted
    except ModelError as error:
        cause = (error.kind, error.retryable, error.retry_after)
        outcome = RequestOutcome(number, None, *cause)
        # The answer is what is known of the request's server now.
        news = await channel.answered(number, outcome)
        if hold.news:
            hold.news(news)
        raise
    finally:
        if outcome.kind is None:
            channel.say(outcome._replace(usage=hold.usage))
