"""OpenAI's Responses API, through LangChain's client. Import it lazily.

https://platform.openai.com/docs/api-reference/responses. `ChatOpenAI` makes the payload from what a
chat completion would be asked; what it changes by the model's name, leaves to the server's default
or has no place for is put right here. The server stores nothing, so each request holds the whole
conversation, with the reasoning of turns that called tools as the server encrypted it. A response
becomes the body of a chat completion that says the same, so that both are read by one set of rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from branchwise.agents.chat_completions import ChatCompletions
from branchwise.agents.failures import error_line, failure_of
from branchwise.agents.reasoning import DETAILS, ITEMS, item_key, native_of, read_details
from branchwise.agents.refusals import BACK, LOGPROBS
from branchwise.agents.reply import Completion, ModelError
from branchwise.agents.reply_stream import mapping_in, mappings_in
from branchwise.agents.response_bodies import read_body

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

_REASONING, _LOGPROBS = "reasoning.encrypted_content", "message.output_text.logprobs"
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_OF_REQUESTS = frozenset(
    {"invalid_prompt", "bio_policy", "misalignment_policy_violation", "data_residency_mismatch"}
)
"""Codes of failed responses that asking again would fail by, too."""


class Responses(ChatCompletions):
    """A client that asks for responses and returns completions."""

    path: ClassVar[str] = "/responses"

    def body(
        self, messages: Sequence[BaseMessage], fields: Mapping[str, Any], own: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A request's body. `fields`: as of a chat completion; with `BACK` reasoning goes back:
        its value names encrypted items that the server could not read."""
        asked = {name: value for name, value in fields.items() if name not in (BACK, LOGPROBS)}
        others = [message for message in messages if message.type != "ai"]
        body: dict[str, Any] = self._get_request_payload(others, **asked)
        written = iter(body["input"])
        body["input"] = [
            item
            for message in messages
            for item in (
                _turn(message, fields.get(BACK)) if message.type == "ai" else (next(written),)  # type: ignore[arg-type]
            )
        ]
        if "stream" not in asked:
            del body["stream"]
        if "temperature" in asked:
            # Left out above for models of some names.
            body["temperature"] = asked["temperature"]
        for tool in body.get("tools", ()):
            # By default a server enforces schemas, which it first changes to what it can enforce.
            tool.setdefault("strict", False)
        include = [_REASONING] * (BACK in fields and "tools" in body)
        include += [_LOGPROBS] * (LOGPROBS in fields)
        if include:
            body["include"] = include
        for name, value in own.items():
            # `reasoning`, `text` and `include` are joined with ours.
            ours = body.get(name)
            if isinstance(ours, dict) and isinstance(value, Mapping):
                body[name] = {**ours, **value}
            elif isinstance(ours, list) and isinstance(value, list) and name == "include":
                body[name] = [*ours, *(part for part in value if part not in ours)]
            else:
                body[name] = value
        return body

    def read(self, body: Any) -> Completion:
        return read_response(body)

    def fold(self) -> EventFold:  # type: ignore[override]
        return EventFold()


def _turn(message: AIMessage, unreadable: Any) -> Iterator[dict[str, Any]]:
    """The items of a model's turn: its reasoning, its words and its calls in their order."""
    calls = {call["id"]: call for call in (*message.tool_calls, *message.invalid_tool_calls)}
    text = str(message.text)
    items = native_of(message).get(ITEMS, ())
    for item in items if unreadable is not None else ():
        if item["type"] == "reasoning":
            if item_key(item) not in unreadable:
                yield item
        elif item["type"] == "message" and text:
            phase = {"phase": item["phase"]} if item.get("phase") else {}
            yield {"type": "message", "role": "assistant", "content": text, **phase}
            text = ""
        elif item["type"] == "function_call" and (call := calls.pop(item.get("call_id"), None)):
            yield _call_item(call)
    if text:
        yield {"type": "message", "role": "assistant", "content": text}
    yield from map(_call_item, calls.values())


def _call_item(call: Mapping[str, Any]) -> dict[str, Any]:
    args = call["args"]
    return {
        "type": "function_call",
        "call_id": call["id"],
        "name": call["name"],
        "arguments": args if isinstance(args, str) else json.dumps(args, ensure_ascii=False),
    }


class EventFold:
    """Folds a stream's events into the response that the server would have sent at once."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._response: Mapping[str, Any] | None = None

    def add(self, event: Any) -> None:
        """Take one event; what is not understood is ignored. Raises ModelError for an error."""
        type_ = event.get("type") if isinstance(event, Mapping) else None
        if type_ == "error":
            raise failed(event)
        if type_ == "response.output_item.done":
            self._items.append(event.get("item"))
        elif type_ in _ENDS and isinstance(event.get("response"), Mapping):
            # Some servers only name the event.
            status = str(type_).removeprefix("response.")
            self._response = {"status": status, **event["response"]}

    def body(self) -> Mapping[str, Any]:
        """The response, with the items of the stream where its end does not repeat them.

        Raises ModelError (`cut`) if the stream ended before the response did.
        """
        if self._response is None:
            raise ModelError("cut", "the stream ended before its end", retryable=True)
        return {**self._response, "output": self._response.get("output") or self._items}


def read_response(response: Any) -> Completion:
    """The completion in a whole response, or in what `EventFold` made of a stream.

    Its items keep their order for the requests that follow: reasoning goes back before the calls
    that it led to. Raises ModelError if it failed, was cancelled, is unfinished, or has no output.
    """
    if not isinstance(response, Mapping):
        response = {}
    status, output = response.get("status"), response.get("output")
    if status == "failed":
        raise failed(response.get("error"))
    if status == "cancelled":
        raise ModelError("cut", "the server cancelled the response", retryable=True)
    if status in ("queued", "in_progress"):
        raise ModelError("invalid_response", f"the response is still {status}", retryable=True)
    if not isinstance(output, list):
        raise ModelError("invalid_response", "the response has no output in it", retryable=True)
    items = [dict(item) for item in mappings_in(output)]
    for number, call in enumerate(_of(items, "function_call")):
        call["call_id"] = _string(call.get("call_id") or call.get("id")) or f"call_{number}"
    completion = replace(read_body(_chat_body(response, items)), api="responses")
    if not (completion.tool_calls or completion.invalid_tool_calls):
        return completion
    details = read_details({DETAILS: list(_kept_items(items))})
    return replace(completion, reasoning_field=ITEMS, reasoning_details=details)


def _kept_items(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Reasoning that a server can read which stores nothing, and of what the record has anyway, the
    words and calls, the places."""
    for item in items:
        if item.get("type") == "reasoning":
            if item.get("encrypted_content") or item.get("content"):
                yield {key: value for key, value in item.items() if value is not None}
        elif item.get("type") in ("message", "function_call"):
            yield {key: item[key] for key in ("type", "call_id", "phase") if item.get(key)}


def failed(error: Any) -> ModelError:
    """What the `error` of a failed response, or an event of that type, says."""
    error = error if isinstance(error, Mapping) else {}
    code, message = _string(error.get("code")), _string(error.get("message"))
    reason = ": ".join(part for part in (code, message) if part) or "it does not say why"
    line = error_line(f"the response failed: {reason}")
    if code in _OF_REQUESTS:
        return ModelError("bad_request", line)
    return failure_of(None, error, line)


def _chat_body(response: Mapping[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    """The body of the chat completion that says the same."""
    messages = [_parts(item.get("content")) for item in _of(items, "message")]
    parts = [part for message in messages for part in message]
    texts = ["".join(_string(part.get("text")) for part in message) for message in messages]
    thoughts = [
        _string(part.get("text"))
        for item in _of(items, "reasoning")
        for part in (*_parts(item.get("summary")), *_parts(item.get("content")))
    ]
    reason = mapping_in(response, "incomplete_details").get("reason")
    usage = mapping_in(response, "usage")
    message = {
        "content": "\n".join(filter(None, texts)),
        "reasoning_content": "\n".join(filter(None, thoughts)),
        "refusal": "".join(_string(part.get("refusal")) for part in parts),
        "tool_calls": [
            {"id": item["call_id"], "function": item} for item in _of(items, "function_call")
        ],
    }
    choice = {
        "message": message,
        "finish_reason": reason or response.get("status") or "completed",
        "logprobs": {"content": [token for part in parts for token in part.get("logprobs") or ()]},
    }
    counts = {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }
    return {"choices": [choice], "usage": counts}


def _of(items: list[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    return [item for item in items if item.get("type") == type_]


def _parts(content: Any) -> list[Mapping[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else mappings_in(content)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
