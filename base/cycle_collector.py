"""Python's cycle collector: rarely at work while a run lasts, not at all while records are read."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

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
