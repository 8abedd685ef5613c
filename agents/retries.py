"""When to ask again: exponential backoff with jitter that listens to the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from branchwise.agents.reply import ModelError
from branchwise.base.backoff import Tries, backoff

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

FIRST_WAIT, LONGEST_BACKOFF = 1.0, 60.0
LONGEST_WAIT = 3600.0
"""Seconds; a server that asks for more is as good as down, and the call fails at once."""


def retry_wait(attempt: int, retry_after: float | None) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1) at a model."""
    return backoff(attempt, retry_after, first=FIRST_WAIT, longest=LONGEST_BACKOFF)


async def with_retries(
    call: Callable[[], Awaitable[T]],
    *,
    attempts: int,
    time_left: Callable[[], float | None],
    sleep: Sleep,
    on_retry: Callable[[int, ModelError, float], None],
) -> T:
    """The result of `call`, which is made up to `attempts` times while its ModelError is retryable.

    `time_left` is in seconds, None for any time; a wait that takes all of it is not begun.
    `on_retry` gets the failed attempt's number, its error and the wait in seconds.

    Raises:
        ModelError: the last one.
    """
    tries = Tries(attempts, first=FIRST_WAIT, longest=LONGEST_BACKOFF)
    while True:
        try:
            return await call()
        except ModelError as error:
            failed, left = error, time_left()
            longest = LONGEST_WAIT if left is None else min(LONGEST_WAIT, left)
            wait = tries.wait(longest, error.retry_after)
            if not error.retryable or wait is None:
                raise
        on_retry(tries.made, failed, wait)
        await sleep(wait)
