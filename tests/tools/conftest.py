"""Retrievers that tests can watch, stop and break."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit


@dataclass
class Echo:
    """Returns passages named after the query; can be held, and told to fail."""

    name: str = "echo"
    identity: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[list[str], int]] = field(default_factory=list)
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    held: bool = False
    release: threading.Event = field(default_factory=threading.Event)
    fail: Exception | None = None

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.calls.append((list(queries), k))
        self.entered.release()
        if self.held and not self.release.wait(timeout=30):
            raise TimeoutError("the test never released the retriever")
        if self.fail:
            raise self.fail
        return [
            [Hit(Passage(id=f"{q}-{i}", title=q, text=f"text {i}"), 1 / (i + 1)) for i in range(k)]
            for q in queries
        ]


@pytest.fixture
def echo() -> Echo:
    return Echo()
