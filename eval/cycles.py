"""Python's search for cycles, put off while records are read that have none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_cycle_search() -> Iterator[None]:
    """Nothing looks for cycles meanwhile; also a decorator.

    Records of traces are trees, which go when nobody refers to them. To search the thousands of
    young objects of each one for cycles took a sixth of the time of scoring a run. It holds for the
    whole process, and ends with the first that leaves where several are in it at once.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()
