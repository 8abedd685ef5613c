"""The scripted server, by the protocols of Anthropic, Google and Mistral: Messages,
generateContent, and Mistral's chat completions. It refuses what the services' documentation says
that they refuse.

    https://docs.claude.com/en/api/messages, https://ai.google.dev/api/generate-content,
    https://docs.mistral.ai/api

One script answers them all: it sees what a chat completion would have asked.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from support.chat_server import Answer, Body, ChatServer, _hung_up, _sent, _usage

PROVIDERS = ("anthropic", "google", "mistral")
KEY_HEADERS = {"anthropic": "x-api-key", "google": "x-goog-api-key", "mistral": "Authorization"}
SIGNATURE = "c2lnbmF0dXJl"
"""What comes with thoughts, and must come back with them."""


def failed(provider: str, status: int, message: str, **headers: str) -> Answer:
    """An error in the provider's form."""
    bodies: dict[str, Body] = {
        "anthropic": {"type": "error", "error": {"type": "api_error", "message": message}},
        "google": {"error": {"code": status, "message": message, "status": "FAILED"}},
        "mistral": {"object": "error", "message": message, "type": "failed", "code": "1"},
    }
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, raw=json.dumps(bodies[provider]), headers=named)


class ProviderServer(ChatServer):
    """`model(provider)` is the model that is asked here by the provider's protocol."""

    path = ""

    def model(self, provider: str, name: str = "scripted") -> str:
        path = {"openai": "/v1", "mistral": "/mistral/v1"}.get(provider, "")
        return f"{provider}:{name}@{self.url}{path}"

    def app(self) -> web.Application:
        app = super().app()
        app.router.add_post("/v1/messages", self._anthropic)
        app.router.add_post("/v1beta/models/{call}", self._google)
        app.router.add_post("/mistral/v1/chat/completions", self._mistral)
        return app

    async def _anthropic(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        problem = "" if request.headers.get("anthropic-version") else "no anthropic-version"
        return await self._answered("anthropic", request, body, problem or _anthropics_no(body))

    async def _google(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        is_call = request.match_info["call"].endswith(":generateContent")
        problem = _googles_no(body) if is_call else "no such method"
        return await self._answered("google", request, body, problem)

    async def _mistral(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        return await self._answered("mistral", request, body, _mistrals_no(body))

    async def _answered(
        self, provider: str, request: web.Request, body: Body, problem: str
    ) -> web.StreamResponse:
        asked = None if problem else _AS_CHAT[provider](body)
        answer = self._note(body, request, asked)
        if asked is None:
            answer = failed(provider, 400, problem)
        if self._delay:
            await asyncio.sleep(self._delay)
        if answer.hangs:
            await self._released.wait()
        if answer.cut == "before":
            return _hung_up(request)
        if answer.raw is not None:
            return web.Response(
                text=answer.raw,
                status=answer.status,
                headers=answer.headers,
                content_type="application/json",
            )
        assert asked is not None
        counts = answer.usage if answer.usage is not None else _usage(asked, answer)
        return await _sent(request, answer, json.dumps(REPLIES[provider](answer, counts)))


def _anthropics_no(body: Body) -> str:
    """What is wrong with a request; "" where nothing is."""
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    open_calls: set[str] = set()
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = {b["tool_use_id"] for b in blocks if b["type"] == "tool_result"}
        if results != open_calls:
            return f"tool_use ids were found without tool_result blocks: {open_calls ^ results}"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        signatures = [b.get("signature") for b in blocks if b["type"] == "thinking"]
        if any(signature != SIGNATURE for signature in signatures) or not message["content"]:
            return "thinking blocks must be passed back unchanged, and content not be empty"
    unknown = body.keys() - _ANTHROPICS
    return f"{min(unknown)}: Extra inputs are not permitted" if unknown else ""


_ANTHROPICS = frozenset(
    {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "temperature", "top_p"}
    | {"thinking", "output_config", "cache_control", "stop_sequences"}
)


def _googles_no(body: Body) -> str:
    calls: list[str] = []
    for content in body["contents"]:
        parts = content["parts"]
        answered = [p["functionResponse"]["name"] for p in parts if "functionResponse" in p]
        if answered != calls:
            return "the number of function response parts is not that of function call parts"
        calls = [p["functionCall"]["name"] for p in parts if "functionCall" in p]
        if calls and next(p for p in parts if "functionCall" in p).get("thoughtSignature") is None:
            return "Function call is missing a thought_signature"
    unknown = body.keys() - _GOOGLES
    return f'Invalid JSON payload received. Unknown name "{min(unknown)}"' if unknown else ""


_GOOGLES = frozenset(
    ["contents", "tools", "toolConfig", "safetySettings", "systemInstruction", "generationConfig"]
)


def _mistrals_no(body: Body) -> str:
    for message in body["messages"]:
        if message.keys() - {"role", "content", "tool_calls", "tool_call_id", "name"}:
            return "Extra inputs are not permitted"
        calls = [call["id"] for call in message.get("tool_calls", ())]
        for id in (*calls, *filter(None, [message.get("tool_call_id")])):
            if not re.fullmatch(r"[A-Za-z0-9]{9}", id):
                return f"Tool call id was {id} but must be 9 letters or digits"
    return "" if body["messages"][-1]["role"] in ("user", "tool") else "Expected last role User"


def _of_anthropic(body: Body) -> Body:
    messages: list[Body] = [{"role": "system", "content": body.get("system", "")}]
    for message in body["messages"]:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        results = [block for block in blocks if block["type"] == "tool_result"]
        messages += [{"role": "tool", "content": block["content"]} for block in results]
        if not results:
            text = "".join(block.get("text", "") for block in blocks)
            messages.append({"role": message["role"], "content": text})
    tools = [_tool(tool["name"], tool["input_schema"]) for tool in body.get("tools", ())]
    return {"model": body["model"], "messages": messages, "tools": tools}


def _of_google(body: Body) -> Body:
    system = body.get("systemInstruction", {"parts": []})
    messages: list[Body] = [{"role": "system", "content": _texts(system)}]
    for content in body["contents"]:
        results = [p["functionResponse"] for p in content["parts"] if "functionResponse" in p]
        messages += [
            {"role": "tool", "content": json.dumps(result["response"])} for result in results
        ]
        if not results:
            role = "assistant" if content["role"] == "model" else "user"
            messages.append({"role": role, "content": _texts(content)})
    declared = [f for tool in body.get("tools", ()) for f in tool["functionDeclarations"]]
    tools = [_tool(function["name"], function.get("parameters")) for function in declared]
    return {"model": "scripted", "messages": messages, "tools": tools}


def _texts(content: Body) -> str:
    return "".join(part.get("text", "") for part in content["parts"])


def _tool(name: str, parameters: Any) -> Body:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def _anthropics(answer: Answer, counts: Mapping[str, Any]) -> Body:
    thought = answer.reasoning_content
    content: list[Body] = []
    if thought:
        content.append({"type": "thinking", "thinking": thought, "signature": SIGNATURE})
    if answer.content:
        content.append({"type": "text", "text": answer.content})
    for n, (name, arguments) in enumerate(answer.tool_calls):
        given = json.loads(arguments)
        content.append({"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given})
    cached, written, _ = _details(counts)
    return {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted"},
        "content": content,
        "stop_reason": answer.finish or ("tool_use" if answer.tool_calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": counts["prompt_tokens"] - cached - written,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": written,
            "output_tokens": counts["completion_tokens"],
        },
    }


def _googles(answer: Answer, counts: Mapping[str, Any]) -> Body:
    parts: list[Body] = []
    if answer.reasoning_content:
        parts.append({"text": answer.reasoning_content, "thought": True})
    if answer.content:
        parts.append({"text": answer.content})
    for n, (name, arguments) in enumerate(answer.tool_calls):
        signed = {} if n else {"thoughtSignature": SIGNATURE}
        parts.append({"functionCall": {"name": name, "args": json.loads(arguments)}, **signed})
    cached, _, reasoning = _details(counts)
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": answer.finish or "STOP",
        "index": 0,
    }
    usage = {
        "promptTokenCount": counts["prompt_tokens"],
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": counts["completion_tokens"] - reasoning,
        "thoughtsTokenCount": reasoning,
        "totalTokenCount": counts["prompt_tokens"] + counts["completion_tokens"],
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-scripted"}


def _mistrals(answer: Answer, counts: Mapping[str, Any]) -> Body:
    content: Any = answer.content or ""
    if answer.reasoning_content:
        thought = {"type": "text", "text": answer.reasoning_content}
        content = [{"type": "thinking", "thinking": [thought]}, {"type": "text", "text": content}]
    message: Body = {"role": "assistant", "content": content, "tool_calls": None}
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": f"call0000{n}", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(answer.tool_calls)
        ]
    finish = answer.finish or ("tool_calls" if answer.tool_calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        **{"id": "1", "object": "chat.completion", "created": 0, "model": "scripted"},
        "choices": [choice],
        "usage": counts,
    }


def _details(counts: Mapping[str, Any]) -> tuple[int, int, int]:
    """Tokens read from the cache and written to it, and of thoughts."""
    read = counts.get("prompt_tokens_details", {})
    reasoning = counts.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    return read.get("cached_tokens", 0), read.get("cache_write_tokens", 0), reasoning


_AS_CHAT = {"anthropic": _of_anthropic, "google": _of_google, "mistral": lambda body: body}
REPLIES = {"anthropic": _anthropics, "google": _googles, "mistral": _mistrals}
