"""The client of Search-R1's `/retrieve`: its two shapes, and everything that servers do wrong."""

import gzip
import json
from dataclasses import replace

import pytest

from branchwise.base.errors import InputError
from branchwise.base.keys import Keys
from branchwise.corpora.open import absolute_name, needs_corpus, open_retriever
from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_server import (
    RequestBounds,
    SearchServer,
    open_search_server,
    read_rankings,
    server_url,
)
from branchwise.tools.built_in import make_local_retriever
from support.ports import unused_port
from support.retrieval_server import RetrievalServer, cut, drips, drops, hangs, sends

QUICK = RequestBounds(attempts=3, seconds=20.0, total=60.0, pause=0.0)


@pytest.fixture
def server():
    with RetrievalServer() as running:
        yield running


@pytest.fixture
def client(server):
    return SearchServer(server.url, QUICK)


def body(*rankings):
    return json.dumps({"result": list(rankings)}).encode()


def scored(score, id="d1", contents="T\ntext"):
    return {"document": {"id": id, "contents": contents}, "score": score}


# --- the protocol ---------------------------------------------------------------------------


def test_queries_go_together_and_scores_are_asked_for(server, client):
    hits = client.search(["Etna", "Rhine"], 2)
    assert server.requests == [{"queries": ["Etna", "Rhine"], "topk": 2, "return_scores": True}]
    assert hits[1] == [
        Hit(Passage(id="Rhine-1", title="Rhine", text="Text 1 on Rhine."), 1.0),
        Hit(Passage(id="Rhine-2", title="Rhine", text="Text 2 on Rhine."), 0.99),
    ]


def test_many_queries_go_in_parts_and_come_back_in_order(server, client):
    queries = [f"q{n}" for n in range(150)]
    hits = client.search(queries, 1)
    assert [len(part) for part in server.queries()] == [64, 64, 22]
    assert [ranking[0].passage.title for ranking in hits] == queries


def test_documents_without_score_or_id_are_read():
    [[hit, other]] = read_rankings(
        body([{"document": {"contents": '"Etna"\nA volcano.'}}, {"title": "T", "text": "x"}]), 1, 5
    )
    assert hit == Hit(
        Passage(id=passage_id("Etna", "A volcano."), title="Etna", text="A volcano."), 1.0
    )
    assert (other.passage.title, other.passage.text, other.score) == ("T", "x", 0.5)


def test_more_documents_than_asked_for_are_cut_and_fewer_are_kept():
    ranking = [scored(1, "a"), scored(1, "b"), scored(1, "c")]
    assert [len(r) for r in read_rankings(body(ranking, ranking[:1], []), 3, 2)] == [2, 1, 0]


@pytest.mark.parametrize("id", [None, "", "  ", "a\nb", "a\x1b[31m", "x" * 201, True, ["a"]])
def test_an_id_that_cannot_be_cited_gives_way_to_the_content_hash(id):
    [[hit]] = read_rankings(body([scored(1.0, id, "T\ntext")]), 1, 1)
    assert hit.passage.id == passage_id("T", "text")


def test_a_number_is_an_id():
    assert read_rankings(body([scored(1.0, 17)]), 1, 1)[0][0].passage.id == "17"


def test_half_characters_do_not_cost_a_ranking():
    raw = b'{"result": [[{"document": {"id": "a", "contents": "T\\nx \\ud800 y"}, "score": 1}]]}'
    assert read_rankings(raw, 1, 1)[0][0].passage.text == "x \N{REPLACEMENT CHARACTER} y"


def test_a_query_with_half_a_character_is_sent(server, client):
    client.search(["a \ud800 b"], 1)
    assert server.queries() == [["a ? b"]]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"<!DOCTYPE html><title>Log in</title>", "a web page"),
        (b"[" * 100_000, "no JSON"),
        (b"null", 'no list "result"'),
        (b"[]", 'no list "result"'),
        (b'{"result": {}}', 'no list "result"'),
        (b'{"detail": "x"}', 'no list "result"'),
        (body(), "answered 0 queries but was asked 1"),
        (body([], []), "answered 2 queries but was asked 1"),
        (body(None), "no list of documents"),
        (body("abc"), "no list of documents"),
        (body([None]), "without contents"),
        (body(["text"]), "without contents"),
        (body([{"document": {"id": "a"}, "score": 1}]), "without contents"),
        (body([scored(1, contents=None)]), "without contents"),
        (body([scored("0.5")]), "not a number"),
        (body([scored(True)]), "not a number"),
        (
            b'{"result": [[{"document": {"id": "a", "contents": "x"}, "score": NaN}]]}',
            "not a number",
        ),
    ],
)
def test_a_body_of_another_form_is_one_clear_line(answer, said):
    with pytest.raises(RetrieverError, match=said) as raised:
        read_rankings(answer, 1, 3)
    assert str(raised.value).isprintable()


# --- what may pass, and what does not ----------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [sends("busy", 500), sends("slow", 408), sends("often", 429, retry_after="0")]
)
def test_what_may_pass_is_asked_again(server, client, fault):
    server.play(fault, fault, None)
    assert client.search(["q"], 1)[0][0].passage.id == "q-1"
    assert len(server.requests) == 3


GONE = [sends("", 502), sends("", 503), sends("", 504), cut(), cut(chunked=True), drops()]


@pytest.mark.parametrize("fault", GONE)
def test_a_server_that_seems_gone_is_asked_once_more(server, client, fault):
    server.play(fault, None)
    assert client.search(["q"], 1)[0][0].passage.id == "q-1"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "sign"),
    [
        (sends("no", 404), "answered"),
        (sends("busy", 500), "answered"),
        (sends("later", 503, retry_after="0"), "answered"),
        (sends("", 504), "lost"),
        (hangs(), "lost"),
    ],
)
def test_a_failure_says_whether_the_server_is_there(server, fault, sign):
    client = SearchServer(server.url, RequestBounds(attempts=1, seconds=0.5, total=10))
    server.play(fault)
    with pytest.raises(RetrieverError) as raised:
        client.search(["q"], 1)
    assert raised.value.sign == sign


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (sends({"detail": "no such field"}, 422), "status 422: no such field"),
        (sends("no", 404), "status 404: no"),
        (sends("", 307, location="/other"), "a redirect .307."),
        (sends("<html><title>Portal</title></html>", 200, "text/html"), "a web page"),
        (sends({"result": []}), "answered 0 queries"),
    ],
)
def test_what_will_not_pass_is_not_asked_again(server, client, fault, said):
    server.play(fault)
    with pytest.raises(RetrieverError, match=said):
        client.search(["q"], 1)
    assert len(server.requests) == 1


def test_a_time_that_the_server_asks_for_is_waited(server):
    waits = []
    client = SearchServer(server.url, QUICK, waits.append)
    server.play(sends("later", 429, retry_after="7"), sends("later", 503, retry_after="20"), None)
    client.search(["q"], 1)
    assert 7 <= waits[0] <= 7.7
    assert 20 <= waits[1] <= 21


def test_a_wait_that_would_not_end_in_time_is_not_begun(server):
    waits = []
    server.play(sends("later", 429, retry_after="3600"))
    with pytest.raises(RetrieverError, match="status 429"):
        SearchServer(server.url, QUICK, waits.append).search(["q"], 1)
    assert waits == []


def test_pauses_grow_and_end(server):
    waits = []
    patience = replace(QUICK, attempts=12, total=1e6, pause=1.0)
    server.play(*[sends("busy", 500)] * 11)
    SearchServer(server.url, patience, waits.append).search(["q"], 1)
    longest = [min(30.0, 2.0**n) for n in range(11)]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("fault", [hangs(), hangs(b'{"result'), drips()])
def test_a_server_that_never_ends_is_left(server, fault):
    client = SearchServer(server.url, RequestBounds(attempts=1, seconds=0.3, total=10))
    server.play(fault)
    with pytest.raises(RetrieverError, match="did not answer within"):
        client.search(["q"], 1)


def test_an_endless_body_is_left(server, client, monkeypatch):
    monkeypatch.setattr("branchwise.corpora.search_server._MAX_BODY_BYTES", 1000)
    server.play(sends(b" " * 5000))
    with pytest.raises(RetrieverError, match="larger than 1000 bytes"):
        client.search(["q"], 1)


def test_a_compressed_body_that_was_not_asked_for_is_read_or_refused_in_one_line(server, client):
    server.play(sends(gzip.compress(body([scored(1.0)])), content_encoding="gzip"))
    assert client.search(["q"], 1)[0][0].passage.id == "d1"
    server.play(sends(body([]), content_encoding="br"))
    with pytest.raises(RetrieverError, match="compresses its answer in a way"):
        client.search(["q"], 1)


def test_errors_show_the_model_no_address(server, client):
    server.play(*[sends(f"cannot reach {server.url} with sk-abcdefghijkl", 500)] * 3)
    with pytest.raises(RetrieverError) as raised:
        client.search(["q"], 1)
    assert "127.0.0.1" not in str(raised.value)
    assert "abcdefgh" not in str(raised.value)


# --- how it is used ----------------------------------------------------------------------------


async def test_the_model_is_told_in_one_line(server, client):
    server.play(sends({"detail": "no index"}, 400))
    message = make_local_retriever(client)
    with pytest.raises(Exception, match="status 400: no index; go on with the other tools"):
        await message.ainvoke({"query": "q"})


def test_nobody_there_is_one_line_at_the_start():
    port = unused_port()
    with pytest.raises(InputError) as raised:
        open_search_server(f"http:http://127.0.0.1:{port}", RequestBounds(attempts=1))
    assert str(raised.value) == (
        f"http://127.0.0.1:{port}/retrieve: the retrieval server cannot be reached "
        "(Connection refused); start the server or correct the address in --retriever "
        "(Search-R1's path is /retrieve)"
    )


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_wanted_is_asked_for_and_one_that_is_refused_is_named(
    server, monkeypatch, status
):
    server.play(sends("", status), sends("", status))
    with pytest.raises(InputError) as raised:
        open_search_server(server.url)
    assert str(raised.value) == (
        f"{server.url}: the retrieval server answers with status {status}: it gives no reason; "
        f"no key goes to {server.host}; name its variable: --key {server.host}=VARIABLE"
    )
    monkeypatch.setenv("SEARCH_KEY", "search-0123456789")
    with pytest.raises(InputError, match="the key in SEARCH_KEY is not accepted there: check it"):
        open_search_server(server.url, keys=Keys({server.host: "SEARCH_KEY"}))


@pytest.mark.parametrize(
    ("spec", "url"),
    [
        ("http:http://localhost:8000/retrieve", "http://localhost:8000/retrieve"),
        ("http:http://localhost:8000", "http://localhost:8000/retrieve"),
        ("http:http://localhost:8000/", "http://localhost:8000/retrieve"),
        ("http://localhost:8000", "http://localhost:8000/retrieve"),
        ("http:https://host/v2/find", "https://host/v2/find"),
        ("https://host/", "https://host/retrieve"),
        ("http:http://[::1]:8000", "http://[::1]:8000/retrieve"),
    ],
)
def test_an_address_is_read(spec, url):
    assert server_url(spec) == url


@pytest.mark.parametrize(
    "spec",
    [
        "http:",
        "http:localhost:8000",
        "http://",
        "http:ftp://host",
        "http:http://u:p@host",
        "http:http://u@host",
        "http:http://host?key=x",
        "http:http://host/#a",
        "http:http://host:port",
        "http:http://ho st",
        "http:http://host\n/x",
        "http:http://[::1",
    ],
)
def test_what_is_no_address_is_refused(spec):
    with pytest.raises(InputError, match="write http:http://HOST:PORT/retrieve"):
        server_url(spec)


def test_names_say_whether_they_need_a_corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [
        needs_corpus(n) for n in (None, "flat", "http:http://h", "https://h", "flashrag:f")
    ] == [True, True, False, False, False]
    assert absolute_name("flashrag:c.yaml") == f"flashrag:{tmp_path}/c.yaml"
    assert absolute_name("http:http://h") == "http:http://h"
    with pytest.raises(InputError, match="no corpus to search"):
        open_retriever(None, "flat")


# --- repeats and places without a passage ---------------------------------------------------


def test_a_repeated_passage_keeps_its_best_rank():
    answer = body([scored(3.0, "a"), scored(2.0, "b", "U\nother"), scored(1.0, "a")])
    with pytest.warns(UserWarning, match="names passages twice"):
        (hits,) = read_rankings(answer, 1, 5)
    assert [(hit.passage.id, hit.score) for hit in hits] == [("a", 3.0), ("b", 2.0)]


@pytest.mark.parametrize("score", [-3.4028234663852886e38, 3.4028234663852886e38])
@pytest.mark.parametrize("id", [-1, "last of the corpus"])
def test_places_that_faiss_left_empty_are_left_out(id, score):
    answer = body([scored(3.0, "a"), scored(score, id)])
    with pytest.warns(UserWarning, match="places without a passage"):
        (hits,) = read_rankings(answer, 1, 5)
    assert [hit.passage.id for hit in hits] == ["a"]


def test_one_id_with_two_texts_is_refused():
    answer = body([scored(3.0, "a"), scored(2.0, "a", "T\nanother")])
    with pytest.raises(RetrieverError, match="gives two texts the id 'a'"):
        read_rankings(answer, 1, 5)
