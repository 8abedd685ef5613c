"""The event loop of all MCP servers, on its own thread, for callers with or without a loop.

A conversation belongs to one loop, but an agent to none: it is made before its run's loop begins
and may outlive it.
"""

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

_Value = TypeVar("_Value")
_SECONDS_AT_END = 10.0


class Closing(Protocol):
    """Something that must be closed before this process ends."""

    async def close(self) -> None:
        """Close it, in the servers' loop."""
        ...


_LOCK = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_open: set[Closing] = set()


def submit(work: "Coroutine[Any, Any, _Value]") -> "Future[_Value]":
    """Run a coroutine in the servers' loop."""
    return asyncio.run_coroutine_threadsafe(work, _running())


def opened(one: Closing) -> None:
    """Have it closed when the process ends, unless it is `closed` before."""
    _open.add(one)


def closed(one: Closing) -> None:
    """It no longer needs closing."""
    _open.discard(one)


def _running() -> asyncio.AbstractEventLoop:
    with _LOCK:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="MCP servers", daemon=True).start()
            atexit.register(_close_all)
            _loops.append(loop)
        return _loops[0]


def _close_all() -> None:
    async def close() -> None:
        await asyncio.gather(*(one.close() for one in list(_open)), return_exceptions=True)

    if _open:
        with contextlib.suppress(TimeoutError):
            submit(close()).result(timeout=_SECONDS_AT_END)
