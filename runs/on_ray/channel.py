"""A worker's end of the conversation: calls that are answered, and what it says in batches."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from branchwise.runs.on_ray.messages import Granted, RequestOutcome, WorkerCall
from branchwise.runs.store.tables import Statement

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
        """Put a message in the next batch."""
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
        """An answer has come."""
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
        """The last messages."""
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
