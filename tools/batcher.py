"""Many agents ask at once; the retriever is asked once.

Queries that arrive while a search runs wait for it and then go together: one encode, one search.
If no search is running, a query goes at once.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from branchwise.corpora.retrieval import Hit, Retriever

LARGEST_BATCH = 256


@dataclass(frozen=True)
class _Waiting:
    query: str
    k: int
    hits: "Future[list[Hit]]" = field(default_factory=Future)


class Batcher:
    """One retriever for any number of callers, threads and event loops.

    It belongs to no event loop: results travel through a worker thread's futures, so a loop may
    close and another open. Cancelling a caller drops only its own query.
    """

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self._queue: deque[_Waiting] = deque()
        self._lock = threading.Lock()
        self._working = False
        # A plug-in's search may hang; its own thread is a daemon, which does not block the exit.
        self._thread = getattr(retriever, "daemon", None) or ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="retriever"
        )
        self._largest = min(LARGEST_BATCH, getattr(retriever, "batch", LARGEST_BATCH))

    @property
    def identity(self) -> Mapping[str, Any]:
        """The retriever's."""
        return self.retriever.identity

    @property
    def address(self) -> str | None:
        """The address that the retriever asks; None for one that searches here."""
        return getattr(self.retriever, "address", None)

    async def search(self, query: str, k: int) -> list[Hit]:
        """The best `k` passages. Raises what the retriever raised for the batch."""
        return await asyncio.wrap_future(self._submit(query, k))

    def search_blocking(self, query: str, k: int) -> list[Hit]:
        """The same for callers without an event loop."""
        return self._submit(query, k).result()

    def _submit(self, query: str, k: int) -> "Future[list[Hit]]":
        waiting = _Waiting(query, k)
        with self._lock:
            self._queue.append(waiting)
            start, self._working = not self._working, True
        if start:
            self._thread.submit(self._work)
        return waiting.hits

    def _work(self) -> None:
        """Search batch after batch until no caller waits."""
        while True:
            with self._lock:
                count = min(len(self._queue), self._largest)
                batch = [self._queue.popleft() for _ in range(count)]
                self._working = bool(batch)
            if not batch:
                return
            self._answer([w for w in batch if w.hits.set_running_or_notify_cancel()])

    def _answer(self, batch: Sequence[_Waiting]) -> None:
        if not batch:
            return
        queries = list(dict.fromkeys(w.query for w in batch))
        try:
            # The best 3 are the first 3 of the best 50, so one search serves every k.
            rankings = self.retriever.search(queries, max(w.k for w in batch))
            by_query = dict(zip(queries, rankings, strict=True))
        except Exception as error:  # noqa: BLE001 - handed to those who wait, not swallowed
            for waiting in batch:
                waiting.hits.set_exception(error)
            return
        for waiting in batch:
            waiting.hits.set_result(by_query[waiting.query][: waiting.k])
