"""Calling a plug-in's function: within its time, with copies of its arguments, its errors a line.

An async function runs in the run's own event loop; any other on a daemon thread of its own, which
is given up when its time is over and never delays the end of the process.
"""

import asyncio
import contextlib
import copy
import inspect
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from branchwise.base.errors import warn
from branchwise.base.plugins.sources import fault_line

GRACE = 1.0
"""Seconds that a cancelled coroutine has for its cleanup."""
Read = TypeVar("Read")
_Job = Callable[[], Any]


def _no_model(system: str, message: str) -> Any:
    raise RuntimeError("no model to ask here")


@dataclass(frozen=True)
class RunContext:
    """The item that a plug-in is called for.

    `question`: on one line. `item`: the question's id, "" outside a run. `epoch`: the question's
    epoch. `waited`: seconds of the call in which the model's server was gone, which are not its
    own. A parameter annotated `RunContext` gets the one of its call.
    """

    question: str = ""
    item: str = ""
    epoch: int = 0
    time_left: Callable[[], float] = field(default=lambda: float("inf"), repr=False)
    model: Callable[[str, str], "Future[str]"] = field(default=_no_model, repr=False)
    waited: Callable[[], float] = field(default=lambda: 0.0, repr=False)

    @property
    def seconds_left(self) -> float:
        """Seconds of the item's budget that are left; negative once it is overdrawn."""
        return self.time_left()

    async def ask(self, system: str, message: str) -> str:
        """The reply of the agent's model to a system prompt and a message.

        Recorded like any model call: a resumed run does not repeat it; its tokens are counted under
        the plug-in's name. Raises RuntimeError if the model gives no text.
        """
        return await asyncio.wrap_future(self.model(system, message))

    def ask_blocking(self, system: str, message: str) -> str:
        """`ask` for functions that are not async: it blocks their thread."""
        return self.model(system, message).result()


_NOWHERE = RunContext()
_CURRENT: ContextVar[RunContext] = ContextVar("branchwise_run_context", default=_NOWHERE)
current_run = _CURRENT.get
"""The context of the current call; an empty one outside any call."""


@contextlib.contextmanager
def running(context: RunContext) -> Iterator[None]:
    """Make `context` visible to plug-ins called inside."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)


class PluginFailure(Exception):  # noqa: N818 - it is what the call came to
    """A failed call; `line` says why, `NAME: ValueError: message`.

    `error` is what the plug-in raised, None if its time was over.
    """

    def __init__(self, name: str, line: str, error: BaseException | None = None) -> None:
        super().__init__(f"{name}: {line}")
        self.line, self.error = str(self), error


class DaemonThread:
    """Runs jobs in order, in the context of those who submit them; never delays the process's end.

    Once this object is released, the thread ends after its last job.
    """

    def __init__(self, name: str) -> None:
        # The thread references only the queue: otherwise this object would never be released.
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        weakref.finalize(self, self._jobs.put, None).atexit = False
        threading.Thread(target=_serve, args=(self._jobs,), name=name, daemon=True).start()

    def submit(self, job: _Job) -> "Future[Any]":
        """Queue a job. Those who wait for its future cannot cancel it."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        context = copy_context()

        def work() -> None:
            try:
                future.set_result(context.run(job))
            except BaseException as error:  # noqa: BLE001 - those who wait are told of any
                future.set_exception(error)

        self._jobs.put(work)
        return future


def _serve(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # or its result would live until the next one


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except PluginFailure:
        raise
    # An exit would end its thread without a word, and those who wait would wait on.
    except (Exception, SystemExit) as error:
        raise PluginFailure(name, fault_line(error), error) from error


async def call(
    name: str,
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    seconds: float,
    injected: Mapping[str, Any] = {},
    read: Callable[[Any], Read] = lambda value: value,
) -> Read:
    """`read` of what the function returns for deep copies of `arguments`, and `injected` unchanged.

    Seconds in which the model's server was gone do not count. Cancelling the caller cancels or
    abandons the call.

    Raises PluginFailure: it raised an exception or exited, returned what `read` does not accept
        (WrongResult) or took too long.
    """
    began, waited = time.monotonic(), current_run().waited
    is_async = inspect.iscoroutinefunction(function)

    async def awaited(value: Awaitable[Any]) -> Read:
        with _watched(name, seconds):
            return read(await value)

    async def result() -> Read:
        with _told(name):
            given = {**copy.deepcopy(dict(arguments)), **injected}
            if is_async:
                return await awaited(function(**given))

            def work() -> Any:
                with _told(name):
                    value = function(**given)
                    return value if inspect.isawaitable(value) else read(value)

            value = await asyncio.wrap_future(DaemonThread(f"plug-in {name}").submit(work))
            # A partial, a lambda or a callable object may turn out to be asynchronous.
            return await awaited(value) if inspect.isawaitable(value) else value

    task = asyncio.ensure_future(result())
    try:
        while not task.done() and (left := began + seconds + waited() - time.monotonic()) > 0:
            await asyncio.wait([task], timeout=left)
        if not task.done():
            ended = "cancelled" if is_async else "abandoned"
            raise PluginFailure(name, f"no result within {seconds:g} seconds ({ended})")
        if task.cancelled():  # not by the caller: it awaited a task that it had cancelled
            raise PluginFailure(name, "CancelledError")
        return task.result()
    finally:
        if not task.done():
            task.add_done_callback(lambda one: one.cancelled() or one.exception())
            task.cancel()
            await asyncio.wait([task], timeout=GRACE)


@contextlib.contextmanager
def _watched(name: str, seconds: float) -> Iterator[None]:
    """Name a coroutine that blocks its event loop past its limit: nothing in the loop can stop it,
    and nothing else of the run goes on."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def check() -> None:
        if asyncio.current_task(loop) is task:
            warn(
                f"{name} blocks the run, past its limit of {seconds:g} seconds: leave out "
                "`async`, or await what takes long"
            )

    timer = threading.Timer(min(seconds + GRACE, threading.TIMEOUT_MAX), check)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def call_blocking(
    name: str,
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    seconds: float,
    read: Callable[[Any], Read] = lambda value: value,
    thread: DaemonThread | None = None,
) -> Read:
    """The same from synchronous code, for a function that is not async.

    `thread`: where it runs, by default on one of its own. Raises PluginFailure.
    """

    def work() -> Read:
        with _told(name):
            return read(function(**given))

    with _told(name):
        given = copy.deepcopy(dict(arguments))
        running = (thread or DaemonThread(f"plug-in {name}")).submit(work)
    try:
        return running.result(min(seconds, threading.TIMEOUT_MAX))  # type: ignore[no-any-return]
    except TimeoutError:
        raise PluginFailure(name, f"no result within {seconds:g} seconds (abandoned)") from None
