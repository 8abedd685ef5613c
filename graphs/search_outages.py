"""Searches wait for a server that is gone, instead of telling the agent that they failed."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from branchwise.agents.journal import item_of
from branchwise.corpora.absence import Sign
from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.retrieval import RetrieverError
from branchwise.graphs.state import ItemContext

T = TypeVar("T")
_TRIES = 3
"""Failures of one search at a server that answers others, until it counts as failed."""


async def waited_for(
    search: Callable[[], Awaitable[T]],
    server: str | None,
    context: ItemContext,
    on_wait: Callable[[float], None],
) -> T:
    """What `search` brings; it is repeated once its server is back. `server` None: it asks none.

    `on_wait` gets the seconds of each wait, which are not the question's. Raises what the search
    raises, and ServerGoneError.
    """
    if server is None or context.outages is None:
        return await search()
    watch, item = context.outages.at(server), item_of(context.journal)
    for tries_left in reversed(range(_TRIES)):
        try:
            return await watch.asked(search, of=item, sign=_sign, on_wait=on_wait)
        except Exception as error:
            if _sign(error) not in ("gone", "lost") or not (tries_left and watch.patience):
                raise
    raise AssertionError


def _sign(error: BaseException | None) -> Sign | None:
    """What a failed search says of its server, also where a tool tells it in words of its own."""
    while error is not None:
        if isinstance(error, RetrieverError | GraphError):
            return error.sign
        error = error.__cause__
    return None
