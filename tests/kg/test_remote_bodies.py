"""Answers that are slow, cut off, too large, or no results at all."""

import gzip
import json

import pytest

from branchwise.kg.answers import Term
from support.kg.asking_remote import GOOD, QUERY, ask, fail, fail_at, is_good, kg_of
from support.kg.sparql_server import FaultyServer, Reaction, drip, hang, raw, reply, rows

GZIP = {"Content-Encoding": "gzip"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "reaction",
    [
        hang(),
        drip(b"HTTP/1.1 200"),
        drip(b"HTTP/1.1 200 OK\r\nX-Long: "),
        drip(HEAD + b"\r\n"),
        drip(HEAD + b"Content-Length: 100000\r\n\r\n{"),
        drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5000\r\n{"),
    ],
    ids=["hang", "status", "header", "body", "length", "chunk"],
)
def test_a_deadline_covers_the_whole_answer(reaction: Reaction) -> None:
    error = fail(reaction, seconds=0.15)
    assert error.kind == "timeout"
    assert "in time" in error.text


@pytest.mark.slow
def test_a_hanging_server_gives_its_places_back() -> None:
    with FaultyServer() as server:
        server.play(hang())
        for _ in range(7):
            assert fail_at(kg_of(server), seconds=0.02).kind == "timeout"
        server.play(reply(body=GOOD))
        assert is_good(kg_of(server).query(QUERY))


BLAZEGRAPH_CUT = GOOD[:-12] + b"SPARQL-QUERY: SELECT\njava.util.concurrent.TimeoutException\n\tat"
QLEVER_CUT = GOOD[:-3] + b"\n!!!!>># An error has occurred: Operation timed out."


@pytest.mark.parametrize(
    ("reaction", "kind"),
    [
        (reply(body=BLAZEGRAPH_CUT), "timeout"),
        (reply(body=QLEVER_CUT), "timeout"),
        (reply(body=GOOD[:-9]), "endpoint"),
        (reply(body=GOOD[:-9], missing=9), "endpoint"),
        (reply(body=GOOD, missing=9), "endpoint"),
        (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n20\r\n{"), "endpoint"),
        (raw(HEAD + b"\r\n" + GOOD[:20]), "endpoint"),
        (raw(HEAD + b"\r\n"), "endpoint"),
        (reply(body=gzip.compress(GOOD)[:-9], headers=GZIP), "endpoint"),
    ],
)
def test_a_200_that_ends_in_the_middle_is_no_answer(reaction: Reaction, kind: str) -> None:
    error = fail(reaction)
    assert error.kind == kind
    assert "LIMIT" in error.text


def test_triples_that_end_in_the_middle_are_no_answer() -> None:
    whole = b"<http://a/s> <http://a/p> <http://a/o> .\n"
    for reaction in (
        reply(body=whole * 2 + whole[:20], media="application/n-triples"),
        reply(body=whole * 2, media="application/n-triples", missing=30),
    ):
        error = fail(reaction, query="CONSTRUCT WHERE { ?s ?p ?o }")
        assert "broke off" in error.text


def test_rows_of_a_server_that_stopped_early_are_marked() -> None:
    partial = {"X-SQL-State": "S1TAT", "X-SQL-Message": "RC...: Returning incomplete results"}
    answer, _ = ask(reply(body=GOOD, headers=partial))
    assert is_good(answer)
    assert not answer.complete
    assert "time ran out" in answer.notes[0]
    assert "counted or summed up in them may be too little" in answer.notes[0]


def test_rows_of_a_server_that_gives_no_more_are_not_all() -> None:
    answer, _ = ask(reply(body=GOOD, headers={"X-SPARQL-MaxRows": "1"}))
    assert is_good(answer)
    assert not answer.complete
    assert ask(reply(body=GOOD))[0].complete


def one_cell(name: str, *values: str) -> bytes:
    cells = [{name: {"type": "typed-literal", "datatype": "urn:n", "value": v}} for v in values]
    return json.dumps({"head": {"vars": [name]}, "results": {"bindings": cells}}).encode()


@pytest.mark.parametrize(
    ("reaction", "said"),
    [
        (reply(body=b'{"head": {"link": []}, "boolean": true}'), True),
        (reply(body=b'{"boolean": "false"}'), False),
        (reply(body=b" true\n", media="application/json"), True),
        (reply(body=one_cell("__ASK_RETVAL", "1")), True),
        (reply(body=one_cell("__ASK_RETVAL")), False),
        (reply(body=one_cell("ask", "False")), False),
        (reply(body=b"<sparql><head/><boolean>true</boolean></sparql>", media="text/xml"), True),
        (reply(body=b"false", media="text/boolean"), False),
    ],
)
def test_yes_and_no_are_read_in_every_form(reaction: Reaction, said: bool) -> None:
    answer, _ = ask(reaction, query="ASK { ?x ?y ?z }")
    assert answer.boolean is said
    assert answer.rows == ()


@pytest.mark.parametrize(
    "reaction",
    [
        reply(body=one_cell("x")),
        reply(body=one_cell("x", "7")),
        reply(body=one_cell("x", "1", "1")),
        reply(body=b'{"boolean": null}'),
        reply(body=b"true", media="text/plain", missing=5),
        reply(body=b"<html>true</html>", media="text/html"),
        reply(body=one_cell("__ASK_RETVAL"), headers={"X-SQL-State": "S1TAT"}),
    ],
)
def test_what_says_neither_yes_nor_no_is_no_answer(reaction: Reaction) -> None:
    assert fail(reaction, query="ASK { ?x ?y ?z }").kind in ("endpoint", "timeout")


def test_long_literals_are_cut() -> None:
    answer, _ = ask(reply(body=rows("x" * 5_000)))
    (cell,) = answer.rows[0]
    assert cell is not None
    assert cell.value.startswith("x" * 2_000 + "…")
    assert cell.value.endswith("5,000 characters)")


RDF_XML = b"""<?xml version="1.0"?>%s<rdf:RDF xmlns:p="http://a/"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="http://a/s"><p:p>%s</p:p></rdf:Description></rdf:RDF>"""


def test_rdf_xml_is_read_but_defines_nothing() -> None:
    query, media = "CONSTRUCT WHERE { ?s ?p ?o }", "application/rdf+xml"
    answer, _ = ask(reply(body=RDF_XML % (b"", b"good"), media=media), query=query)
    assert answer.rows == (
        (Term("http://a/s", "iri"), Term("http://a/p", "iri"), Term("good", "literal")),
    )
    defining = RDF_XML % (b'<!DOCTYPE r [<!ENTITY e "eeeeeeeeee">]>', b"&e;")
    assert fail(reply(body=defining, media=media), query=query).kind == "endpoint"
    page = b"<html><body>Log in</body></html>"
    assert fail(reply(body=page, media="application/xml"), query=query).kind == "endpoint"


def test_text_after_whole_json_is_no_answer() -> None:
    assert fail(reply(body=GOOD + b"\njava.lang.OutOfMemoryError")).kind == "endpoint"


@pytest.mark.parametrize(
    ("reaction", "limit", "said"),
    [
        (reply(body=rows("x", count=50_000)), {"max_body_bytes": 1024**2}, "1 MB"),
        (reply(body=gzip.compress(b" " * 30 * 1024**2), headers=GZIP), {}, "20 MB"),
    ],
    ids=["rows", "gzip bomb"],
)
def test_a_large_body_is_read_to_its_limit_only(reaction, limit, said):
    error = fail(reaction, **limit)
    assert error.kind == "resources"
    assert said in error.text


def test_gzip_is_asked_for_and_read() -> None:
    packed = reply(body=gzip.compress(GOOD), headers=GZIP)
    answer, (seen,) = ask(packed)
    assert is_good(answer)
    assert seen.headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    "reaction",
    [
        reply(body=b"<!DOCTYPE html><title>Log in</title>", media="text/html"),
        reply(body=b"<html>", media="application/sparql-results+json"),
        reply(body=b"x\n1\n", media="text/csv"),
        reply(body=b"", media="application/sparql-results+json"),
        reply(body=b"\xff\xfe{}"),
        reply(body=b'{"head": {}, "results": {}}'),
        reply(body=b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": 1}]}}'),
        reply(body=b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri"}}]}}'),
        reply(body=b'{"head": {"vars": [1]}, "results": {"bindings": [[]]}}'),
        reply(body=b'{"head": {"vars": ["x"]}, "results": {"bindings": [[]]}}'),
        reply(body=b'{"boolean": "yes"}'),
        reply(body=b"[" * 100_000),
        reply(body=GOOD, headers={"Content-Encoding": "br"}),
    ],
)
def test_what_is_no_result_is_said_to_be_none(reaction: Reaction) -> None:
    assert fail(reaction).kind == "endpoint"


def test_quoted_triples_are_written_out() -> None:
    cell = (
        b'{"type": "triple", "value": {"subject": {"type": "uri", "value": "http://a/s"}, '
        b'"predicate": {"type": "uri", "value": "http://a/p"}, '
        b'"object": {"type": "literal", "value": "a \\"b\\"", "xml:lang": "en"}}}'
    )
    body = b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": ' + cell + b"}]}}"
    answer, _ = ask(reply(body=body))
    assert answer.rows == ((Term('<< <http://a/s> <http://a/p> "a \\"b\\""@en >>', "literal"),),)


def test_triples_nested_without_end_are_no_result() -> None:
    part = b'{"type": "uri", "value": "a"}'
    opening = b'{"type": "triple", "value": {"predicate": ' + part + b', "object": ' + part
    cell = (opening + b', "subject": ') * 100 + part + b"}}" * 100
    body = b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": ' + cell + b"}]}}"
    assert fail(reply(body=body)).kind == "endpoint"


def test_columns_are_called_what_variables_are_called() -> None:
    long = "x" * 100
    body = b'{"head": {"vars": ["x", "a b", "x", "", "\\u001b[31m", "LONG", "LONGx", "\xc3\xa9"]},'
    body += b' "results": {"bindings": [{"x": VALUE, "a b": VALUE}]}}'
    body = body.replace(b"LONG", long.encode()).replace(b"VALUE", b'{"type":"uri","value":"u:"}')
    answer, _ = ask(reply(body=body))
    columns = [f"column {number}" for number in range(1, 9)]
    assert answer.variables == ("x", *columns[1:5], long, columns[6], "é")
    term = Term("u:", "iri")
    assert answer.rows == ((term, term, term, None, None, None, None, None),)


@pytest.mark.parametrize("value", [b"\\ud83d", b"\\\\ \\uDFFF", b"\xff"])
def test_a_broken_character_is_not_taken_for_a_broken_connection(value: bytes) -> None:
    body = GOOD.replace(b'"value":"', b'"value":"' + value).replace(
        b'"value": "', b'"value": "' + value
    )
    assert body != GOOD
    error = fail(reply(body=body))
    assert error.kind == "endpoint"
    assert "broken character" in error.text
    assert "broke off" in fail(reply(body=body[:-9])).text


def test_characters_beyond_the_first_plane_are_read() -> None:
    answer, _ = ask(reply(body=rows("\U0001f98d")))
    assert answer.rows[0][0] == Term("\U0001f98d", "literal")
    escaped = rows("MARK").replace(b"MARK", b"\\ud83e\\udd8d")
    assert ask(reply(body=escaped))[0].rows == answer.rows
