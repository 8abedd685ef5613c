"""What a retriever is: queries in, ranked passages out."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from branchwise.base.backoff import Sign

if TYPE_CHECKING:
    from branchwise.corpora.passages import Passage

DEFAULT_K = 3
MAX_K = 50


class Hit(NamedTuple):
    """A retrieved passage and its score (higher is better; the scale is the retriever's own)."""

    passage: "Passage"
    score: float


class RetrieverError(Exception):
    """A search that was not answered. One line, for the model that asked: no address, no path.

    `sign`: what it says of the server that was asked.
    """

    def __init__(self, what: str, sign: Sign | None = None) -> None:
        super().__init__(what)
        self.sign = sign


class KeyRefusedError(RetrieverError):
    """The server no longer takes the key (401), so that every other search would fail, too.

    `remedy`: what the user can do, which is not the model's to read.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, "answered")
        self.remedy = remedy


class Retriever(Protocol):
    """Searches one corpus. Thread-safe; a ranking never depends on what it was batched with."""

    name: str
    identity: Mapping[str, Any]
    """What results depend on (kind, encoder, corpus digest, ...): enters the system digest."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query its best `k` passages, best first, ties broken by passage id.

        Raises RetrieverError where what searches is elsewhere and does not answer.
        """
        ...
