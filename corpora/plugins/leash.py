"""A coroutine that can be let go of, whatever it does about being cancelled."""

import asyncio
import contextlib
import weakref
from collections.abc import Coroutine, Generator, Iterator
from contextvars import ContextVar
from typing import Any

from branchwise.corpora.plugins.threads import DaemonThreads


class Leash:
    """Awaits a coroutine. Once `dropped`, the next step closes it instead of going on.

    A task that swallows its cancellation would run for ever, and hold the end of the event loop;
    this one steps the coroutine itself, and so can stop to.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self.dropped = False

    def __await__(self) -> Generator[Any, Any, Any]:
        advance, value = self._coroutine.send, None
        while True:
            try:
                awaited = advance(value)
            except StopIteration as ended:
                return ended.value
            try:
                value = yield awaited
                advance = self._coroutine.send
            except BaseException as error:
                if self.dropped:
                    self.close()
                    raise
                advance, value = self._coroutine.throw, error

    def close(self) -> None:
        """End the coroutine where it stands; what it raises at that, too, is dropped."""
        with contextlib.suppress(BaseException):
            self._coroutine.close()


Tasks = weakref.WeakSet["asyncio.Task[Any]"]
_BEGUN: ContextVar[Tasks | None] = ContextVar("branchwise_plugin_tasks", default=None)


@contextlib.contextmanager
def watch_tasks() -> Iterator[Tasks]:
    """The tasks that are begun in this context, and in tasks that copy it.

    A loop with a task factory of somebody else's keeps it, and they are not known.
    """
    loop = asyncio.get_running_loop()
    if loop.get_task_factory() is None:
        loop.set_task_factory(_noting)
        loop.set_default_executor(DaemonThreads(lambda: _BEGUN.get() is not None))
    begun = Tasks()
    token = _BEGUN.set(begun)
    try:
        yield begun
    finally:
        _BEGUN.reset(token)


def _noting(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> "asyncio.Task[Any]":
    begun = _BEGUN.get()
    if begun is None:
        return asyncio.Task(coroutine, loop=loop, **more)
    task = asyncio.Task(_NoExit(coroutine), loop=loop, **more)
    begun.add(task)
    return task


class ExitError(Exception):
    """A SystemExit in a task, where it would end the event loop."""


# Whoever reads the failure wants to know what was really raised.
ExitError.__name__ = "SystemExit"


class _NoExit(Coroutine[Any, Any, Any]):
    """A coroutine whose SystemExit is an ordinary exception."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self.__name__ = getattr(coroutine, "__name__", type(coroutine).__name__)
        self.__qualname__ = getattr(coroutine, "__qualname__", self.__name__)

    def send(self, value: Any) -> Any:
        try:
            return self._coroutine.send(value)
        except SystemExit as error:
            raise ExitError(*error.args) from error

    def throw(self, *error: Any) -> Any:
        try:
            return self._coroutine.throw(*error)
        except SystemExit as exited:
            raise ExitError(*exited.args) from exited

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()


def forget(task: "asyncio.Task[Any]") -> None:
    """Cancel a task, and let the end of the loop not wait for it.

    `asyncio.run` waits at its end for every registered task, however long
    (https://docs.python.org/3/library/asyncio-extending.html#task-lifetime-support).
    """
    if not task.done():
        asyncio.tasks._unregister_task(task)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.cancel()
