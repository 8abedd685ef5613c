"""Running asynchronous work from ordinary code, also where a loop is running already."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, also where a loop is running already (a notebook): then on a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    stop: list[Callable[[], object]] = []

    async def stoppable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(asyncio.run, stoppable())
        try:
            return result.result()
        except KeyboardInterrupt:
            # The interrupt of a notebook reaches this thread alone; the run would go on in its own.
            for cancel in stop:
                cancel()
            raise
