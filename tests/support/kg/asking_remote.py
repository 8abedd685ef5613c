"""Asking a server that fails on command, one query, one server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from branchwise.kg.answers import KgError, QueryResult, Term
from branchwise.kg.open import RemoteKg, RemoteSettings
from branchwise.kg.remote import client as host_client
from branchwise.kg.remote.client import ClientSettings
from branchwise.kg.sparql.prepare import Prepared, QueryForm
from support.kg.sparql_server import FaultyServer, Reaction, Seen, rows

GOOD = rows("good")
QUERY = "SELECT ?x { ?x ?y ?z }"
_SECRETS = ("127.0.0.1", "/sparql", "/home/", "key=")


@dataclass(frozen=True)
class Failed:
    """What came of a query that failed: the kind of error, what it says, what the server got."""

    kind: str
    text: str
    requests: Sequence[Seen]


def unchecked(text: str, _: float) -> Prepared:
    """Sends any query as it stands."""
    form = text.split()[0]
    return Prepared(text, cast(QueryForm, form), (), (), ())


def kg_of(server: FaultyServer, url: str = "", **client: float) -> RemoteKg:
    """A graph that asks for no labels and pauses for a thousandth of a second."""
    settings = ClientSettings(**{"pause": 0.001, **client})  # type: ignore[arg-type]
    chosen = RemoteSettings(labels=False, explain=False, client=settings)
    return RemoteKg(url or server.url, chosen, unchecked)


def ask(
    *reactions: Reaction, query: str = QUERY, seconds: float = 20.0, **client: float
) -> tuple[QueryResult, Sequence[Seen]]:
    """The answer of a server that reacts so, and the requests that it got."""
    host_client._throttles.clear()  # a host that was held has another test's port by chance
    with FaultyServer() as server:
        server.play(*reactions)
        return kg_of(server, **client).query(query, seconds), server.requests


def fail(
    *reactions: Reaction, query: str = QUERY, seconds: float = 20.0, **client: float
) -> Failed:
    """How asking such a server fails; the message is checked for what no message may hold."""
    host_client._throttles.clear()
    with FaultyServer() as server:
        server.play(*reactions)
        failed = fail_at(kg_of(server, **client), query, seconds)
        return Failed(failed.kind, failed.text, server.requests)


def fail_at(kg: RemoteKg, query: str = QUERY, seconds: float = 20.0) -> Failed:
    """How asking this graph fails."""
    with pytest.raises(KgError) as raised:
        kg.query(query, seconds)
    text = str(raised.value)
    assert not any(secret in text for secret in _SECRETS), text
    assert len(text) < 600
    assert text.isprintable()
    return Failed(raised.value.kind, text, ())


def is_good(answer: QueryResult) -> bool:
    """It is what `GOOD` says."""
    return answer.rows == ((Term("good", "literal"),),)
