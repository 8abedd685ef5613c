"""A retriever that tests can watch, hold and break."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit


@dataclass
class EchoRetriever:
    """Finds passages named after the query, by rank from 1."""

    name: str = "echo"
    identity: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[list[str], int]] = field(default_factory=list)
    """The queries and the k of each search."""
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    held: bool = False
    release: threading.Event = field(default_factory=threading.Event)
    fail: Exception | None = None
    text: str = "text"

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.calls.append((list(queries), k))
        self.entered.release()
        if self.held and not self.release.wait(timeout=60):
            raise TimeoutError("the test never released the retriever")
        if self.fail:
            raise self.fail
        return [
            [Hit(Passage(id=f"{q}-{n}", title=q, text=f"{self.text} {n}"), 1 / n) for n in ranks]
            for q, ranks in ((q, range(1, k + 1)) for q in queries)
        ]
