"""`POST /retrieve` has Search-R1's shapes, gives what the retriever gives, refuses in a line."""

import asyncio
import json
import random

import aiohttp
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.open import open_retriever
from branchwise.corpora.passages import to_passage
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_server import open_search_server, read_rankings
from branchwise.tools import retrieval_server as retrieve
from branchwise.tools.batcher import LARGEST_BATCH, Batcher
from branchwise.tools.retrieval_server import MAX_BODY_BYTES, json_answer, retrieve_app
from support.retrievers import EchoRetriever
from support.serving.serving_peers import KINDS, PLACES, served

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def shelf():
    made = EchoRetriever("shelf", {"kind": "shelf"})
    yield made
    made.release.set()


@pytest.fixture
async def ask(shelf):
    """Ask the app over `shelf`; gives status and decoded answer. `ask.said`: its complaints."""
    said = []
    app = retrieve_app(Batcher(shelf), said.append)
    async with served(app) as base, aiohttp.ClientSession() as session:

        async def request(data, headers=JSON, path="/retrieve", method="POST"):
            data = json.dumps(data) if isinstance(data, dict) else data
            async with session.request(method, base + path, data=data, headers=headers) as response:
                raw = await response.read()
                assert response.content_type == "application/json"
                assert b"\n" not in raw
                return response.status, orjson.loads(raw)

        request.base, request.said = base, said
        yield request


def documents(query, count):
    return [{"id": f"{query}-{n}", "contents": f"{query}\ntext {n}"} for n in range(1, count + 1)]


def scored(query):
    return [{"document": d, "score": 1 / n} for n, d in enumerate(documents(query, 2), 1)]


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ('{"queries": ["a", "b"], "topk": 2, "return_scores": true}', [scored("a"), scored("b")]),
        ('{"queries": ["a"], "topk": 1, "return_scores": false}', [documents("a", 1)]),
        ('{"queries": ["a"], "x": 1}', [documents("a", 3)]),
        ('{"queries": ["a"], "topk": null}', [documents("a", 3)]),
        ('{"queries": []}', []),
        ('{"queries": ["a", "b", "a"], "topk": 1}', [documents(q, 1) for q in "aba"]),
        (rb'{"queries": ["x \ud800 y"], "topk": 1}', [documents("x ? y", 1)]),
    ],
)
async def test_a_request_is_answered_in_search_r1s_shapes(ask, body, result):
    media = {"Content-Type": "application/json; charset=utf-8"}
    assert await ask(body, media) == (200, {"result": result})


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("[" * 100_000, 400, "not valid JSON"),
        ("[]", 422, '"queries"'),
        ("{}", 422, "queries: Field required"),
        ('{"queries": ["a", 1]}', 422, "queries[1]: "),
        ('{"queries": ["a"], "topk": 51}', 422, "50"),
        ('{"queries": ["a"], "topk": 1e999}', 422, "topk: "),
        (json.dumps({"queries": ["a" * 16_001]}), 422, "queries[0]: "),
        (json.dumps({"queries": ["a"] * 8_193}), 422, "8192"),
        (json.dumps({"queries": ["a"] * 1_311, "topk": 50}), 422, "65536 passages"),
    ],
)
async def test_a_request_that_asks_nothing_is_told_why(ask, shelf, body, status, said):
    got, answer = await ask(body)
    assert (got, said in answer["error"], shelf.calls) == (status, True, [])


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"headers": {"Content-Type": "text/plain"}}, 415),
        ({"method": "PUT"}, 405),
        ({"path": "/nowhere"}, 404),
        ({"headers": JSON | {"Host": "127.0.0.1.attacker.example:80"}}, 403),
        ({"headers": JSON | {"Origin": "https://attacker.example"}}, 403),
        ({"headers": JSON | {"Host": "[::1]:8000"}}, 200),
        ({"headers": JSON | {"Host": "localhost", "Origin": "http://127.0.0.1:3000"}}, 200),
    ],
)
async def test_web_pages_and_other_addresses_are_kept_out(ask, request_, status):
    got, answer = await ask('{"queries": []}', **request_)
    assert (got, "error" in answer) == (status, status != 200)


async def test_what_is_served_is_said(ask):
    for path in ("/", "/health"):
        _, said = await ask(None, None, path, "GET")
        assert (said["retriever"], said["identity"]) == ("shelf", {"kind": "shelf"})
        assert said["topk"] == {"default": 3, "most": 50}


async def test_a_search_that_fails_is_told_on_one_line_and_the_next_is_answered(ask, shelf):
    shelf.fail = RetrieverError("the retrieval server answers with status 404")
    assert await ask({"queries": ["a"]}) == (502, {"error": str(shelf.fail)})
    shelf.fail = OSError("index\ngone")
    assert (await ask({"queries": ["a", "b"]}))[0] == 500
    assert ask.said == ["a search failed: OSError: index gone"]
    shelf.fail = None
    assert (await ask({"queries": ["a"]}))[0] == 200


@given(st.text(st.characters(codec="utf-8")).filter(lambda text: text.strip() and '""' not in text))
def test_our_client_reads_the_passage_that_was_served(contents):
    passage = to_passage("id", contents)
    for with_scores, score in ((True, 0.25), (False, 1.0)):
        body = orjson.dumps(json_answer([[Hit(passage, 0.25)]], with_scores))
        assert read_rankings(body, 1, 3) == [[Hit(passage, score)]]


async def test_64_clients_at_once_get_what_the_retriever_in_process_gives(
    serve, corpus_dir, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = serve("retrieve", "--corpus", corpus_dir, "--port", 0)
    retriever = open_retriever(corpus_dir, "bm25")
    words = random.Random(0)
    queries = [f"Which {words.choice(KINDS)} is {words.choice(PLACES)}?" for _ in range(64)]
    queries[:4] = ["", " ", "\N{GRINNING FACE}", "x" * 16_000]

    async def client(session, number, query):
        asked = {"queries": [query], "topk": number % 7 + 1, "return_scores": True}
        async with session.post(server.url, json=asked) as response:
            return read_rankings(await response.read(), 1, 7)

    async with aiohttp.ClientSession() as session:
        found = await asyncio.gather(*(client(session, n, q) for n, q in enumerate(queries)))
    assert found == [retriever.search([query], n % 7 + 1) for n, query in enumerate(queries)]
    ours = open_search_server(server.base).search(queries, 5)
    assert ours == retriever.search(queries, 5)
    assert {hit.passage.title for ranking in ours for hit in ranking} <= set(PLACES)


# --- clients on the wire --------------------------------------------------------------------


def head(length):
    """A request's headers."""
    named = {"Host": "localhost", **JSON, "Content-Length": length}
    lines = ("POST /retrieve HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()))
    return "\r\n".join((*lines, "", "")).encode()


async def connect(base, sent):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
    writer.write(sent)
    return reader, writer


async def last_answer(reader):
    """Status and body of an answer after which the server closes the connection."""
    headers, _, body = (await reader.read()).partition(b"\r\n\r\n")
    return int(headers.split()[1]), json.loads(body)["error"]


async def test_one_who_sends_too_much_reads_why(ask):
    part, parts = b"a" * 1_000_000, MAX_BODY_BYTES // 1_000_000 + 5
    reader, writer = await connect(ask.base, head(parts * len(part)))
    for _ in range(parts):
        writer.write(part)
        await writer.drain()
    status, error = await last_answer(reader)
    assert (status, str(MAX_BODY_BYTES) in error) == (413, True)


async def test_a_body_that_does_not_come_is_refused_and_others_are_answered(ask, monkeypatch):
    monkeypatch.setattr(retrieve, "BODY_SECONDS", 0.05)
    reader, _ = await connect(ask.base, head(100) + b'{"queries"')
    assert (await ask({"queries": ["a"]}))[0] == 200
    status, error = await last_answer(reader)
    assert (status, "seconds" in error) == (408, True)


async def test_a_client_that_leaves_takes_its_queries_with_it(ask, shelf):
    shelf.held = True
    body = json.dumps({"queries": [f"q{n}" for n in range(3 * LARGEST_BATCH)]}).encode()
    _, writer = await connect(ask.base, head(len(body)) + body)
    await asyncio.to_thread(shelf.entered.acquire, timeout=30)
    writer.transport.abort()
    await ask(None, None, "/", "GET")  # the server has looked at its connections
    shelf.release.set()
    assert (await ask({"queries": ["stays"], "topk": 1}))[0] == 200
    assert shelf.calls[-1] == (["stays"], 1)
    assert sum(len(queries) for queries, _ in shelf.calls) <= LARGEST_BATCH + 1


@pytest.mark.slow
async def test_the_largest_request_lets_others_in_between(ask, shelf):
    shelf.held = True
    queries = [f"q{n}" for n in range(8_192)]
    large = asyncio.create_task(ask({"queries": queries, "topk": 8}))
    await asyncio.to_thread(shelf.entered.acquire, timeout=30)
    small = asyncio.create_task(ask({"queries": ["small"]}))
    _, writer = await connect(ask.base, b"")  # accepted after the small request's connection
    await ask(None, None, "/", "GET")  # and answered after that was read
    shelf.release.set()
    assert (await small)[0] == 200
    _, answer = await large
    assert answer["result"] == [documents(query, 8) for query in queries]
    assert next(n for n, (asked, _) in enumerate(shelf.calls) if "small" in asked) <= 2
    writer.close()
