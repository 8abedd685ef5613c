"""A model server on the loopback, scripted per test, that fails on command. It speaks chat
completions and the Responses API by OpenAI's own types, and refuses requests that do not fit them.

In a test, through the fixture `chat_server`:

    chat_server.play([call("local_retriever", query="Heat"), say('{"answers": {}}')])
    spec = ModelSpec.parse(f"openai:scripted@{chat_server.url}")

As a program: `python -m support.chat_server --port 0 --script search` in `tests` prints its URL
and serves until it is killed; `GET /counts` says which requests came how often.
"""

import argparse
import asyncio
import hashlib
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from aiohttp import web

from support.loopback import LoopbackServer
from support.openai_types import Api, RefusedRequestError, check_request, check_sent
from support.responses import KNOWN_FINISHES, as_chat, events_of, in_sequence, pieces, response_of

Body = dict[str, Any]
Cut = Literal["before", "middle", "quiet"]


@dataclass(frozen=True)
class Answer:
    content: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: tuple[Mapping[str, Any], ...] = ()
    refusal: str | None = None
    finish: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    hangs: bool = False
    cut: Cut | None = None
    usage: Mapping[str, Any] | None = None
    tokens: tuple[tuple[str, Mapping[str, float]], ...] = ()
    thoughts: tuple[str, ...] = ()
    failure: tuple[str, str] | None = None

    @property
    def is_usual(self) -> bool:
        """Whether the server sends what OpenAI could have sent."""
        return self.usage is None and self.finish in KNOWN_FINISHES


Script = Callable[[Body], Answer] | Iterable[Answer]


def say(content: str, **more: Any) -> Answer:
    return Answer(content, **more)


def call(name: str, **arguments: Any) -> Answer:
    return Answer(tool_calls=((name, json.dumps(arguments)),))


def calls(*named: tuple[str, Mapping[str, Any] | str]) -> Answer:
    """A reply with several tool calls; arguments as a text are sent as they are."""
    return Answer(
        tool_calls=tuple((n, a if isinstance(a, str) else json.dumps(a)) for n, a in named)
    )


def fail(
    status: int, message: str = "it failed", *, code: str | None = None, **headers: str
) -> Answer:
    """An error in OpenAI's form; `retry_after="3"` becomes the header Retry-After."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, raw=json.dumps({"error": error}), headers=named)


def context_length() -> Answer:
    """OpenAI's refusal of a conversation that is too long."""
    message = "This model's maximum context length is 4096 tokens. Please reduce the length."
    return fail(400, message, code="context_length_exceeded")


def hang() -> Answer:
    """No answer until `release` is called or the client goes away."""
    return Answer("released", hangs=True)


def cut(where: Cut = "middle", content: str = "This sentence will not arrive.") -> Answer:
    return Answer(content, cut=where)


def invalid_json() -> Answer:
    return Answer(raw='{"choices": [{"message": ')


def refuse(text: str = "I cannot help with that.") -> Answer:
    return Answer(refusal=text)


def too_long(content: str = '{"reasoning": "and so') -> Answer:
    return Answer(content, finish="length")


class ChatServer(LoopbackServer):
    """The server. Everything public may be called from any thread."""

    ends_with_client = True  # so that a hang does
    path = "/v1"

    def __init__(self, script: Script = (), *, delay: float = 0.0) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._requests: list[Body] = []
        self._headers: list[Mapping[str, str]] = []
        self._paths: list[str] = []
        self._delay = delay
        self._released = asyncio.Event()
        self.play(script)

    def play(self, script: Script) -> None:
        """Answer from now on by `script`: a function of the request, or answers in order."""
        with self._lock:
            if callable(script):
                self._script = script
            else:
                answers = iter(script)
                ended = fail(400, "the test's script has no more answers")
                self._script = lambda _: next(answers, ended)

    def stop(self) -> None:
        self.release()
        super().stop()

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self._released.set)

    @property
    def requests(self) -> list[Body]:
        """Bodies of all requests for a reply, in the order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def headers(self) -> list[Mapping[str, str]]:
        """Headers of all requests for a reply, beside `requests`."""
        with self._lock:
            return list(self._headers)

    @property
    def paths(self) -> list[str]:
        """Paths of all requests for a reply, beside `requests`."""
        with self._lock:
            return list(self._paths)

    @property
    def counts(self) -> dict[str, int]:
        """How often each request came, by the digest of its body."""
        with self._lock:
            return dict(self._counts)

    @property
    def repeats(self) -> int:
        return sum(count - 1 for count in self.counts.values())

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/responses", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/counts", self._say_counts)
        return app

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
        )

    async def _say_counts(self, request: web.Request) -> web.Response:
        counts = self.counts
        total, repeats = sum(counts.values()), self.repeats
        return web.json_response({"requests": total, "repeats": repeats, "counts": counts})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body: Body = await request.json()
        api: Api = "responses" if request.path.endswith("/responses") else "chat"
        try:
            check_request(body, api)
        except RefusedRequestError as refused:
            self._note(body, request)
            return web.json_response(refused.body, status=400)
        answer = self._note(body, request, as_chat(body) if api == "responses" else body)
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
        usage = dict(answer.usage) if answer.usage is not None else _usage(body, answer)
        if api == "responses":
            return await _respond(request, body, answer, usage)
        if body.get("stream"):
            return await _stream(request, body, answer, usage)
        return await _whole(request, body, answer, usage)

    def _note(self, body: Body, request: web.Request, asked: Body | None = None) -> Answer:
        with self._lock:
            self._requests.append(body)
            self._headers.append(dict(request.headers))
            self._paths.append(request.path)
            self._counts[digest(body)] += 1
            return self._script(asked) if asked else Answer()


def digest(body: Body) -> str:
    """The digest of a request's body under which it is counted."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _hung_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def _whole(
    request: web.Request, body: Body, answer: Answer, usage: Mapping[str, Any]
) -> web.StreamResponse:
    choice = {"index": 0, "message": _message(answer), "finish_reason": _finish(answer)}
    if answer.tokens and body.get("logprobs"):
        choice["logprobs"] = {"content": _logprobs(answer, body)}
    whole = _envelope(body, "chat.completion") | {"choices": [choice], "usage": usage}
    if answer.is_usual:
        check_sent(whole, "completion")
    return await _sent(request, answer, json.dumps(whole))


async def _sent(request: web.Request, answer: Answer, data: str) -> web.StreamResponse:
    if answer.cut is None:
        return web.Response(text=data, content_type="application/json", headers=answer.headers)
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(data)
    await response.prepare(request)
    await response.write(data[: len(data) // 2].encode())
    _hung_up(request)
    return response


async def _stream(
    request: web.Request, body: Body, answer: Answer, usage: Mapping[str, Any]
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **answer.headers})
    await response.prepare(request)
    envelope = _envelope(body, "chat.completion.chunk")

    async def send(*choices: Body, **more: Any) -> None:
        said = [{"index": 0, "finish_reason": None, **choice} for choice in choices]
        chunk = envelope | {"choices": said} | more
        if answer.is_usual:
            check_sent(chunk, "chunk")
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())

    deltas = list(_deltas(answer))
    for delta in deltas[: len(deltas) // 2] if answer.cut else deltas:
        await send({"delta": delta})
    for one in _logprobs(answer, body) if body.get("logprobs") else ():
        await send({"delta": {"content": ""}, "logprobs": {"content": [one]}})
    if answer.cut == "middle":
        _hung_up(request)
    elif answer.cut is None:
        await send({"delta": {}, "finish_reason": _finish(answer)})
        if body.get("stream_options", {}).get("include_usage"):
            await send(usage=usage)
        await response.write(b"data: [DONE]\n\n")
    return response


async def _respond(
    request: web.Request, body: Body, answer: Answer, usage: Mapping[str, Any]
) -> web.StreamResponse:
    whole = response_of(body, answer, usage)
    if answer.is_usual:
        check_sent(whole, "response")
    if not body.get("stream"):
        return await _sent(request, answer, json.dumps(whole))
    events = list(events_of(whole))
    if answer.is_usual:
        for event in events:
            check_sent({**event, "sequence_number": 0}, "event")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **answer.headers})
    await response.prepare(request)
    for line in in_sequence(iter(events[: len(events) // 2] if answer.cut else events)):
        await response.write(line.encode())
    if answer.cut == "middle":
        _hung_up(request)
    return response


def _deltas(answer: Answer) -> Iterable[Body]:
    """The message in pieces of a few characters, as models send it."""
    yield {"role": "assistant", "content": ""}
    for name in ("reasoning_content", "reasoning", "content", "refusal"):
        for piece in pieces(getattr(answer, name) or ""):
            yield {name: piece}
    for detail in answer.reasoning_details:
        for piece in pieces(detail.get("text", "")) or [""]:
            # As OpenRouter does: the text in pieces, the rest with each of them.
            part = {**detail, "text": piece} if "text" in detail else detail
            yield {"reasoning_details": [part]}
    for index, (name, arguments) in enumerate(answer.tool_calls):
        head = {"name": name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": f"c{index}", "function": head}]}
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _message(answer: Answer) -> Body:
    message: Body = {"role": "assistant", "content": answer.content, "refusal": answer.refusal}
    for name in ("reasoning_content", "reasoning"):
        if getattr(answer, name) is not None:
            message[name] = getattr(answer, name)
    if answer.reasoning_details:
        message["reasoning_details"] = list(answer.reasoning_details)
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(answer.tool_calls)
        ]
    return message


def _logprobs(answer: Answer, body: Body) -> list[Body]:
    return [
        {"token": text, "logprob": places.get(text, -9.0), "top_logprobs": [
            {"token": one, "logprob": p} for one, p in [*places.items()][: body["top_logprobs"]]
        ]}
        for text, places in answer.tokens
    ]  # fmt: skip


def _finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.tool_calls else "stop")


def _envelope(body: Body, kind: str) -> Body:
    return {"id": "chat-1", "object": kind, "created": 0, "model": body.get("model")}


def _usage(body: Body, answer: Answer) -> Body:
    """Something like a token for four characters."""
    read = len(json.dumps(body.get("messages") or body["input"])) // 4
    written = 1 + len(answer.content or "") // 4
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def search_then_answer(body: Body) -> Answer:
    """Searches twice with the question, then names what the tool showed: a stateless script."""
    messages = body["messages"]
    question = next(m["content"] for m in messages if m["role"] == "user")
    turn = sum(m["role"] == "assistant" for m in messages)
    if turn < 2 and body.get("tools"):
        query = question if turn == 0 else f"{question} more"
        return call(body["tools"][0]["function"]["name"], query=query)
    return say(json.dumps({"reasoning": "scripted", "answers": {"default": [question[:20]]}}))


def answer_directly(body: Body) -> Answer:
    """Answers at once with the question's first word."""
    question = next(m["content"] for m in body["messages"] if m["role"] == "user")
    return say(json.dumps({"reasoning": "scripted", "answers": {"default": question.split()[:1]}}))


def with_hiccups(body: Body, seen: Counter[str] = Counter()) -> Answer:  # noqa: B006
    """`search_then_answer`, but each request fails once before it is answered."""
    key = digest(body)
    seen[key] += 1
    if seen[key] == 1:
        return replace(fail(429, "slow down"), headers={"Retry-After": "0"})
    return search_then_answer(body)


SCRIPTS: dict[str, Callable[[Body], Answer]] = {
    "search": search_then_answer,
    "direct": answer_directly,
    "hiccups": with_hiccups,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", choices=SCRIPTS, default="search")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    server = ChatServer(SCRIPTS[options.script], delay=options.delay).start(options.port)
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
