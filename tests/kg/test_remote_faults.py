"""A server that refuses, fails, or cannot be reached: each is a KgError with a remedy."""

import pytest

from support.kg.asking_remote import GOOD, ask, fail, fail_at, is_good, kg_of
from support.kg.sparql_server import FaultyServer, Reaction, raw, reply


def test_a_503_is_tried_once_more() -> None:
    assert is_good(ask(reply(503, b"", "text/plain"), reply(body=GOOD))[0])


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_that_fails_twice_has_failed(status: int) -> None:
    error = fail(reply(status, b"<html><title>Bad Gateway</title>", "text/html"))
    assert error.kind == "endpoint"
    assert f"({status}): Bad Gateway" in error.text
    assert len(error.requests) == 2


def test_a_403_names_the_remedy_and_is_not_repeated() -> None:
    error = fail(reply(403, b"Forbidden", "text/plain"))
    assert error.kind == "endpoint"
    assert "BRANCHWISE_USER_AGENT" in error.text
    assert len(error.requests) == 1


@pytest.mark.parametrize("status", [401, 404, 405, 410, 413, 414, 418, 304, 204])
def test_other_statuses_are_errors_too(status: int) -> None:
    error = fail(reply(status, b"", "text/plain"))
    assert error.kind in ("endpoint", "refused")
    assert len(error.requests) == 1


BLAZEGRAPH = b"""SPARQL-QUERY: queryStr=SELECT ?x { ?x ?y }
java.util.concurrent.ExecutionException: org.openrdf.query.MalformedQueryException: \
Encountered " "}" "} "" at line 1, column 19.
Was expecting one of:
    <IRI> ...
\tat java.util.concurrent.FutureTask.report(FutureTask.java:122)
\tat com.bigdata.rdf.sail.webapp.BigdataServlet.submitApiTask(BigdataServlet.java:292)
Caused by: org.openrdf.query.MalformedQueryException: Encountered " "}" "} "" at line 1, column 19.
"""
QLEVER = b"""{"exception": "Invalid SPARQL query: Token \\"}\\": mismatched input '}'",
 "metadata": {"line": 1}, "query": "SELECT ?x { ?x ?y }", "status": "ERROR"}"""
VIRTUOSO = b"""Virtuoso 37000 Error SP030: SPARQL compiler, line 3: syntax error at '}' before '}'

SPARQL query:
define sql:big-data-const 0
SELECT ?x { ?x ?y }"""
OXIGRAPH = b'error at 1:19: expected one of "(", "[", [:ascii:]'
FUSEKI = b"""Error 400: Encountered " "}" "} "" at line 1, column 19.
Was expecting one of:
    <IRIref> ...
"""


@pytest.mark.parametrize(
    ("body", "media", "words"),
    [
        (BLAZEGRAPH, "text/plain", 'Encountered " "}" "} "" at line 1, column 19.'),
        (QLEVER, "application/json", """Invalid SPARQL query: Token "}": mismatched input '}'"""),
        (VIRTUOSO, "text/plain", "line 3: syntax error at '}' before '}'"),
        (OXIGRAPH, "text/plain", 'error at 1:19: expected one of "(", "[", [:ascii:]'),
        (FUSEKI, "text/plain", 'Error 400: Encountered " "}" "} "" at line 1, column 19.'),
    ],
)
def test_a_400_passes_on_the_line_that_matters(body: bytes, media: str, words: str) -> None:
    error = fail(reply(400, body, media))
    assert error.kind == "syntax"
    assert error.text.endswith(words)
    assert len(error.requests) == 1


def test_a_servers_words_bring_no_paths_addresses_or_control_characters() -> None:
    body = b"cannot read /home/x/sparql/d.ttl at http://127.0.0.1:9/x?key=1 \x1b[31m\x00" * 99
    text = fail(reply(400, body, "text/plain")).text
    assert "cannot read (path) at (address)" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", [b"a", b"a.", b"a+", b"\n", b" ", b"<title>", b"/a", b"1.", b"at "]
)
def test_a_message_without_end_is_read_to_its_limit(unit: bytes) -> None:
    for status in (400, 500):
        assert fail(reply(status, unit * (1_000_000 // len(unit)), "text/plain")).text


def test_property_paths_in_a_servers_words_stay() -> None:
    body = b"error at wdt:P31/wdt:P279* near (foaf:knows/foaf:name)"
    text = fail(reply(400, body, "text/plain")).text
    assert text.endswith(body.decode())


@pytest.mark.parametrize(
    "body",
    [
        b"SPARQL-QUERY: queryStr=...\njava.util.concurrent.TimeoutException\n\tat java.util...",
        b"Virtuoso S1T00 Error SR171: Transaction timed out",
        b"Virtuoso 42000 Error The estimated execution time 9 (sec) exceeds the limit of 4 (sec).",
    ],
)
def test_a_server_whose_time_ran_out_is_not_asked_the_same_again(body: bytes) -> None:
    error = fail(reply(500, body, "text/plain"))
    assert error.kind == "timeout"
    assert "LIMIT" in error.text
    assert len(error.requests) == 1


@pytest.mark.parametrize("first", [raw(b""), raw(b"HTTP/1.1 200"), raw(b"SSH-2.0-OpenSSH_9\r\n")])
def test_a_connection_lost_before_the_answer_is_tried_again(first: Reaction) -> None:
    assert is_good(ask(first, reply(body=GOOD))[0])
    assert fail(first).kind == "endpoint"


def test_nobody_listens() -> None:
    with FaultyServer() as server:
        kg = kg_of(server)
    error = fail_at(kg)
    assert error.kind == "endpoint"
    assert "cannot be reached" in error.text


def test_a_server_without_encryption_behind_https() -> None:
    with FaultyServer() as server:
        server.play(reply(body=GOOD))
        error = fail_at(kg_of(server, server.url.replace("http:", "https:")))
    assert error.kind == "endpoint"
    assert "encryption" in error.text


def test_a_name_that_cannot_be_one() -> None:
    with FaultyServer() as server:
        error = fail_at(kg_of(server, f"http://{'x' * 70}.invalid/sparql"))
    assert error.kind == "endpoint"


def test_a_query_that_virtuoso_cannot_work_out_is_not_sent_again() -> None:
    body = b"Virtuoso 37000 Error TR...: transitive start not given\n\nSPARQL query:\nSELECT *"
    error = fail(reply(500, body, "text/plain"))
    assert error.kind == "endpoint"
    assert (
        "write it otherwise: Virtuoso 37000 Error TR...: transitive start not given" in error.text
    )
    assert len(error.requests) == 1
    again = fail(reply(500, b"Virtuoso S1T00 Error SR171: Transaction timed out", "text/plain"))
    assert again.kind == "timeout"
