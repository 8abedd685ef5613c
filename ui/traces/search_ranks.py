"""How high the searches of a trace rank a passage of the corpus that none of them brought.

They are made again in the run's index, deeper than the agent looked; nothing is recorded.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError
from branchwise.base.text import counted
from branchwise.corpora.folder import Corpus
from branchwise.corpora.open import needs_corpus, open_retriever
from branchwise.eval.sources import RETRIEVER, run_sources
from branchwise.trace.conversation import read_conversation
from branchwise.trace.events import Event

if TYPE_CHECKING:
    from branchwise.corpora.retrieval import Retriever

DEPTH = 1_000
"""How many passages of each search are looked at."""


class SearchRanks:
    """Ranks in the index that a run searched; its encoder is loaded with the first one that is
    asked for."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        self._meta = meta
        self._opened: Retriever | None = None

    def words(self, events: Iterable[Event], passage: str) -> str:
        """The best rank of a passage, in words; empty where the index is not to be had: it is
        elsewhere, gone, or of another corpus by now."""
        queries = searched(events)
        if not queries:
            return "no search was made"
        try:
            retriever = self._retriever()
        except InputError:
            retriever = None
        if retriever is None:
            return ""
        found = retriever.search(queries, DEPTH)
        ranks = [
            rank
            for hits in found
            for rank, hit in enumerate(hits, start=1)
            if hit.passage.id == passage
        ]
        searches = counted(len(queries), "search", "searches")
        if not ranks:
            return f"not among the first {DEPTH:,} of {searches}"
        return f"rank {min(ranks):,} at best in {searches}"

    def _retriever(self) -> "Retriever | None":
        """Raises InputError where the corpus or its index cannot be read."""
        if self._opened is None:
            source, name = run_sources(self._meta).corpus, self._meta["system"].get("retriever")
            if source is None or source.path is None or not needs_corpus(name):
                return None
            if source.sha256 not in (None, Corpus.open(source.path).sha256):
                return None
            self._opened = open_retriever(source.path, name)
        return self._opened


def searched(events: Iterable[Event]) -> list[str]:
    """The different queries of a trace's searches, in order, failed ones left out."""
    queries: dict[str, None] = {}
    for call in read_conversation(events).calls:
        made = call.result.call
        if made.tool == RETRIEVER and call.result.error is None and isinstance(made.args, Mapping):
            more = made.args.get("more_queries") or ()
            every = [made.args.get("query"), *(more if isinstance(more, list) else ())]
            queries |= dict.fromkeys(one for one in every if isinstance(one, str) and one.strip())
    return list(queries)
