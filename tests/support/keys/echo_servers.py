"""Servers on the loopback that repeat the key they were sent, however they answer."""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

from aiohttp import web

from support.loopback import LoopbackServer

KINDS = ("400", "401", "404", "429", "500", "cut", "redirect", "nonsense")
"""How a request is answered that is not answered well."""
Body = dict[str, Any]


def escaped(text: str) -> str:
    """As careless programs write it into JSON within JSON."""
    return "".join(f"\\u{ord(character):04x}" for character in text)


def quoted(text: str) -> str:
    """As it stands in an address where each character is escaped."""
    return "".join(f"%{ord(character):02X}" for character in text)


def echo(key: str) -> str:
    """A key in all the forms in which it may come back."""
    said = f"Bearer {key} {escaped(key)} {quoted(key)} &#{ord(key[0])};{key[1:]} {key.upper()}"
    return f"{said} {key.encode().hex()} {' '.join(in_base64(key))}"


def in_base64(key: str) -> list[str]:
    """Alone and as a password, in both alphabets, with padding and without."""
    found = []
    for text in (key, f":{key}", f"user:{key}", f"api:{key}:x"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            written = encode(text.encode()).decode()
            found += [written, written.rstrip("="), written.replace("/", "\\/")]
    return found


class EchoServer(LoopbackServer):
    """Speaks chat completions, Search-R1's protocol, SPARQL and MCP, each at its path."""

    def __init__(self, chat: Callable[[Body, str], Body] | None = None) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = defaultdict(list)
        self.answers: dict[str, str] = {}
        self.spared, self.failing = 0, 1_000_000
        self.elsewhere = ""
        self.chat = chat or (lambda _, key: {"content": echo(key)})

    def at(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path, header = request.path, request.headers.get("Authorization", "")
        self.sent[path].append(header)
        key = header.removeprefix("Bearer ") or "nothing"
        body = await request.text()
        is_call = path != "/mcp" or '"tools/call"' in body
        kind = self.answers.get(path)
        if kind and is_call and self._is_turn():
            return await self._failed(request, kind, key)
        if path == "/v1/chat/completions":
            asked = json.loads(body)
            message = self.chat(asked, key)
            if asked.get("stream"):
                return await _streamed(request, message)
            return web.json_response(_completion(message))
        if path == "/retrieve":
            return web.json_response(_rankings(json.loads(body), key))
        if path == "/mcp":
            return _mcp(body, key)
        return _rows(body + request.query_string, key)

    def _is_turn(self) -> bool:
        if self.spared:
            self.spared -= 1
            return False
        self.failing -= 1
        return self.failing >= 0

    async def _failed(self, request: web.Request, kind: str, key: str) -> web.StreamResponse:
        said = echo(key)
        if kind == "redirect":
            return web.Response(status=307, headers={"Location": self.elsewhere + request.path})
        if kind == "nonsense":
            return web.Response(text=f"<html><title>{said}</title>{said}", content_type="text/html")
        if kind == "cut":
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            response.content_length = 10_000
            await response.prepare(request)
            await response.write(json.dumps({"error": said}).encode())
            assert request.transport is not None
            request.transport.close()
            return response
        error = {"error": {"message": f"refused: {said}", "type": "error", "code": None}}
        return web.json_response(error, status=int(kind), headers={"Retry-After": "0"})


def _completion(message: Body) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    choice["logprobs"] = message.get("logprobs")
    return {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}


async def _streamed(request: web.Request, message: Body) -> web.StreamResponse:
    """In pieces of a few characters: no piece holds a whole key."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)

    async def send(delta: Body, finish: str | None = None) -> None:
        data = json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        await response.write(f"data: {data}\n\n".encode())

    for name in ("reasoning", "reasoning_content", "content"):
        text = message.get(name, "")
        for at in range(0, len(text), 7):
            await send({name: text[at : at + 7]})
    for index, call in enumerate(message.get("tool_calls", ())):
        await send({"tool_calls": [{"index": index, **call}]})
    await send({}, "stop")
    await response.write(b"data: [DONE]\n\n")
    return response


def _rankings(asked: Body, key: str) -> Body:
    contents = f"Title {key}\nText {echo(key)}"
    hit = {"document": {"id": f"id-{key}", "contents": contents}, "score": 1.0}
    return {"result": [[hit] for _ in asked["queries"]]}


def _rows(query: str, key: str) -> web.Response:
    """Rows for ?x, and none for what else is asked, such as labels."""
    names = list(dict.fromkeys(re.findall(r"\?(\w+)", unquote_plus(query).partition("{")[0])))
    cells = [
        {"x": {"type": "literal", "value": echo(key)}},
        {"x": {"type": "uri", "value": f"http://example.org/{quoted(key)}"}},
    ]
    found = cells if names == ["x"] else []
    return web.json_response(
        {"head": {"vars": names}, "results": {"bindings": found}},
        content_type="application/sparql-results+json",
    )


def _mcp(body: str, key: str) -> web.Response:
    asked = json.loads(body) if body else {}
    if "id" not in asked:
        return web.Response(status=202 if asked else 405)
    tool = {
        "name": "told",
        "description": f"Tells. {echo(key)}",
        "inputSchema": {"type": "object", "title": echo(key)},
    }
    results: dict[str, Body] = {
        "initialize": {
            "protocolVersion": asked.get("params", {}).get("protocolVersion", ""),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": f"echo {key}", "version": key},
            "instructions": echo(key),
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {
            "content": [{"type": "text", "text": echo(key)}],
            "structuredContent": {"passages": [{"id": key, "title": key, "text": echo(key)}]},
        },
        "ping": {},
    }
    return web.json_response(
        {"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}
    )
