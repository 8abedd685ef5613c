"""How many requests go to one server at a time, learnt from its refusals."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from branchwise.agents.reply import ModelError
from branchwise.agents.retries import LONGEST_WAIT, Sleep


@dataclass(frozen=True)
class RequestSlot:
    """A request's leave to go. `company`: requests on their way when it went, itself included.

    `limit`: the limit that let it go; `generation`: how often that had been halved; `waited`: the
    seconds that it had waited for its turn.
    """

    company: int
    limit: int | None
    generation: int
    waited: float


class Limiter:
    """Lets requests to one server go in the order in which they came, at most `limit` at a time.

    A 429 halves what may be on its way: once for all requests that went before it came, since one
    burst is one piece of news. Then `limit` successes while all slots are taken raise it by one,
    up to `most` (None: unlimited until the first 429). While a Retry-After lasts no request
    goes.

    For one event loop at a time; `sleep` and `clock` are in seconds.
    """

    def __init__(
        self,
        most: int | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if most is not None and most < 1:
            raise ValueError(f"at least 1 request at a time, not {most}")
        self.most, self.limit = most, most
        self.in_flight = self.refusals = 0
        self._sleep, self._clock = sleep, clock
        self._generation = self._successes = 0
        self._held_until = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def held(self) -> float:
        """Seconds for which the server asked to be left alone, from now on."""
        return max(0.0, self._held_until - self._clock())

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[RequestSlot]:
        """Wait for a slot, then hold it; what the body raises says how the request ended."""
        slot = await self._entered()
        try:
            yield slot
        except ModelError as error:
            self._failed(slot, error)
            raise
        else:
            self._succeeded(slot)
        finally:
            self.in_flight -= 1
            self._freed.set()

    def is_slower_than(self, slot: RequestSlot) -> bool:
        """Whether fewer requests may go at a time than when this one went: asking again differs."""
        return self.limit is not None and (slot.limit is None or self.limit < slot.limit)

    async def _entered(self) -> RequestSlot:
        self._belong_here()
        began = self._clock()
        # The request that holds the turnstile is next; the others queue for it in order.
        async with self._turnstile:
            await self._until_free()
            self.in_flight += 1
        return RequestSlot(self.in_flight, self.limit, self._generation, self._clock() - began)

    async def _until_free(self) -> None:
        while True:
            if held := self.held:
                await self._sleep(held)
            elif self.limit is not None and self.in_flight >= self.limit:
                self._freed.clear()
                await self._freed.wait()
            else:
                return

    def _belong_here(self) -> None:
        """Begin anew in another event loop: nothing of an ended one is on its way."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self.in_flight = loop, 0
            self._turnstile, self._freed = asyncio.Lock(), asyncio.Event()

    def _succeeded(self, slot: RequestSlot) -> None:
        # A limit that is never reached says nothing about what the server would accept beyond it.
        if self.limit is None or slot.generation != self._generation or self.in_flight < self.limit:
            return
        self._successes += 1
        if self._successes >= self.limit:
            self._successes = 0
            self.limit += self.most is None or self.limit < self.most

    def _failed(self, slot: RequestSlot, error: ModelError) -> None:
        if error.retry_after is not None and error.retry_after <= LONGEST_WAIT:
            self._held_until = max(self._held_until, self._clock() + error.retry_after)
        if error.kind != "rate_limit" or not error.retryable:
            return
        self.refusals += 1
        if slot.generation == self._generation:
            # Half of what was in flight: if that was less than allowed, the limit was not what
            # mattered.
            together = max(slot.company, self.in_flight)
            self.limit = max(1, min(self.limit or together, together) // 2)
            self._generation, self._successes = self._generation + 1, 0


class Limits:
    """A limiter for each server that is asked, by address: shared by all that ask there."""

    def __init__(
        self,
        most: int | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._sleep, self._clock = most, sleep, clock
        self._limiters: dict[str, Limiter] = {}

    def at(self, address: str) -> Limiter:
        """The one limiter of this address."""
        if address not in self._limiters:
            limiter = Limiter(self._most, sleep=self._sleep, clock=self._clock)
            self._limiters[address] = limiter
        return self._limiters[address]

    def known(self) -> dict[str, Limiter]:
        """The limiters so far, by address."""
        return dict(self._limiters)
