"""What a retriever is, and how scored rows are ranked and rankings fused."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from branchwise.base.backoff import Sign
from branchwise.corpora.names_in_text import phrase_pattern

if TYPE_CHECKING:
    from branchwise.corpora.passages import Passage

DEFAULT_K = 3
MAX_K = 50
FUSION_K = 60
DEPTH = 2 * MAX_K


class Hit(NamedTuple):
    """A retrieved passage and its score (higher is better; the scale is the retriever's own)."""

    passage: "Passage"
    score: float


class RetrieverError(Exception):
    """A search that was not answered. One line, for the model that asked: no address, no path.
    `sign`: what it says of the server that was asked."""

    def __init__(self, problem: str, sign: Sign | None = None) -> None:
        super().__init__(problem)
        self.sign = sign


class KeyRefusedError(RetrieverError):
    """The server no longer takes the key (401), so that every other search would fail, too.
    `remedy`: what the user can do, which is not the model's to read."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, "answered")
        self.remedy = remedy


class Retriever(Protocol):
    """Searches one corpus. Thread-safe; a ranking never depends on what it was batched with."""

    name: str
    identity: Mapping[str, Any]
    """What results depend on (kind, encoder, corpus digest, ...): enters the system digest."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query its best `k` passages, best first, ties broken by passage id. Raises
        RetrieverError where what searches is elsewhere and does not answer."""
        ...


class Scored(NamedTuple):
    """A row of the corpus and its score."""

    row: int
    score: float


def ranked(scored: Sequence[Scored], k: int, id_of: Callable[[int], str]) -> list[Scored]:
    """The best `k`, ties broken by id; ids are asked for only where scores tie.

    `scored` must hold every row that ties with the k-th, or the border would be arbitrary.
    """
    best: list[Scored] = []
    for _, group in groupby(sorted(scored, key=lambda s: -s.score), key=lambda s: s.score):
        if len(best) >= k:
            break
        tied = list(group)
        best += tied if len(tied) == 1 else sorted(tied, key=lambda s: id_of(s.row))
    return best[:k]


def fused(
    rankings: Sequence[Sequence[Scored]], k: int, id_of: Callable[[int], str]
) -> list[Scored]:
    """The best `k` rows by reciprocal rank fusion, ties broken by id.

    score(p) = sum over rankings of 1 / (60 + rank(p)), ranks from 1 (Cormack, Clarke and Buettcher,
    SIGIR 2009). Each ranking is read to the same depth, so that the first 3 of 50 are the best 3.
    """
    # Exact sums: equal sums of floats in another order could differ in the last bit and hide ties.
    totals: dict[int, Fraction] = {}
    for ranking in rankings:
        for rank, (row, _) in enumerate(ranking, start=1):
            totals[row] = totals.get(row, Fraction(0)) + Fraction(1, FUSION_K + rank)
    return ranked([Scored(row, float(total)) for row, total in totals.items()], k, id_of)


def phrases_held(passage: "Passage", phrases: Sequence[str]) -> int:
    """How many of the phrases stand in a passage's title or text, word for word."""
    patterns = map(phrase_pattern, phrases)
    return sum(bool(p.search(passage.title) or p.search(passage.text)) for p in patterns)


def phrases_first(
    ranking: Sequence[Hit], of_phrases: Sequence[Sequence[Hit]], phrases: Sequence[str]
) -> list[Hit]:
    """A query's ranking, those first that hold most of its quoted phrases, else in its order; what
    the searches for the phrases alone found of such, `of_phrases`, stands behind it."""
    hits: dict[str, Hit] = {}
    for hit in chain(ranking, *of_phrases):
        hits.setdefault(hit.passage.id, hit)
    held = {id: phrases_held(hit.passage, phrases) for id, hit in hits.items()}
    listed = {hit.passage.id for hit in ranking}
    order = sorted(hits, key=lambda id: -held[id])
    return [hits[id] for id in order if id in listed or held[id]]
