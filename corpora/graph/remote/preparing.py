"""The check of queries for graphs that run elsewhere."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from branchwise.corpora.graph.processes.pool import Pool
    from branchwise.corpora.graph.sparql.prepare import Prepared

Prepare = Callable[[str, float], "Prepared"]
"""Checks a query and makes it plain SPARQL within so many seconds. Raises GraphError."""


class WorkerCheck:
    """Prepares queries in a worker process, which is started with the first of them.

    A parser that hangs, or runs out of memory, is killed there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: Pool | None = None

    def __call__(self, text: str, seconds: float) -> "Prepared":
        """Raises GraphError."""
        from branchwise.corpora.graph.processes.pool import Pool

        with self._lock:
            if self._pool is None:
                self._pool = Pool(None)
            pool = self._pool
        return pool.prepare(text, seconds)

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
