"""What holds requests back: how many may go to a server at a time, learnt from its refusals; their
cost; servers that are gone (`agents/outages.py`). And when to ask again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from branchwise.agents.outages import Outages, PassEndedError, ServerWatch, Sleep
from branchwise.agents.reply import LONGEST_WAIT, ModelError
from branchwise.agents.spec import ModelSpec
from branchwise.base.backoff import Tries, backoff
from branchwise.trace.parts import Usage

T = TypeVar("T")
OnRetry = Callable[[int, ModelError, float], None]
"""Gets a failed attempt's number, its error and the wait in seconds."""
FIRST_WAIT, LONGEST_BACKOFF = 1.0, 60.0


@dataclass(frozen=True)
class RequestSlot:
    """A request's leave to go.

    `company`: requests on their way when it went, itself included; `limit`: the limit that let it
    go; `generation`: how often that had been halved; `waited`: seconds until its turn.
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
    goes. For one event loop at a time; `sleep` and `clock` are in seconds.
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
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Nothing of an ended one is on its way.
            self._loop, self.in_flight = loop, 0
            self._turnstile, self._freed = asyncio.Lock(), asyncio.Event()
        began = self._clock()
        # The request that holds the turnstile is next; the others queue for it in order.
        async with self._turnstile:
            await self._until_free()
            self.in_flight += 1
        waited = self._clock() - began
        slot = RequestSlot(self.in_flight, self.limit, self._generation, waited)
        try:
            yield slot
        except ModelError as error:
            self._note_failure(slot, error)
            raise
        else:
            self._note_success(slot)
        finally:
            self.in_flight -= 1
            self._freed.set()

    async def _until_free(self) -> None:
        while True:
            if held := self.held:
                await self._sleep(held)
            elif self.limit is not None and self.in_flight >= self.limit:
                self._freed.clear()
                await self._freed.wait()
            else:
                return

    def _note_success(self, slot: RequestSlot) -> None:
        # A limit that is never reached says nothing about what the server would accept beyond it.
        if self.limit is None or slot.generation != self._generation or self.in_flight < self.limit:
            return
        self._successes += 1
        if self._successes >= self.limit:
            self._successes = 0
            self.limit += self.most is None or self.limit < self.most

    def _note_failure(self, slot: RequestSlot, error: ModelError) -> None:
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


class AllowanceSpentError(PassEndedError):
    """The next request could cost more than is left."""


@dataclass
class Payment:
    """The cost of a request that was allowed; None while it is unknown."""

    usage: Usage | None = None


class Allowance(Protocol):
    """Money for requests. Declared here, implemented in `runs/costs`."""

    def request(self, spec: ModelSpec, most: Usage) -> AbstractAsyncContextManager[Payment]:
        """Set aside what a request of at most `most` tokens can cost, as long as the body lasts.

        Waits while requests on their way may still leave enough. What the body writes into the
        payment is charged; after a failure that may have been paid for, all that was set aside.
        Raises AllowanceSpentError if there is too little left.
        """
        ...


@dataclass(frozen=True)
class Restraints:
    """Shared by all that a pass asks; None: nothing holds a request back."""

    limits: Limits | None = None
    allowance: Allowance | None = None
    outages: Outages | None = None

    def limiter(self, spec: ModelSpec) -> Limiter | None:
        """The limiter of the model's server; None without a limit or a server."""
        if self.limits is None or spec.service is None:
            return None
        return self.limits.at(spec.base_url or spec.provider)

    def watch(self, spec: ModelSpec) -> ServerWatch | None:
        """The watch of the model's server; None without one or a server."""
        if self.outages is None or spec.service is None:
            return None
        return self.outages.at(spec.url)


UNRESTRAINED = Restraints()


def retry_wait(attempt: int, retry_after: float | None) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1): exponential, with jitter."""
    return backoff(attempt, retry_after, first=FIRST_WAIT, longest=LONGEST_BACKOFF)


async def with_retries(
    call: Callable[[], Awaitable[T]],
    *,
    attempts: int,
    time_left: Callable[[], float | None],
    sleep: Sleep,
    on_retry: OnRetry,
) -> T:
    """The result of `call`, which is made up to `attempts` times while its ModelError is retryable.

    `time_left` is in seconds, None for any time; a wait that takes all of it is not begun.
    Raises the last ModelError.
    """
    tries = Tries(attempts, first=FIRST_WAIT, longest=LONGEST_BACKOFF)
    while True:
        try:
            return await call()
        except ModelError as error:
            failure, left = error, time_left()
            longest = LONGEST_WAIT if left is None else min(LONGEST_WAIT, left)
            wait = tries.wait(longest, error.retry_after)
            if not error.retryable or wait is None:
                raise
        on_retry(tries.made, failure, wait)
        await sleep(wait)


async def within_limits(
    limiter: Limiter | None,
    request: Callable[[], Awaitable[T]],
    *,
    sleep: Sleep,
    on_retry: OnRetry,
    on_wait: Callable[[float], None],
) -> T:
    """The result of `request`, sent when the limiter lets it go.

    A 429 that lowers the limit does not count as a failed attempt: the request queues again, behind
    the Retry-After that holds them all, or after a wait of its own. `on_wait` is called with the
    seconds of each wait for a slot, which are not charged to the caller.
    """
    if limiter is None:
        return await request()
    refusals = 0
    while True:
        slot: RequestSlot | None = None
        try:
            async with limiter.slot() as slot:
                on_wait(slot.waited)
                return await request()
        except ModelError as error:
            after = error.retry_after
            is_refused = error.kind == "rate_limit" and error.retryable
            if slot is None or not is_refused or (after is not None and after > LONGEST_WAIT):
                raise
            # Asking again differs where fewer may go at a time than when this one went.
            if limiter.limit is None or (slot.limit is not None and limiter.limit >= slot.limit):
                raise
            refused = error
        refusals += 1
        wait = retry_wait(1, None) if refused.retry_after is None else 0.0
        on_retry(refusals, refused, wait or limiter.held)
        if wait:
            await sleep(wait)
