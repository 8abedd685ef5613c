"""Two more manners: one search, which measures the retriever alone, and what a recorded model
asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from manners.conversation import Conversation
from manners.offer import Calls, Offer
from manners.searching import Manner


def asks_once(seen: Conversation, offer: Offer) -> Calls:
    """Searches the question as it is, and answers."""
    return offer.searches([seen.question]) if seen.turns == 0 else []


@dataclass(frozen=True)
class RecordedQuery:
    """A query that a recorded model asked, and how often its result had come before then: the very
    same passages, for the same question."""

    query: str
    came_before: int = 0


Turns = Sequence[Sequence[RecordedQuery]]
"""The queries of each turn of a question."""


def as_recorded(recorded: Mapping[str, Turns], *, paging: bool = False) -> Manner:
    """Asks the recorded queries of a question, turn by turn, whatever comes back.

    `paging`: a query whose result had come before asks for the next page instead, where there are
    pages: it is what the recorded model could have done.
    """

    def search(seen: Conversation, offer: Offer) -> Calls:
        turns = recorded[seen.question]
        queries = turns[seen.turns] if seen.turns < len(turns) else ()
        return [call for query in queries for call in _call(query, offer)]

    def _call(asked: RecordedQuery, offer: Offer) -> Calls:
        ((name, args),) = offer.searches([asked.query])
        if paging and offer.pages and asked.came_before:
            return offer.page(args, 1 + asked.came_before)
        return [(name, args)]

    return search
