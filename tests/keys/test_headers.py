"""Headers of a user's own go to model servers alone: not to retrievers, nor where one redirects."""

import json

import pytest
from aiohttp import web

from branchwise import run
from branchwise.agents import restraints
from branchwise.graphs.system import System
from branchwise.runs.store import open_run
from support.loopback import LoopbackServer

NAME, CANARY = "X-Title", "header-canary"


class HeaderServer(LoopbackServer):
    """Answers as a model or a retriever and keeps the headers of requests, or redirects them."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.redirect = ""
        self.fails = False

    def app(self):
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request):
        self.seen.append(dict(request.headers))
        if self.fails:
            return web.json_response({"error": {"message": "no"}}, status=400)
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


def values(server, name):
    """What its requests have under a header's name, in any case of letters."""
    return {{k.lower(): v for k, v in seen.items()}.get(name.lower()) for seen in server.seen}


@pytest.fixture
def servers(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
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
    assert values(model, NAME) == {CANARY}
    assert len(model.seen) == 3  # its list of models, and two turns
    assert retriever.seen
    assert not any(CANARY in value for headers in retriever.seen for value in headers.values())
    reader = open_run(tmp_path / "R")
    kept, identity = reader.system["headers"], reader.meta["identity"]
    reader.close()
    assert kept == {NAME: CANARY}
    assert CANARY not in json.dumps(identity)


def test_a_header_with_a_host_goes_to_what_is_asked_there_and_nowhere_else(
    servers, questions, tmp_path, type_in
):
    model, retriever, _ = servers
    code, _, err = type_in(
        "run", "--questions", questions, "--out", tmp_path / "R",
        "--model", f"openai:m@http://{model.host}/v1",
        "--retriever", f"http:http://{retriever.host}/retrieve",
        "--header", f"{retriever.host}/X-Index={CANARY}",
        "--header", f"{model.host}/X-Title=of-the-host", "--header", "X-Title=of-any",
    )  # fmt: skip
    assert code == 0, err
    assert values(retriever, "X-Index") == {CANARY}
    assert values(retriever, "X-Title") == {None}
    assert values(model, "X-Title") == {"of-the-host"}
    assert values(model, "X-Index") == {None}


def test_corpus_search_needs_no_folder_where_a_server_searches(servers, type_in):
    retriever = servers[1]
    spec = f"http:http://{retriever.host}/retrieve"
    header = f"{retriever.host}/X-Index={CANARY}"
    code, out, _ = type_in("corpus", "search", "Heat", "--retriever", spec, "--header", header)
    assert code == 0
    assert out.startswith("1. [p1] Heat ")
    assert values(retriever, "X-Index") == {CANARY}
    for words, said in (
        (("Heat",), "there is no corpus to search; name its folder: branchwise corpus search DIR"),
        (("C", " "), "the query is empty"),
        (("C", "who", "directed"), "3 arguments are more than a folder and a query"),
    ):
        code, _, err = type_in("corpus", "search", *words)
        assert code == 2
        assert said in err


def test_resume_sends_others_before_those_that_the_run_keeps(
    servers, questions, tmp_path, type_in, monkeypatch
):
    model, retriever, _ = servers
    monkeypatch.setenv("SOME_KEY", "first-0123456789")
    made = System(
        model=f"openai:m@http://{model.host}/v1",
        retriever=f"http:http://{retriever.host}/retrieve",
        headers={NAME: "old", "X-Kept": "kept"},
    )
    model.fails = True
    assert run(questions, made, out=tmp_path / "R").state.failed == 1
    model.fails, before = False, len(model.seen)
    more = ("--header", f"{NAME.lower()}={CANARY}", "--key", f"{model.host}=SOME_KEY")
    code, _, err = type_in("resume", tmp_path / "R", "--retry-failed", *more)
    assert code == 0, err
    sent = [{name.lower(): value for name, value in one.items()} for one in model.seen[before:]]
    ours = [[one.get(name) for name in ("x-title", "x-kept", "authorization")] for one in sent]
    assert ours == [[CANARY, "kept", "Bearer first-0123456789"]] * 2
    reader = open_run(tmp_path / "R")
    system = reader.system
    reader.close()
    assert (system["headers"], system["keys"]) == ({NAME: "old", "X-Kept": "kept"}, {})


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("X-Title", "--header: what is given is not a header; write --header [HOST/]NAME=VALUE"),
        ("Host=h", "--header Host: is not for --header"),
        (f"X-Any=sk-{'0123456789' * 3}", "has a value that looks like a key"),
    ],
)
def test_resume_refuses_what_is_no_header(servers, questions, tmp_path, type_in, header, said):
    made = System(model=f"openai:m@http://{servers[0].host}/v1")
    run(questions, made, out=tmp_path / "R")
    code, out, err = type_in("resume", tmp_path / "R", "--header", header)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


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
