"""A worker's end of the conversation: calls that are answered, and what holds its requests back.

A request asks the process that writes the run for its turn, and tells it how it ended. Outages are
each worker's own: it waits for a server that it cannot reach itself."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from branchwise.agents.reply import ModelError
from branchwise.agents.restraints import Limiter, Limits, Payment, RequestSlot
from branchwise.agents.spec import ModelSpec
from branchwise.runs.on_ray.messages import Granted, RequestOutcome, WorkerCall
from branchwise.runs.store.tables import Statement
from branchwise.trace.parts import Usage

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
        return number, await self._answered(number, WorkerCall(number, item, name, argument))

    async def tell_failure(self, outcome: RequestOutcome) -> Any:
        """Say that a granted request failed; returns what is known of its server now."""
        return await self._answered(outcome.call, outcome)

    async def _answered(self, number: int, message: object) -> Any:
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
        async with _held(self._channel, "slot", self._address) as (call, slot):
            call.news = self._learn
            yield slot

    def _learn(self, news: tuple[int | None, float]) -> None:
        self.limit, held = news
        self._held_until = self._clock() + held


class SharedLimits(Limits):
    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def at(self, address: str) -> Limiter:
        return self._limiters.setdefault(address, SharedLimiter(self._channel, address))


class _Hold:
    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.news: Any = None


@asynccontextmanager
async def _held(channel: Channel, name: str, argument: object) -> AsyncIterator[tuple[_Hold, Any]]:
    """Wait until the call is granted, tell how the body ended, and after a failure hand what the
    other process learnt of it to `news`."""
    number, granted = await channel.call(name, argument)
    hold, outcome = _Hold(), RequestOutcome(number)
    try:
        yield hold, granted
    except ModelError as error:
        outcome = RequestOutcome.failed(number, error)
        news = await channel.tell_failure(outcome)
        if hold.news:
            hold.news(news)
        raise
    finally:
        if outcome.kind is None:
            channel.say(outcome._replace(usage=hold.usage))
