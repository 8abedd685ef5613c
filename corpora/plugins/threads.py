"""Where the code of plug-ins runs: on daemon threads, which never delay the end of the process."""

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple

GRACE = 1.0
"""Seconds that a cancelled coroutine has for its cleanup."""


class JobOutcome(NamedTuple):
    """The result of a job: its value, or what it raised."""

    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Running:
    """A job at work; `ended` gets its outcome, `stopped` is the word for one that was given up.
    `stop` asks it to end within `grace` seconds; `leave` abandons one that goes on.
    """

    ended: "Future[JobOutcome]"
    stopped: str = "abandoned"
    grace: float = 0.0
    stop: Callable[[], object] = lambda: None
    leave: Callable[[], object] = lambda: None


class DaemonThread:
    """Runs jobs in order.

    The thread starts with the first job; once this object is released, it ends after the last.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._lock, self._begun = threading.Lock(), False

    def submit(self, job: Callable[[], object]) -> None:
        """Queue a job. What it raises is lost.

        Raises RuntimeError if no thread can be started.
        """
        with self._lock:
            if not self._begun:
                # The thread references only the queue: otherwise this object would never be
                # released.
                _start(self._name, _serve, self._jobs)
                weakref.finalize(self, self._jobs.put, None).atexit = False
                self._begun = True
        self._jobs.put(job)

    def run(self, job: Callable[[], Any]) -> Running:
        """Run a job in the caller's context. It cannot be stopped. Raises as `submit`."""
        return _running(job, self.submit)


class LoopThread:
    """An event loop for coroutines of plug-ins, separate from the harness's own.

    A coroutine must not be able to end it: a task's SystemExit leaves `run_forever`, which is then
    called again.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(DaemonThreads())
        # A pending task that is collected closes its coroutine, in whatever thread that happens;
        # one that suppresses everything would spin there. Referenced, it stays where it is.
        self._tasks: set[asyncio.Task[JobOutcome]] = set()
        self.left = False
        self.thread = _start("plug-ins' event loop", self._serve)

    def run(self, job: Callable[[], Coroutine[Any, Any, Any]]) -> Running:
        """Run a coroutine in the caller's context.

        If even its cancellation does not arrive, something blocks the loop, which is then
        abandoned.
        """
        ended, heard = _begun_future(), threading.Event()
        tasks: list[asyncio.Task[JobOutcome]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(_awaited(job)))
            self._tasks.add(tasks[0])
            tasks[0].add_done_callback(end)

        def end(task: asyncio.Task[JobOutcome]) -> None:
            # A task cancelled before its first step takes none.
            ended.set_result(JobOutcome() if task.cancelled() else task.result())
            self._tasks.discard(task)
            if self.left:
                self._loop.stop()

        def cancel() -> None:
            heard.set()
            tasks[0].cancel()

        def leave() -> None:
            self.left = self.left or not heard.is_set()

        self._loop.call_soon_threadsafe(begin)
        return Running(
            ended, "cancelled", GRACE, lambda: self._loop.call_soon_threadsafe(cancel), leave
        )

    def _serve(self) -> None:
        while self._tasks or not self.left:
            with contextlib.suppress(BaseException):
                self._loop.run_forever()
        self._loop.close()


def run_on_a_thread(name: str, job: Callable[[], Any]) -> Running:
    """Run a job in the caller's context, on its own daemon thread. It cannot be stopped.

    Raises RuntimeError if no thread can be started.
    """
    return _running(job, lambda work: _start(name, work))


def plugin_loop() -> LoopThread:
    """The event loop that all coroutines of plug-ins share: their clients and locks belong to it.

    After a loop was abandoned, it is a new one. Raises RuntimeError if no thread can be started.
    """
    global _LOOP
    with _LOCK:
        # In a forked process the thread is gone.
        if _LOOP is None or _LOOP.left or not _LOOP.thread.is_alive():
            _LOOP = LoopThread()
        return _LOOP


class DaemonThreads(ThreadPoolExecutor):
    """An event loop's default executor: each call gets its own daemon thread.

    `asyncio.to_thread` of a call that hangs would block one of a few threads, and the end of the
    process, which waits for each of them.
    """

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":
        """As ThreadPoolExecutor's."""
        future = _begun_future()

        def work() -> None:
            value, error = _outcome(lambda: call(*given, **named))
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        _start("plug-in's thread", work)
        return future


_LOOP: LoopThread | None = None
_LOCK = threading.Lock()


def _start(name: str, work: Callable[..., object], *given: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, name=name, daemon=True)
    thread.start()
    return thread


def _serve(jobs: "SimpleQueue[Callable[[], object] | None]") -> None:
    while (job := jobs.get()) is not None:
        with contextlib.suppress(BaseException):
            job()
        del job


def _running(job: Callable[[], Any], start: Callable[[Callable[[], object]], object]) -> Running:
    ended, context = _begun_future(), copy_context()
    start(lambda: ended.set_result(context.run(_outcome, job)))
    return Running(ended)


def _begun_future() -> "Future[Any]":
    """A future that those who wait for it cannot cancel."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


def _outcome(job: Callable[[], Any]) -> JobOutcome:
    try:
        return JobOutcome(job())
    except BaseException as error:  # noqa: BLE001 - SystemExit, too: it must not end the thread
        return JobOutcome(error=error)


async def _awaited(job: Callable[[], Coroutine[Any, Any, Any]]) -> JobOutcome:
    try:
        return JobOutcome(await job())
    except BaseException as error:  # noqa: BLE001 - nor the event loop
        return JobOutcome(error=error)
