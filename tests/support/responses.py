"""An answer as the Responses API sends it, whole or in events; its requests as chat requests."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.chat_server import Answer

Body = dict[str, Any]
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
KNOWN_FINISHES = frozenset({None, "stop", "tool_calls", *_REASONS})


def as_chat(body: Body) -> Body:
    """The chat request that asks the same: what scripts read. `responses` in it: the request."""
    view = {
        "model": body["model"],
        "messages": list(_messages(body["input"])),
        "responses": body,
        "stream": body.get("stream", False),
    }
    if tools := body.get("tools"):
        view["tools"] = [{"type": "function", "function": tool} for tool in tools]
    if "format" in body.get("text", {}):
        view["response_format"] = body["text"]["format"]
    return view


def _messages(items: list[Body]) -> Iterator[Body]:
    calls: list[Body] = []
    for item in items:
        if item["type"] == "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            calls.append({"id": item["call_id"], "type": "function", "function": function})
            continue
        if calls and item["type"] == "function_call_output":
            yield {"role": "assistant", "content": None, "tool_calls": calls}
            calls = []
        if item["type"] == "message":
            yield {"role": item["role"], "content": item["content"]}
        elif item["type"] == "function_call_output":
            yield {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}


def response_of(body: Body, answer: "Answer", usage: Mapping[str, Any]) -> Body:
    reason = _REASONS.get(str(answer.finish), answer.finish)
    is_whole = answer.finish in (None, "stop", "tool_calls")
    status = "completed" if is_whole else "incomplete"
    if answer.failure:
        status = "failed"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": body["model"],
        "status": status,
        "error": _error(answer.failure) if answer.failure else None,
        "incomplete_details": None if is_whole else {"reason": reason},
        "output": [] if answer.failure else list(_items(body, answer)),
        "usage": _usage(usage, answer),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "store": body.get("store", True),
    }


def events_of(response: Body) -> Iterator[Body]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "error": None}
    begun["incomplete_details"] = None
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        at = {"output_index": index}
        yield {"type": "response.output_item.added", "item": _begun(item), **at}
        yield from ({**event, **at, "item_id": item["id"]} for event in _deltas(item))
        yield {"type": "response.output_item.done", "item": item, **at}
    yield {"type": f"response.{response['status']}", "response": response}


def encrypt(thought: str) -> str:
    """Reasoning as only the server can read it."""
    return "gAAAA" + hashlib.sha256(thought.encode()).hexdigest()


def _items(body: Body, answer: "Answer") -> Iterator[Body]:
    # Each turn of a conversation has ids of its own.
    turn = sum(item["type"] == "function_call_output" for item in body["input"])
    include = body.get("include") or []
    thoughts = [answer.reasoning_content or answer.reasoning or "", *answer.thoughts]
    for number, thought in enumerate(filter(None, thoughts)):
        if number and number <= len(answer.tool_calls):
            yield _call(turn, number - 1, answer)
        item = {"type": "reasoning", "id": f"rs_{turn}{number}"}
        item["summary"] = [{"type": "summary_text", "text": thought}]
        if "reasoning.encrypted_content" in include:
            item["encrypted_content"] = encrypt(thought)
        yield item
    if answer.content is not None or answer.refusal is not None:
        yield _message(turn, body, answer)
    begun = len(answer.thoughts)
    for number in range(begun, len(answer.tool_calls)):
        yield _call(turn, number, answer)


def _message(turn: int, body: Body, answer: "Answer") -> Body:
    part: Body = {"type": "refusal", "refusal": answer.refusal}
    if answer.refusal is None:
        part = {"type": "output_text", "text": answer.content, "annotations": []}
        if "message.output_text.logprobs" in (body.get("include") or []):
            part["logprobs"] = [_logprob(*token, body) for token in answer.tokens]
    item = {"type": "message", "id": f"msg_{turn}", "role": "assistant", "content": [part]}
    return {**item, "status": "incomplete" if answer.finish == "length" else "completed"}


def _call(turn: int, number: int, answer: "Answer") -> Body:
    name, arguments = answer.tool_calls[number]
    called = {"type": "function_call", "id": f"fc_{turn}{number}", "call_id": f"c{turn}{number}"}
    return {**called, "name": name, "arguments": arguments, "status": "completed"}


def _logprob(token: str, places: Mapping[str, float], body: Body) -> Body:
    def one(text: str) -> Body:
        return {"token": text, "bytes": [*text.encode()], "logprob": places.get(text, -9.0)}

    return {**one(token), "top_logprobs": [one(text) for text in places][: body["top_logprobs"]]}


def _usage(usage: Mapping[str, Any], answer: "Answer") -> Body:
    """A chat completion's usage by the names of the Responses API."""
    read, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    details = {"cached_tokens": 0, "cache_write_tokens": 0}
    details |= usage.get("prompt_tokens_details") or {}
    thought = answer.reasoning_content or answer.reasoning or ""
    output = {"reasoning_tokens": len(thought)} | (usage.get("completion_tokens_details") or {})
    return {
        "input_tokens": read,
        "input_tokens_details": details,
        "output_tokens": written,
        "output_tokens_details": output,
        "total_tokens": read + written,
    }


def _error(failure: tuple[str, str]) -> Body:
    code, message = failure
    return {"code": code, "message": message}


def _begun(item: Body) -> Body:
    empty = {"message": {"content": []}, "reasoning": {"summary": []}}
    begun = empty.get(item["type"], {"arguments": ""})
    return {**item, **begun, **({"status": "in_progress"} if "status" in item else {})}


def _deltas(item: Body) -> Iterator[Body]:
    if item["type"] == "function_call":
        kind, text = "response.function_call_arguments", item["arguments"]
        yield from ({"type": f"{kind}.delta", "delta": piece} for piece in pieces(text))
        yield {"type": f"{kind}.done", "arguments": text, "name": item["name"]}
        return
    parts, where = item.get("content") or item["summary"], "content_index"
    kind = f"response.{parts[0]['type']}"
    part = "response.content_part"
    if item["type"] == "reasoning":
        where, part = "summary_index", "response.reasoning_summary_part"
        kind = "response.reasoning_summary_text"
    field = "refusal" if parts[0]["type"] == "refusal" else "text"
    text, more = parts[0][field], {"logprobs": []} if kind == "response.output_text" else {}
    yield {"type": f"{part}.added", where: 0, "part": {**parts[0], field: ""}}
    for piece in pieces(text):
        yield {"type": f"{kind}.delta", where: 0, "delta": piece, **more}
    yield {"type": f"{kind}.done", where: 0, field: text, **more}
    yield {"type": f"{part}.done", where: 0, "part": parts[0]}


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def in_sequence(events: Iterator[Body]) -> Iterator[str]:
    for number, event in enumerate(events):
        data = json.dumps({**event, "sequence_number": number})
        yield f"event: {event['type']}\ndata: {data}\n\n"
