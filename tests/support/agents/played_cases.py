"""A server that plays recorded answers: one to each question that names a case, then good ones."""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from support.loopback import LoopbackServer

GOOD = '{"reasoning": "r", "answers": {"default": ["Tomas Reyl"]}}'


@dataclass(frozen=True)
class Played:
    """What is answered once. `after_search`: to the second request, the first being a search."""

    content: bytes
    status: int = 200
    type: str = "application/json"
    headers: Mapping[str, str] | None = None
    after_search: bool = False

    @classmethod
    def of(cls, reply: Mapping[str, Any]) -> "Played":
        """From a file of cases: `json`, `raw` with its `encoding`, or the events in `sse`."""
        if "sse" in reply:
            return cls(b"".join(map(event, reply["sse"])), type="text/event-stream")
        if "raw" in reply:
            return cls(reply["raw"].encode(reply.get("encoding") or "utf-8"))
        return cls(json.dumps(reply["json"]).encode())


def event(data: Any) -> bytes:
    """One event of a stream; a text that begins with a colon is a comment."""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{text}\n\n".encode() if text.startswith(":") else f"data: {text}\n\n".encode()


def whole(content: str | None, finish: Any = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return {"id": "x", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}


SEARCH = {
    "id": "c1",
    "type": "function",
    "function": {"name": "local_retriever", "arguments": '{"query": "Heat"}'},
}


class CaseServer(LoopbackServer):
    """`requests`: the bodies that came, by the case that their question names."""

    path = "/v1"

    def __init__(self, cases: Mapping[str, Played]) -> None:
        super().__init__()
        self._cases, self._lock = cases, threading.Lock()
        self.requests: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        named = re.search(r"case ([\w.+:-]+) of", json.dumps(body["messages"]))
        name = named[1] if named else ""
        with self._lock:
            self.requests[name].append(body)
            number = len(self.requests[name])
        played = self._cases[name]
        if played.after_search and number == 1:
            return self._good(body, whole(None, "tool_calls", tool_calls=[SEARCH]))
        if number == 1 + played.after_search:
            return web.Response(
                body=played.content,
                status=played.status,
                headers={"Content-Type": played.type, **(played.headers or {})},
            )
        return self._good(body, whole(GOOD))

    def _good(self, body: Mapping[str, Any], reply: dict[str, Any]) -> web.Response:
        if not body.get("stream"):
            return web.json_response(reply)
        choice = reply["choices"][0]
        delta = {key: value for key, value in choice["message"].items() if value}
        for number, call in enumerate(delta.get("tool_calls", ())):
            delta["tool_calls"][number] = {"index": number, **call}
        chunks = [{"choices": [{"index": 0, "delta": delta}]}]
        chunks += [
            {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
        ]
        content = b"".join(map(event, [*chunks, "[DONE]"]))
        return web.Response(body=content, headers={"Content-Type": "text/event-stream"})
