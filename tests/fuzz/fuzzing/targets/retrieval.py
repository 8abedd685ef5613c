"""What a retrieval server answers, and what clients ask of ours; what MCP servers answer."""

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fuzzing import forms
from fuzzing.ground import Ground
from fuzzing.servers import Answer, serving
from fuzzing.target import Check, Target
from fuzzing.verdicts import FoundError, Verdict, plain, refused

_DOCUMENT = {"id": "p1", "contents": '"Heat"\nHeat is a film of 1995.'}
_RANKINGS = [
    json.dumps({"result": [ranking]}).encode()
    for ranking in (
        [{"document": _DOCUMENT, "score": 0.9}, {"document": {"contents": "x"}, "score": 0.1}],
        [_DOCUMENT, {"id": 7, "title": "Heat", "text": "A film."}],
        [],
    )
]
_REQUESTS = [
    json.dumps(request).encode()
    for request in (
        {"queries": ["King Kong", "", "film of 1933"], "topk": 2, "return_scores": True},
        {"queries": ["x"] * 100},
        {"queries": ["King Kong"], "topk": None, "return_scores": False, "more": 1},
    )
]


_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}}
_TOOL = {
    "name": "film_year",
    "title": "Year",
    "description": "Year of a film.",
    "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "exact": {"type": "boolean", "default": True}},
        "required": ["title"],
    },
    "outputSchema": {"type": "object", "properties": {"year": {"type": "integer"}}},
}
_RESULTS = [
    json.dumps(
        {
            "initialize": _HELLO | {"serverInfo": {"name": "films", "version": "1.2"}},
            "tools/list": {"tools": [_TOOL]},
            "tools/call": {
                "content": [{"type": "text", "text": "1995"}],
                "structuredContent": content,
                "isError": False,
            },
        }
    ).encode()
    for content in (
        {"year": 1995},
        {"year": 1, "passages": [{"id": "p1", "title": "Heat", "text": "By Mann.", "score": 1.0}]},
    )
]


@contextmanager
def _searched(ground: Ground, here: Path) -> Iterator[Check]:
    from branchwise.corpora.retrieval import RetrieverError
    from branchwise.corpora.search_server import RequestBounds, SearchServer

    with serving() as server:
        retriever = SearchServer(f"{server.url}/retrieve", RequestBounds(attempts=1, seconds=20))

        def check(data: bytes) -> Verdict:
            server.answer = Answer(data)
            try:
                (hits,) = retriever.search(["King Kong"], 3)
            except RetrieverError as error:
                return refused(str(error))
            json.dumps([hit.passage.model_dump() | {"score": hit.score} for hit in hits])
            return "accepted"

        yield check


@contextmanager
def _asked(ground: Ground, here: Path) -> Iterator[Check]:
    """Inputs are bodies of requests to a server of ours; it refuses in JSON, and stays."""
    from branchwise.corpora.open import open_retriever
    from branchwise.tools.batcher import Batcher
    from branchwise.tools.retrieval_server import retrieve_app
    from branchwise.tools.web_server import listen, web_server

    complaints: list[str] = []
    app = retrieve_app(Batcher(open_retriever(ground.corpus, "bm25")), complaints.append)
    listener, server = listen("127.0.0.1", 0, "fuzz"), web_server(app)
    sockets = {"sockets": [listener.socket]}
    thread = threading.Thread(target=server.run, kwargs=sockets, daemon=True)
    thread.start()
    port = listener.socket.getsockname()[1]

    def check(data: bytes) -> Verdict:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=9)
        try:
            connection.request("POST", "/retrieve", data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return _verdict(response.status, response.read(), complaints)
        finally:
            connection.close()

    yield check
    server.should_exit = True
    thread.join(5)


def _verdict(status: int, body: bytes, complaints: list[str]) -> Verdict:
    if status >= 500 or complaints:
        raise FoundError(f"status {status}, {complaints}: {body[:1000]!r}")
    said = body.decode()
    if status < 300:
        return plain(said[:3000].replace(",", "\n"), "accepted")
    json.loads(said)
    return plain(said, "refused")


@contextmanager
def _as_mcp_server(ground: Ground, here: Path) -> Iterator[Check]:
    """Inputs say what a server answers to each method; its tool is shown, then called."""
    from branchwise.base.errors import InputError
    from branchwise.tools import mcp_client as client
    from branchwise.tools.registry import close_now, open_mcp_tools

    # A server may take a minute to start, and three seconds to come to its senses. Not here.
    client.START_SECONDS = 2.0
    client.AFTER_NONSENSE_SECONDS = 0.2
    with serving() as server:
        spec = f"mcp:{server.url}/mcp"

        def check(data: bytes) -> Verdict:
            server.answer = lambda request: _said(request, data)
            try:
                tools = open_mcp_tools([spec])[spec]
            except InputError as error:
                return refused(str(error))
            try:
                for tool in tools[:2]:
                    asyncio.run(_called(tool))
            finally:
                close_now(tools)
            return "accepted"

        yield check


async def _called(tool: Any) -> None:
    result = await tool.call({"title": "Heat"}, 2.0)
    json.dumps(result.artifact)
    plain(result.content, "accepted")


def _said(request: bytes, data: bytes) -> Answer:
    """The input's part for the request's method; the input as it stands where it has no parts."""
    try:
        asked, parts = json.loads(request or b"{}"), json.loads(data)
    except (ValueError, RecursionError):
        return Answer(data)
    if "id" not in asked:
        return Answer(b"", status=202)
    if not isinstance(parts, dict) or asked.get("method") not in parts:
        return Answer(data)
    result = {"jsonrpc": "2.0", "id": asked["id"], "result": parts[asked["method"]]}
    return Answer(json.dumps(result).encode())


TARGETS = (
    Target("retrieval-answers", forms.json_value, lambda _: _RANKINGS, _searched),
    Target("retrieval-requests", forms.json_value, lambda _: _REQUESTS, _asked, ("corpus",)),
    Target("mcp-answers", forms.json_value, lambda _: _RESULTS, _as_mcp_server),
)
