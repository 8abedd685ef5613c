"""Searches wait for a server that is gone, instead of telling the agent that they failed."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from branchwise.agents.journal import item_of
from branchwise.agents.outages import PassEndedError, ServerWatch
from branchwise.base.backoff import Sign
from branchwise.base.errors import DamagedDataError
from branchwise.corpora.retrieval import KeyRefusedError, RetrieverError
from branchwise.graphs.state import ItemContext
from branchwise.kg.answers import KgError

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
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
    raises, ServerGoneError, and PassEndedError where the server no longer takes the key, or what
    is searched here is damaged.
    """
    try:
        if server is None or context.outages is None:
            return await search()
        return await _repeated(search, server, context.outages.at(server), context, on_wait)
    except DamagedDataError as error:
        raise PassEndedError(str(error)) from error


async def _repeated(
    search: Callable[[], Awaitable[T]],
    server: str,
    watch: ServerWatch,
    context: ItemContext,
    on_wait: Callable[[float], None],
) -> T:
    item = item_of(context.journal)
    for tries_left in reversed(range(_TRIES)):
        try:
            return await watch.asked(search, of=item, sign=_sign, on_wait=on_wait)
        except Exception as error:
            if refusal := _cause(error, KeyRefusedError):
                raise PassEndedError(f"{server}: {refusal}; {refusal.remedy}") from error
            if _sign(error) not in ("gone", "lost") or not (tries_left and watch.patience):
                raise
    raise AssertionError


def _sign(error: BaseException | None) -> Sign | None:
    """What a failed search says of its server, also where a tool tells it in words of its own."""
    failed = _cause(error, RetrieverError) or _cause(error, KgError)
    return failed.sign if failed else None


def _cause(error: BaseException | None, kind: type[E]) -> E | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error
