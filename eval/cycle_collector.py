"""Suspending Python's cycle collector while acyclic records are read."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
