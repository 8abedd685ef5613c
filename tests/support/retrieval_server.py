"""A retrieval server on the loopback that speaks Search-R1's protocol, and fails on command."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self

import pytest
from aiohttp import web

from support.loopback import LoopbackServer

Reaction = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


def document(query: str, rank: int) -> dict[str, str]:
    """The passage in place `rank` (from 1) for a query, in the form of Search-R1's corpora."""
    return {"id": f"{query}-{rank}", "contents": f'"{query}"\nText {rank} on {query}.'}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What Search-R1's server answers, scores or not."""
    rankings = []
    for query in asked["queries"]:
        found = [document(query, rank) for rank in range(1, (asked["topk"] or 3) + 1)]
        if asked.get("return_scores"):
            rankings.append([{"document": d, "score": 1 - n / 100} for n, d in enumerate(found)])
        else:
            rankings.append(found)
    return {"result": rankings}


def sends(
    body: Any, status: int = 200, media: str = "application/json", **headers: str
) -> Reaction:
    """This body (text and bytes as they are, else JSON); `retry_after="1"` is a header."""
    raw = body if isinstance(body, bytes) else body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def react(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        data = raw if isinstance(raw, bytes) else raw.encode()
        return web.Response(body=data, status=status, headers=named | {"Content-Type": media})

    return react


def bare(found: Callable[[dict[str, Any]], Any]) -> Reaction:
    """What `found` makes of the request, as JSON."""

    async def react(_: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(found(asked))

    return react


def cut(announced: int = 10_000, chunked: bool = False) -> Reaction:
    """The beginning of an answer, then the connection is closed."""

    async def react(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        if chunked:
            response.enable_chunked_encoding()
        else:
            response.content_length = announced
        await response.prepare(request)
        await response.write(json.dumps(answer(asked)).encode()[:20])
        assert request.transport is not None
        request.transport.close()
        return response

    return react


def drops() -> Reaction:

    async def react(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    return react


def hangs(after: bytes = b"") -> Reaction:
    """These bytes of a body, then nothing until the client leaves."""

    async def react(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        if after:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(after)
        await asyncio.Event().wait()
        raise AssertionError

    return react


def drips() -> Reaction:
    """A space now and then, without end: no read of it is ever late."""

    async def react(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    return react


class RetrievalServer(LoopbackServer):
    """Answers the n-th request with the n-th reaction, and when they are spent, properly."""

    path = "/retrieve"

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._reactions: list[Reaction | None] = []
        self._arrived = threading.Condition()
        self._patch = pytest.MonkeyPatch()

    def play(self, *reactions: Reaction | None) -> None:
        self._reactions = list(reactions)
        self.requests.clear()

    def wait_for(self, requests: int) -> bool:
        """Block until so many requests have arrived; False if they do not within a minute."""
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self.requests) >= requests, 60)

    def queries(self) -> list[Sequence[str]]:
        return [request["queries"] for request in self.requests]

    def start(self, port: int = 0) -> Self:
        self._patch.setenv("NO_PROXY", "127.0.0.1")
        return super().start(port)

    def stop(self) -> None:
        super().stop()
        self._patch.undo()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/retrieve", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        with self._arrived:
            self.requests.append(asked)
            self._arrived.notify_all()
        self.headers.append(dict(request.headers))
        reaction = self._reactions.pop(0) if self._reactions else None
        return await reaction(request, asked) if reaction else web.json_response(answer(asked))
