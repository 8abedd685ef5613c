"""Calling the code of a plug-in so that nothing it does harms the run."""

import asyncio
import contextlib
import copy
import functools
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from branchwise.corpora.plugins.faults import fault_line
from branchwise.corpora.plugins.printed import Printed, catch_output, process_as_it_was
from branchwise.corpora.plugins.run_context import current_run
from branchwise.corpora.plugins.threads import (
    DaemonThread,
    JobOutcome,
    Running,
    plugin_loop,
    run_on_a_thread,
)

MAX_HUNG = 32
"""Maximum number of calls that never ended; after that a plug-in is no longer called."""

Read = TypeVar("Read")


@dataclass(frozen=True)
class Called(Generic[Read]):
    """The result of a call: its value as read, its output, its seconds."""

    value: Read
    printed: str
    seconds: float


class PluginFailure(Exception):  # noqa: N818 - it is what the call came to
    """A failed call; `line` says why, `NAME: ValueError: message`.

    `error` is what the plug-in raised, None if it was stopped; `printed` as in `Called`.
    """

    def __init__(
        self, name: str, line: str, error: BaseException | None = None, printed: str = ""
    ) -> None:
        super().__init__(f"{name}: {line}")
        self.name, self.line, self.error, self.printed = name, str(self), error, printed


class Isolator:
    """Calls one plug-in: for a limited time, with copied arguments and captured output.

    A coroutine function runs in the event loop of plug-ins and is cancelled when its time is over;
    any other runs on a daemon thread, which is then abandoned. A call that continues regardless is
    counted as long as it lasts.
    """

    def __init__(self, name: str, most: int = MAX_HUNG) -> None:
        """`most`: number of unended calls after which the plug-in is no longer called."""
        self.name, self._most = name, most
        self._hung: list[Future[JobOutcome]] = []

    @property
    def hung(self) -> int:
        """How many calls were given up and have not ended yet."""
        with _LOCK:
            self._hung = _unended(self._hung)
            return len(self._hung)

    async def call(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        *,
        seconds: float,
        injected: Mapping[str, Any] | None = None,
        read: "Callable[[Any], Read]" = lambda value: value,
    ) -> Called[Read]:
        """Call with deep copies of `arguments`, and with `injected` unchanged.

        `read` converts the returned value, where the plug-in runs, because its class may be
        foreign. Cancelling the caller also stops the call.

        Raises: PluginFailure: it raised anything (even SystemExit), returned what `read` does not
            accept, took too long, or is no longer called.
        """
        limit = _Limit(seconds)
        with _catching() as printed:
            job = _Job(function, {**self._copied(arguments), **(injected or {})}, read)
            if is_async(function):
                value = await self._awaited(lambda: plugin_loop().run(job.awaited), limit)
            else:
                thread = f"plug-in {self.name}"
                value = await self._awaited(lambda: run_on_a_thread(thread, job.made), limit)
                # A partial, a lambda or a callable object may turn out to be asynchronous.
                if isinstance(value, _Later):
                    later = functools.partial(job.read_later, value)
                    value = await self._awaited(lambda: plugin_loop().run(later), limit)
        return Called(value, printed.end(), limit.taken)

    def call_on(
        self,
        thread: DaemonThread,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        *,
        seconds: float,
        read: "Callable[[Any], Read]" = lambda value: value,
    ) -> Called[Read]:
        """The same for a function that is not async; blocks the caller's thread."""
        limit = _Limit(seconds)
        with _catching() as printed:
            job = _Job(function, self._copied(arguments), read)
            running = self._begun(lambda: thread.run(job.read_now))
            try:
                outcome = running.ended.result(limit.left)
            except BaseException as error:
                self._give_up(running)
                if isinstance(error, TimeoutError):
                    raise self._late(limit, running) from None
                raise
            value = self._value(outcome)
        return Called(value, printed.end(), limit.taken)

    async def _awaited(self, begin: Callable[[], Running], limit: "_Limit") -> Any:
        running = self._begun(begin)
        ended = asyncio.wrap_future(running.ended)
        try:
            # The limit moves while the call waits for a server.
            while not ended.done() and limit.left > 0:
                await asyncio.wait([ended], timeout=limit.left)
            if not ended.done():
                raise self._late(limit, running)
        finally:
            if not ended.done():
                await self._stop(running, ended)
        return self._value(ended.result())

    async def _stop(self, running: Running, ended: "asyncio.Future[JobOutcome]") -> None:
        with contextlib.suppress(RuntimeError):  # its loop has ended meanwhile
            running.stop()
        try:
            if running.grace:
                await asyncio.wait([ended], timeout=running.grace)
        finally:
            if not ended.done():
                self._give_up(running)
                # The loop that waits here may be closed when it ends.
                ended.cancel()

    def _begun(self, begin: Callable[[], Running]) -> Running:
        if self.hung >= self._most:
            raise PluginFailure(
                self.name, f"not called: {self._most} earlier calls have never ended"
            )
        try:
            return begin()
        except RuntimeError as error:
            raise PluginFailure(self.name, f"no thread could be started: {error}") from None

    def _give_up(self, running: Running) -> None:
        running.leave()
        with _LOCK:
            self._hung.append(running.ended)
            _ALL_HUNG[:] = [*_unended(_ALL_HUNG), running.ended]

    def _late(self, limit: "_Limit", running: Running) -> PluginFailure:
        what = f"no result within {limit.seconds:g} seconds ({running.stopped})"
        return PluginFailure(self.name, what)

    def _value(self, outcome: JobOutcome) -> Any:
        if outcome.error is None:
            return outcome.value
        raise PluginFailure(self.name, fault_line(outcome.error), outcome.error) from outcome.error

    def _copied(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return {key: copy.deepcopy(value) for key, value in arguments.items()}
        except Exception as error:  # noqa: BLE001 - what is copied may be anyone's class
            line = f"its arguments cannot be copied: {fault_line(error)}"
            raise PluginFailure(self.name, line, error) from None


@functools.cache
def isolator(name: str) -> Isolator:
    """The isolator of a tool's or node's name in this process, whatever the system."""
    return Isolator(name)


def any_hung() -> bool:
    """Whether any plug-in's call was given up and has not ended yet."""
    with _LOCK:
        return bool(_unended(_ALL_HUNG))


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call gives a coroutine, as far as this can be known before the call."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - whether it is a coroutine function
    )


_ALL_HUNG: list[Future[JobOutcome]] = []
_LOCK = threading.Lock()


def _unended(calls: list[Future[JobOutcome]]) -> list[Future[JobOutcome]]:
    return [call for call in calls if not call.done()]


@contextlib.contextmanager
def _catching() -> Iterator[Printed]:
    with process_as_it_was(), catch_output() as printed:
        try:
            yield printed
        except PluginFailure as failure:
            failure.printed = printed.end()
            raise
        finally:
            printed.end()


class _Limit:
    """The time limit of a call, counted from the creation of this object, without its waits."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._began = seconds, time.perf_counter()
        self._waited = current_run().waited

    @property
    def taken(self) -> float:
        return time.perf_counter() - self._began

    @property
    def left(self) -> float:
        return min(max(0.0, self.seconds + self._waited() - self.taken), threading.TIMEOUT_MAX)


@dataclass(frozen=True)
class _Later:
    """What a function on a thread returned, if it still must be awaited."""

    value: Awaitable[Any]


@dataclass(frozen=True)
class _Job:
    """A call as its thread or its loop makes it."""

    function: Callable[..., Any]
    given: Mapping[str, Any]
    read: Callable[[Any], Any]

    def made(self) -> Any:
        value = self.function(**self.given)
        return _Later(value) if inspect.isawaitable(value) else self.read(value)

    def read_now(self) -> Any:
        return self.read(self.function(**self.given))

    async def awaited(self) -> Any:
        return self.read(await self.function(**self.given))

    async def read_later(self, later: _Later) -> Any:
        return self.read(await later.value)
