"""`POST /retrieve` has Search-R1's shapes, and gives what the retriever gives."""

import asyncio
import random

import aiohttp
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.open import open_retriever
from branchwise.corpora.passages import Passage
from branchwise.corpora.records import to_passage
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_answers import read_rankings
from branchwise.corpora.search_server import open_search_server
from branchwise.tools.batcher import Batcher
from branchwise.tools.serving.retrieve import json_answer, retrieve_app
from support.serving.serving_peers import KINDS, PLACES, served


@pytest.fixture
async def ask(shelf):
    """Post a body to the app over `shelf`; gives status and decoded answer."""
    said = []
    app = retrieve_app(Batcher(shelf), said.append)
    async with served(app) as base, aiohttp.ClientSession() as session:

        async def post(body):
            async with session.post(f"{base}/retrieve", json=body) as response:
                assert response.content_type == "application/json"
                return response.status, orjson.loads(await response.read())

        post.base, post.session, post.said = base, session, said
        yield post


def document(query, rank):
    return {"id": f"{query}-{rank}", "contents": f"{query}\ntext {rank}"}


async def test_with_scores_each_document_stands_beside_its_score(ask):
    assert await ask({"queries": ["a", "b"], "topk": 2, "return_scores": True}) == (
        200,
        {
            "result": [
                [
                    {"document": document(q, 1), "score": 1.0},
                    {"document": document(q, 2), "score": 0.5},
                ]
                for q in "ab"
            ]
        },
    )


async def test_without_scores_the_documents_stand_bare(ask):
    bare = (200, {"result": [[document("a", 1)], [document("b", 1)]]})
    assert await ask({"queries": ["a", "b"], "topk": 1, "return_scores": False}) == bare
    assert await ask({"queries": ["a", "b"], "topk": 1}) == bare


@pytest.mark.parametrize("body", [{"topk": None}, {}], ids=["null", "absent"])
async def test_without_a_number_there_are_three_documents(ask, body):
    status, answer = await ask({"queries": ["a"]} | body)
    assert (status, answer["result"]) == (200, [[document("a", n) for n in (1, 2, 3)]])


async def test_no_queries_have_no_rankings(ask, shelf):
    assert await ask({"queries": [], "topk": 3}) == (200, {"result": []})
    assert shelf.calls == []


async def test_equal_queries_each_have_their_ranking(ask):
    _, answer = await ask({"queries": ["a", "b", "a"], "topk": 1})
    assert answer["result"] == [[document(q, 1)] for q in "aba"]


async def test_half_a_character_in_one_query_does_not_cost_the_others(ask):
    raw = rb'{"queries": ["x \ud800 y", "b"], "topk": 1}'
    headers = {"Content-Type": "application/json; charset=utf-8"}
    async with ask.session.post(f"{ask.base}/retrieve", data=raw, headers=headers) as response:
        answer = await response.json()
    assert answer["result"] == [[document("x ? y", 1)], [document("b", 1)]]


async def test_what_is_served_is_said(ask):
    for path in ("/", "/health"):
        async with ask.session.get(ask.base + path) as response:
            said = await response.json()
        assert said["retriever"] == "shelf"
        assert said["identity"] == {"kind": "shelf"}
        assert said["topk"] == {"default": 3, "most": 50}


async def test_a_retriever_elsewhere_that_fails_is_a_bad_gateway_in_its_words(ask, shelf):
    shelf.fail = RetrieverError("the retrieval server answers with status 404: no such page")
    status, answer = await ask({"queries": ["a"]})
    assert (status, answer) == (502, {"error": str(shelf.fail)})


async def test_a_search_that_fails_is_told_on_one_line_and_the_next_is_answered(ask, shelf):
    shelf.fail = OSError("index\ngone")
    assert (await ask({"queries": ["a", "b"]}))[0] == 500
    assert ask.said == ["a search failed: OSError: index gone"]
    shelf.fail = None
    assert (await ask({"queries": ["a"]}))[0] == 200


@given(st.text(st.characters(codec="utf-8")).filter(lambda text: text.strip() and '""' not in text))
def test_our_client_reads_the_passage_that_was_served(contents):
    passage = to_passage("id", contents)
    body = orjson.dumps(json_answer([[Hit(passage, 0.25)]], with_scores=True))
    assert read_rankings(body, 1, 3) == [[Hit(passage, 0.25)]]
    bare = orjson.dumps(json_answer([[Hit(passage, 0.25)]], with_scores=False))
    assert read_rankings(bare, 1, 3) == [[Hit(passage, 1.0)]]


# --- beside the retriever in process --------------------------------------------------------


def as_answered(hits):
    return [
        {"document": {"id": p.id, "contents": f"{p.title}\n{p.text}"}, "score": score}
        for p, score in hits
    ]


def questions(seed, count):
    words = random.Random(seed)
    frames = ("Which {1} is {0}?", "{0}", "{1} near {0}", "what is the {1} that is called {0} now")
    return [
        words.choice(frames).format(words.choice(PLACES), words.choice(KINDS)) for _ in range(count)
    ]


async def test_64_clients_at_once_get_what_the_retriever_in_process_gives(flat_server, corpus_dir):
    retriever = open_retriever(corpus_dir, "flat")

    async def client(number):
        async with aiohttp.ClientSession() as session:
            for query in questions(number, 4):
                k = number % 7 + 1
                asked = {"queries": [query], "topk": k, "return_scores": True}
                async with session.post(flat_server.url, json=asked) as response:
                    [ranking] = (await response.json())["result"]
                [expected] = retriever.search([query], k)
                assert ranking == as_answered(expected), query

    await asyncio.gather(*map(client, range(64)))


def test_our_own_client_gets_what_the_retriever_in_process_gives(
    flat_server, corpus_dir, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    queries = [*questions(99, 100), "", " ", "\N{GRINNING FACE}", "x" * 16_000]
    client = open_search_server(flat_server.base)
    assert client.search(queries, 5) == open_retriever(corpus_dir, "flat").search(queries, 5)


def test_quotes_around_titles_are_not_served(flat_server):
    [[hit]] = open_search_server(flat_server.url).search(["Is Gouda a cheese?"], 1)
    assert hit.passage == Passage(
        id="Gouda-cheese", title="Gouda", text="Is Gouda a cheese? It stands here as one."
    )
