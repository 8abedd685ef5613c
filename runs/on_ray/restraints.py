"""What holds requests back, seen from a worker: one pace and one allowance for all workers.

A request asks the process that writes the run for its turn, and tells it how it ended. Outages are
each worker's own: it waits for a server that it cannot reach itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from branchwise.agents.reply import ModelError
from branchwise.agents.restraints import Limiter, Limits, Payment, RequestSlot
from branchwise.agents.spec import ModelSpec
from branchwise.runs.on_ray.channel import Channel
from branchwise.runs.on_ray.messages import RequestOutcome
from branchwise.trace.parts import Usage


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
    """Limiters that another process keeps, by address."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def at(self, address: str) -> Limiter:
        return self._limiters.setdefault(address, SharedLimiter(self._channel, address))


class _Hold:
    """A granted call while its request is on its way."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.news: Any = None


@asynccontextmanager
async def _held(channel: Channel, name: str, argument: object) -> AsyncIterator[tuple[_Hold, Any]]:
    """Wait until the call is granted, and tell how the body ended; after a failure, what the other
    process has learnt of it goes to `news`."""
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
