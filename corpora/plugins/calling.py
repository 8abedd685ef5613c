"""Calling a plug-in's function so that nothing it does harms the run."""

import asyncio
import contextlib
import copy
import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any

from branchwise.corpora.plugins.faults import fault_line
from branchwise.corpora.plugins.leash import Leash, Tasks, forget, watch_tasks
from branchwise.corpora.plugins.printed import catch_output, has_caught, process_as_it_was
from branchwise.corpora.plugins.threads import (
    SECONDS_AT_END,
    SECONDS_WHERE_GIVEN_UP,
    end_within,
)

MAX_ABANDONED = 32
"""Calls of one plug-in that never ended; with as many it is not called any more."""
GRACE = 1.0
"""Seconds that a cancelled coroutine has for its own cleaning up."""


@dataclass(frozen=True)
class Called:
    """What a call came to: its value as it was returned, what it printed, its seconds."""

    value: Any
    printed: str
    seconds: float


class PluginFailure(Exception):  # noqa: N818 - it is what the call came to
    """A call that brought nothing; `line` says why, `NAME: ValueError: what it says`.

    `error` is what the plug-in raised, None where it was stopped; `printed` as in `Called`.
    """

    def __init__(
        self, name: str, line: str, error: BaseException | None = None, printed: str = ""
    ) -> None:
        super().__init__(f"{name}: {line}")
        self.name, self.line, self.error, self.printed = name, str(self), error, printed


async def call_plugin(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    name: str,
    seconds: float,
    injected: Mapping[str, Any] | None = None,
) -> Called:
    """Call with deep copies of `arguments`, and with `injected` as it stands.

    A coroutine function runs in this loop and is cancelled after `seconds`; one that goes on all
    the same is closed. Any other runs on a daemon thread of its own, which is abandoned and
    counted. What is printed is caught. The caller's own cancellation ends the call likewise.

    Raises:
        PluginFailure: it raised anything (SystemExit, too), took too long, or is called no more.
    """
    began = time.perf_counter()
    with process_as_it_was(), catch_output() as printed:
        try:
            value = await _Call(function, name, began + seconds, seconds).run(
                _copied(arguments, name), injected or {}
            )
        except PluginFailure as failure:
            failure.printed = printed.end()
            raise
        finally:
            said = printed.end()
    return Called(value, said, time.perf_counter() - began)


def abandoned(name: str) -> int:
    """How many threads of a plug-in were given up and have not ended yet."""
    with _LOCK:
        return _ABANDONED[name]


def end_in_time(code: object) -> None:
    """Let the process end with `code`, whatever plug-ins have left running."""
    if not has_caught():
        return
    with _LOCK:
        given_up = _ABANDONED.total() > 0
    end_within(code, SECONDS_WHERE_GIVEN_UP if given_up else SECONDS_AT_END)


_ABANDONED: Counter[str] = Counter()
_LOCK = threading.Lock()


def _copied(arguments: Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        return {key: copy.deepcopy(value) for key, value in arguments.items()}
    except Exception as error:  # noqa: BLE001 - what is copied may be anyone's class
        line = f"its arguments cannot be copied: {fault_line(error)}"
        raise PluginFailure(name, line, error) from None


@dataclass(frozen=True)
class _Call:
    function: Callable[..., Any]
    name: str
    deadline: float
    seconds: float

    async def run(self, arguments: Mapping[str, Any], injected: Mapping[str, Any]) -> Any:
        given = {**arguments, **injected}
        if is_async(self.function):
            return await self._awaited(self._begun(given))
        value = await self._on_a_thread(given)
        # A partial, a lambda or a callable object may turn out to be asynchronous.
        return await self._awaited(_as_coroutine(value)) if inspect.isawaitable(value) else value

    def _begun(self, given: Mapping[str, Any]) -> Coroutine[Any, Any, Any]:
        try:
            return _as_coroutine(self.function(**given))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            raise self._raised(error) from error

    async def _awaited(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        leash = Leash(coroutine)
        with watch_tasks() as begun:
            task = asyncio.ensure_future(_outcome(leash))
        try:
            await asyncio.wait([task], timeout=self._left())
        except BaseException:
            await _let_go(task, leash, begun)
            raise
        if not task.done():
            await _let_go(task, leash, begun)
            raise self._late("cancelled")
        return self._value(task.result())

    async def _on_a_thread(self, given: Mapping[str, Any]) -> Any:
        if abandoned(self.name) >= MAX_ABANDONED:
            raise PluginFailure(
                self.name, f"not called: {MAX_ABANDONED} earlier calls have never ended"
            )
        outcome: Future[_Outcome] = Future()
        outcome.set_running_or_notify_cancel()
        thread = _Thread(self.function, given, outcome, self.name)
        try:
            thread.start()
        except RuntimeError as error:
            raise PluginFailure(self.name, f"no thread could be started: {error}") from None
        ended = asyncio.wrap_future(outcome)
        try:
            await asyncio.wait([ended], timeout=self._left())
        except BaseException:
            thread.abandon()
            raise
        if not ended.done():
            thread.abandon()
            raise self._late("abandoned")
        return self._value(ended.result())

    def _left(self) -> float:
        return max(0.0, self.deadline - time.perf_counter())

    def _late(self, what: str) -> PluginFailure:
        return PluginFailure(self.name, f"no result within {self.seconds:g} seconds ({what})")

    def _value(self, outcome: "_Outcome") -> Any:
        if outcome.error is None:
            return outcome.value
        raise self._raised(outcome.error) from outcome.error

    def _raised(self, error: BaseException) -> PluginFailure:
        return PluginFailure(self.name, fault_line(error), error)


@dataclass(frozen=True)
class _Outcome:
    """A value or what was raised: an exception set on a task would end the event loop."""

    value: Any = None
    error: BaseException | None = None


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call gives a coroutine, as far as can be seen before it is made."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - whether it is a coroutine function
    )


async def _as_coroutine(value: Any) -> Any:
    return await value


async def _outcome(leash: Leash) -> _Outcome:
    try:
        return _Outcome(await leash)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except asyncio.CancelledError as error:
        # One that nobody asked for is the plug-in's own doing.
        if (task := asyncio.current_task()) and task.cancelling():
            raise
        return _Outcome(error=error)
    except BaseException as error:  # noqa: BLE001
        return _Outcome(error=error)


async def _let_go(task: "asyncio.Task[_Outcome]", leash: Leash, begun: Tasks) -> None:
    """Cancel; after a grace for its `finally`s, close it where it stands.

    Tasks that it began itself have no leash: nobody waits for them any more.
    """
    task.cancel()
    try:
        await asyncio.wait([task], timeout=GRACE)
    finally:
        leash.dropped = True
        for one in {task, *begun}:
            forget(one)


class _Thread(threading.Thread):
    """A daemon: it never holds the end of the process."""

    def __init__(
        self,
        function: Callable[..., Any],
        given: Mapping[str, Any],
        outcome: "Future[_Outcome]",
        name: str,
    ) -> None:
        super().__init__(name=f"plug-in {name}", daemon=True)
        self._function, self._given, self._outcome = function, given, outcome
        self._plugin, self._context = name, copy_context()
        self._ended = self._given_up = False

    def run(self) -> None:
        try:
            outcome = _Outcome(self._context.run(self._function, **self._given))
        except BaseException as error:  # noqa: BLE001
            outcome = _Outcome(error=error)
        with _LOCK:
            self._ended = True
            if self._given_up:
                _ABANDONED[self._plugin] -= 1
        # The loop that waited may be closed by now.
        with contextlib.suppress(RuntimeError):
            self._outcome.set_result(outcome)

    def abandon(self) -> None:
        """Wait no more for it; count it until it ends."""
        with _LOCK:
            if not self._ended:
                self._given_up = True
                _ABANDONED[self._plugin] += 1
