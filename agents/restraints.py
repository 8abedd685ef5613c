"""What holds requests back: how many may go at a time, their cost, servers that are gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from branchwise.agents.limits import Limiter, Limits, RequestSlot
from branchwise.agents.outages import Outages, PassEndedError, ServerWatch
from branchwise.agents.reply import ModelError
from branchwise.agents.retries import LONGEST_WAIT, Sleep, retry_wait
from branchwise.agents.spec import ModelSpec
from branchwise.trace.parts import Usage

T = TypeVar("T")


class AllowanceSpentError(PassEndedError):
    """The next request could cost more than is left."""


@dataclass
class Payment:
    """The cost of a request that was allowed; None while it is unknown."""

    usage: Usage | None = None


class Allowance(Protocol):
    """Money for requests. Declared here, implemented in eval."""

    def request(self, spec: ModelSpec, most: Usage) -> AbstractAsyncContextManager[Payment]:
        """Set aside what a request of at most `most` tokens can cost, as long as the body lasts.

        Waits while requests on their way may still leave enough. What the body writes into the
        payment is charged; after a failure that may have been paid for, all that was set aside.

        Raises:
            AllowanceSpentError: there is too little left.
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
        if self.limits is None or spec.provider != "openai":
            return None
        return self.limits.at(spec.base_url or spec.provider)

    def watch(self, spec: ModelSpec) -> ServerWatch | None:
        """The watch of the model's server; None without one or a server."""
        if self.outages is None or spec.provider != "openai":
            return None
        return self.outages.at(spec.url)


UNRESTRAINED = Restraints()


async def within_limits(
    limiter: Limiter | None,
    request: Callable[[], Awaitable[T]],
    *,
    sleep: Sleep,
    on_retry: Callable[[int, ModelError, float], None],
    on_wait: Callable[[float], None],
) -> T:
    """The result of `request`, sent when the limiter lets it go.

    A 429 that lowers the limit does not count as a failed attempt: the request queues again, behind
    the Retry-After that holds them all, or after a wait of its own. `on_wait` is called with the
    seconds of each wait for a slot, which are not charged to the caller.

    Raises:
        ModelError: the request's own.
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
            if slot is None or not _is_news(limiter, slot, error):
                raise
            refused = error
        refusals += 1
        wait = retry_wait(1, None) if refused.retry_after is None else 0.0
        on_retry(refusals, refused, wait or limiter.held)
        if wait:
            await sleep(wait)


def _is_news(limiter: Limiter, slot: RequestSlot, error: ModelError) -> bool:
    refused = error.kind == "rate_limit" and error.retryable
    in_time = error.retry_after is None or error.retry_after <= LONGEST_WAIT
    return refused and in_time and limiter.is_slower_than(slot)
