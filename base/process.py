"""What a process may use, how it runs asynchronous work, how long work tells of its progress."""

import asyncio
import gc
import os
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar


def usable_cores() -> int:
    """Cores that this process may run on: fewer than the machine's in a Slurm job or container."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_RARELY = 10_000


def search_rarely() -> bool:
    """Search for cycles once in 10,000 new objects, in this process; whether that is a change.

    At Python's 700 the searches take a tenth of an agent's processor time: LangGraph and LangChain
    make many objects a step, of which hardly any are in cycles.
    """
    usual, *others = gc.get_threshold()
    if not 0 < usual < _RARELY:
        return False
    gc.set_threshold(_RARELY, *others)
    return True


@contextmanager
def rare_cycle_search() -> Iterator[None]:
    """The same for as long as this lasts, or the first of several that overlap."""
    before = gc.get_threshold()
    changed = search_rarely()
    try:
        yield
    finally:
        if changed:
            gc.set_threshold(*before)


@contextmanager
def without_cycle_search() -> Iterator[None]:
    """Suspend the cycle collector; also a decorator.

    Trace records are trees, which reference counting frees. Searching the thousands of young
    objects of each one for cycles took a sixth of the time of scoring a run. Applies to the whole
    process, and ends when the first of several concurrent users leaves.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


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


Progress = Callable[[int, int], None]
"""Called with passages (or questions) done, and how many there are; 0 where unknown."""


def silent(done: int, total: int) -> None:
    """Ignore progress."""
