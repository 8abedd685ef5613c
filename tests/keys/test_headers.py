"""Headers of a user's own go to model servers alone: not to retrievers, nor where one redirects."""

import json

import pytest
from aiohttp import web

from branchwise import run
from branchwise.agents import retries
from branchwise.eval.store import open_run
from branchwise.graphs.system import System
from support.loopback import LoopbackServer

NAME, CANARY = "X-Title", "header-canary"


class HeaderServer(LoopbackServer):
    """Answers as a model or a retriever and keeps the headers of requests, or redirects them."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.redirect = ""

    def app(self):
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request):
        self.seen.append(dict(request.headers))
        if self.redirect and "moved" not in request.path:
            return web.Response(status=307, headers={"Location": self.redirect})
        if request.path == "/retrieve":
            document = {"id": "p1", "contents": "Heat\nMichael Mann directed Heat."}
            count = len((await request.json()).get("queries", [1]))
            return web.json_response({"result": [[{"document": document, "score": 1.0}]] * count})
        asked = await request.json()
        called = any(message["role"] == "tool" for message in asked["messages"])
        call = {"name": "local_retriever", "arguments": '{"query": "Heat"}'}
        message = (
            {"content": json.dumps({"answers": {"default": ["Mann"]}})}
            if called or not asked.get("tools")
            else {"content": None, "tool_calls": [{"id": "c", "function": call}]}
        )
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.fixture
def servers(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.0)
    started = [HeaderServer().start() for _ in range(3)]
    yield started
    for server in started:
        server.stop()


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q1", "question": "Who?", "answers": {"default": ["Mann"]}}')
    return str(path)


def test_models_get_them_and_retrievers_do_not(servers, questions, tmp_path, type_in):
    model, retriever, _ = servers
    code, _, err = type_in(
        "run", "--questions", questions, "--out", tmp_path / "R",
        "--model", f"openai:m@http://{model.host}/v1",
        "--retriever", f"http:http://{retriever.host}/retrieve", "--header", f"{NAME}={CANARY}",
    )  # fmt: skip
    assert code == 0, err
    assert {headers.get(NAME) for headers in model.seen} == {CANARY}
    assert len(model.seen) == 2
    assert retriever.seen
    assert not any(CANARY in value for headers in retriever.seen for value in headers.values())
    reader = open_run(tmp_path / "R")
    kept, identity = reader.system["headers"], reader.meta["identity"]
    reader.close()
    assert kept == {NAME: CANARY}
    assert CANARY not in json.dumps(identity)


@pytest.mark.parametrize("stream", [False, True])
def test_a_redirect_to_another_host_gets_nothing_and_one_on_the_same_keeps_them(
    servers, questions, tmp_path, stream
):
    model, _, elsewhere = servers
    model.redirect = f"http://{elsewhere.host}/v1/chat/completions"
    url = f"http://{model.host}/v1"
    made = System(model=f"openai:m@{url}", headers={NAME: CANARY}, decoding={"stream": stream})
    assert run(questions, made, out=tmp_path / "R").state.failed == 1
    assert elsewhere.seen == []
    model.redirect, before = f"http://{model.host}/moved", len(model.seen)
    if not stream:
        assert run(questions, made, out=tmp_path / "S").state.done == 1
        assert [headers.get(NAME) for headers in model.seen[before:]] == [CANARY] * 2
