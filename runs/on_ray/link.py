"""One worker, seen from the process that writes the run: it commits what the worker records."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from branchwise.agents.outages import PassEndedError
from branchwise.agents.reply import ModelError
from branchwise.agents.restraints import Restraints
from branchwise.runs.answering import HasAnswers
from branchwise.runs.on_ray.messages import (
    GATHERED,
    Gone,
    Granted,
    ItemEnded,
    RequestOutcome,
    StartItem,
    Stopped,
    WorkerCall,
    packed,
    unpacked,
)
from branchwise.runs.store import StoreError
from branchwise.runs.store.run_store import Beginning, PendingItem, RunStore

_STOP_SECONDS = 3.0


class WorkerLostError(Exception):
    """The worker died while it had the item."""


class _Item(NamedTuple):
    part: int
    ended: "asyncio.Future[dict[str, Any]]"


class WorkerLink:
    """An open worker. Its messages are fetched, so one that is cut off writes nothing."""

    def __init__(
        self,
        actor: Any,
        stores: Sequence[RunStore],
        has_answers: Sequence[HasAnswers],
        restraints: Restraints,
    ) -> None:
        self.actor = actor
        self._stores, self._has_answers, self._restraints = stores, has_answers, restraints
        self._items: dict[int, _Item] = {}
        self._out: list[object] = []
        self._outcomes: dict[int, asyncio.Future[RequestOutcome]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetching: asyncio.Future[bytes] | None = None
        self._next = 1

    @property
    def load(self) -> int:
        return len(self._items)

    async def answered(
        self, part: int, pending: PendingItem, beginning: Beginning
    ) -> dict[str, Any]:
        """The record of an item, committed. Raises WorkerLostError, and what ends the pass."""
        number, self._next = self._next, self._next + 1
        ended = asyncio.get_running_loop().create_future()
        self._items[number] = _Item(part, ended)
        self._send(StartItem(number, part, pending.question, beginning))
        try:
            record: dict[str, Any] = await ended
            return record
        finally:
            self._items.pop(number, None)

    async def serve(self) -> None:
        """Do what the worker says, until it dies: then Ray's error is raised."""
        while True:
            self._fetching = asyncio.ensure_future(result_of(self.actor.poll.remote()))
            # It may end after this, with the worker.
            self._fetching.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._hear(await asyncio.shield(self._fetching))

    async def stopped(self) -> None:
        """Let the worker give up what it has; what it had recorded until then is committed."""
        import ray

        # What it cannot say any more is asked for again.
        with suppress(Exception):
            last = await asyncio.wait_for(result_of(self.actor.stop.remote()), _STOP_SECONDS)
            if self._fetching:
                self._hear(await asyncio.wait_for(self._fetching, _STOP_SECONDS))
            self._hear(last)
        await self.lost(PassEndedError("the worker was stopped"))
        ray.kill(self.actor)

    async def lost(self, error: Exception) -> None:
        """What the worker said is committed; what it still has ends with the error."""
        if self._restraints.outages:
            self._restraints.outages.told.pop(self, None)
        for number, outcome in self._outcomes.items():
            # Its request may have been answered, and paid for.
            if not outcome.done():
                outcome.set_result(RequestOutcome(number, kind="cut"))
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for item in self._items.values():
            if not item.ended.done():
                item.ended.set_exception(error)

    def _send(self, message: object) -> None:
        def flush() -> None:
            batch, self._out = self._out, []
            # That the worker is lost, or the cluster, is noticed where its messages are fetched.
            with suppress(Exception):
                self.actor.deliver.remote(packed(batch))

        if not self._out:
            asyncio.get_running_loop().call_later(GATHERED, flush)
        self._out.append(message)

    def _hear(self, body: bytes) -> None:
        for message in unpacked(body):
            match message:
                case RequestOutcome():
                    if (waiting := self._outcomes.get(message.call)) and not waiting.done():
                        waiting.set_result(message)
                case Gone():
                    if self._restraints.outages:
                        self._restraints.outages.told[self] = message.outages
                case Stopped():
                    if (item := self._items.get(message.item)) and not item.ended.done():
                        item.ended.set_exception(message.error)
                case ItemEnded():
                    self._begin(self._end(message))
                case WorkerCall():
                    self._begin(self._called(message))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self, message: ItemEnded) -> None:
        item = self._items.get(message.item)
        if item is None:
            return
        try:
            await self._stores[item.part].writer.commit(message.statements, ends_item=True)
        except StoreError as error:
            if not item.ended.done():
                item.ended.set_exception(error)
        else:
            if not item.ended.done():
                item.ended.set_result(message.record)

    async def _called(self, call: WorkerCall) -> None:
        try:
            match call.name:
                case "commit":
                    await self._commit(call)
                case "request":
                    await self._request(call)
                case "slot":
                    await self._slot(call)
                case _:
                    item = self._items.get(call.item)
                    has_answers = item is not None and await self._has_answers[item.part]()
                    self._send(Granted(call.call, has_answers))
        except Exception as error:  # noqa: BLE001 - raised in the worker
            # Of a class that every process has.
            carried: Exception = RuntimeError(f"{type(error).__name__}: {error}")
            if isinstance(error, PassEndedError | StoreError):
                is_plain = type(error) in (PassEndedError, StoreError)
                carried = (type(error) if is_plain else PassEndedError)(str(error))
            self._send(Granted(call.call, error=carried))

    async def _commit(self, call: WorkerCall) -> None:
        item = self._items.get(call.item)
        if item is None:
            # It was given up; the worker does not know yet.
            raise PassEndedError("the item was given up")
        try:
            await self._stores[item.part].writer.commit(call.argument)
        except StoreError as error:
            if not item.ended.done():
                item.ended.set_exception(error)
            raise
        self._send(Granted(call.call))

    async def _request(self, call: WorkerCall) -> None:
        allowance = self._restraints.allowance
        assert allowance is not None
        try:
            async with allowance.request(*call.argument) as payment, self._granted(call) as ended:
                outcome = await ended
                payment.usage = outcome.usage
                outcome.raise_failure()
        except ModelError:
            self._send(Granted(call.call))

    async def _slot(self, call: WorkerCall) -> None:
        limits = self._restraints.limits
        assert limits is not None
        limiter = limits.at(call.argument)
        try:
            async with limiter.slot() as slot, self._granted(call, slot) as ended:
                (await ended).raise_failure()
        except ModelError:
            self._send(Granted(call.call, (limiter.limit, limiter.held)))

    @asynccontextmanager
    async def _granted(
        self, call: WorkerCall, value: Any = None
    ) -> AsyncIterator["asyncio.Future[RequestOutcome]"]:
        ended = self._outcomes[call.call] = asyncio.get_running_loop().create_future()
        self._send(Granted(call.call, value))
        try:
            yield ended
        finally:
            del self._outcomes[call.call]


async def result_of(reference: Any) -> Any:
    return await reference
