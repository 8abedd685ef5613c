"""When to ask again: exponential backoff with jitter that listens to the server."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from branchwise.agents.reply import ModelError

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

FIRST_WAIT, LONGEST_BACKOFF = 1.0, 60.0
LONGEST_WAIT = 3600.0
"""Seconds; a server that asks for more is as good as down, and the call fails at once."""


def backoff(attempt: int, retry_after: float | None) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1).

    What the server asked for and up to a tenth (at most a second) more, so that calls that were
    refused together do not return together; else between half and all of 1, 2, 4, ... 60 seconds.
    """
    if retry_after is not None:
        return retry_after + random.uniform(0, min(1.0, retry_after / 10))
    longest = min(LONGEST_BACKOFF, FIRST_WAIT * 2.0 ** min(attempt - 1, 30))
    return random.uniform(longest / 2, longest)


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
    try:
        return await call()
    except ModelError as error:
        failed = [error]

    # Only now: tenacity's own bookkeeping costs a tenth of a millisecond, and most calls succeed.
    from tenacity import AsyncRetrying, RetryCallState

    async def first_failure_then_call() -> T:
        if failed:
            raise failed.pop()
        return await call()

    def failure(state: RetryCallState) -> ModelError:
        error = state.outcome.exception() if state.outcome else None
        assert isinstance(error, ModelError)
        return error

    def wait(state: RetryCallState) -> float:
        return backoff(state.attempt_number, failure(state).retry_after)

    def stop(state: RetryCallState) -> bool:
        left = time_left()
        longest = LONGEST_WAIT if left is None else min(LONGEST_WAIT, left)
        return state.attempt_number >= attempts or state.upcoming_sleep >= longest

    def before_sleep(state: RetryCallState) -> None:
        on_retry(state.attempt_number, failure(state), state.upcoming_sleep)

    retrying = AsyncRetrying(
        sleep=sleep,
        wait=wait,
        stop=stop,
        before_sleep=before_sleep,
        retry=_is_retryable,
        reraise=True,
    )
    return await retrying(first_failure_then_call)


def _is_retryable(state: object) -> bool:
    error = getattr(getattr(state, "outcome", None), "exception", lambda: None)()
    return isinstance(error, ModelError) and error.retryable
