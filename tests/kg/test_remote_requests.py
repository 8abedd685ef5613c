"""What is sent to an endpoint, and where it is sent on."""

import warnings

import pytest

from branchwise.kg.answers import Term
from branchwise.kg.open import open_kg
from support.kg.asking_remote import GOOD, QUERY, ask, fail, fail_at, is_good, kg_of
from support.kg.sparql_server import FaultyServer, reply


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_another_host_are_not_followed(status: int) -> None:
    with FaultyServer() as other:
        other.play(reply(body=GOOD))
        error = fail(reply(status, headers={"Location": other.url}))
        assert other.requests == []
    assert "another host" in error.text


def test_another_name_is_another_host() -> None:
    with FaultyServer() as server:
        elsewhere = server.url.replace("127.0.0.1", "localhost")
        server.play(reply(302, headers={"Location": elsewhere}), reply(body=GOOD))
        error = fail_at(kg_of(server))
        assert len(server.requests) == 1
    assert "another host" in error.text


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "https://127.0.0.1/"]
)
def test_redirects_to_other_schemes_are_not_followed(target: str) -> None:
    assert fail(reply(302, headers={"Location": target})).kind == "endpoint"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_within_the_host_keeps_the_query(status: int) -> None:
    long = QUERY + " " * 2_000
    moved = reply(status, headers={"Location": "/new"})
    answer, requests = ask(moved, reply(body=GOOD), query=long)
    assert is_good(answer)
    assert [seen.method for seen in requests] == ["POST", "POST"]
    assert [seen.path for seen in requests] == ["/sparql", "/new"]
    assert requests[1].parameters["query"] == long


def test_a_redirect_in_a_circle_ends() -> None:
    error = fail(reply(302, headers={"Location": "/sparql"}))
    assert error.kind == "endpoint"
    assert len(error.requests) < 20


def test_a_request_names_its_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (seen,) = ask(reply(body=GOOD))
    assert seen.headers["user-agent"].startswith("branchwise/")
    monkeypatch.setenv("BRANCHWISE_USER_AGENT", "mine/1 (me@example.org)\r\nX-Evil: 1")
    _, (seen,) = ask(reply(body=GOOD))
    assert seen.headers["user-agent"] == "mine/1 (me@example.org)X-Evil: 1"
    assert "x-evil" not in seen.headers


def test_the_query_is_all_that_is_sent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, (seen,) = ask(reply(body=GOOD))
    assert (seen.method, seen.path, seen.parameters) == ("GET", "/sparql", {"query": QUERY})
    assert seen.headers["accept"].startswith("application/sparql-results+json")


def test_triples_are_asked_for_as_n_triples() -> None:
    body = b'<http://a/s> <http://a/p> "o"@en .'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer, (seen,) = ask(
            reply(body=body, media="application/n-triples"), query="CONSTRUCT WHERE { ?s ?p ?o }"
        )
    assert seen.headers["accept"].startswith("application/n-triples")
    assert answer.rows[0][2] == Term("o", "literal", "", "en")


def test_an_address_may_name_the_graph_that_is_meant() -> None:
    with FaultyServer() as server:
        server.play(reply(body=GOOD))
        named = f"{server.url}?default-graph-uri=urn:g"
        assert open_kg(named).identity() != open_kg(server.url).identity()
        assert is_good(kg_of(server, named).query(QUERY))
        assert server.requests[0].parameters == {"default-graph-uri": "urn:g", "query": QUERY}
