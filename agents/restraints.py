"""What holds a model's requests back: how many may go at a time, and what they may cost."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from branchwise.agents.limits import Limiter, Limits, Slot
from branchwise.agents.reply import ModelError, Usage
from branchwise.agents.retries import LONGEST_WAIT, Sleep, backoff
from branchwise.agents.spec import ModelSpec

T = TypeVar("T")


class AllowanceSpentError(Exception):
    """The next request could cost more than is left. No item's failure: the whole pass ends."""


@dataclass
class Payment:
    """What a request that was allowed came to; None while, and where, nobody knows."""

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
    """Shared by all models of a pass; None: nothing holds a request back."""

    limits: Limits | None = None
    allowance: Allowance | None = None

    def limiter(self, spec: ModelSpec) -> Limiter | None:
        """The limiter of the model's server; None where there is none, or no server."""
        if self.limits is None or spec.provider == "offline":
            return None
        return self.limits.at(spec.base_url or spec.provider)


UNRESTRAINED = Restraints()


async def within_limits(
    limiter: Limiter | None,
    request: Callable[[], Awaitable[T]],
    *,
    deadline: float | None,
    sleep: Sleep,
    on_retry: Callable[[int, ModelError, float], None],
) -> T:
    """The result of `request`, sent when the limiter lets it go.

    A 429 after which fewer requests go at a time is no failed attempt: the request waits and
    queues again. `deadline` is on `time.monotonic`; a wait that does not end before it is not
    begun.

    Raises:
        ModelError: the request's own, or `timeout` where no slot was free in time.
    """
    if limiter is None:
        return await request()
    refusals = 0
    while True:
        slot: Slot | None = None
        left = None if deadline is None else deadline - time.monotonic()
        try:
            async with limiter.slot(left) as slot:
                return await request()
        except ModelError as error:
            refused, wait = error, backoff(1, error.retry_after)
            longest = LONGEST_WAIT if left is None else min(LONGEST_WAIT, left)
            if not _is_news(limiter, slot, error) or wait >= longest:
                raise
        refusals += 1
        on_retry(refusals, refused, wait)
        await sleep(wait)


def _is_news(limiter: Limiter, slot: Slot | None, error: ModelError) -> bool:
    refused = error.kind == "rate_limit" and error.retryable
    return refused and slot is not None and limiter.is_slower_than(slot)
