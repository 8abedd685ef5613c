"""What the Responses API sends back, read without trust: a response, or the stream of its events.

https://platform.openai.com/docs/api-reference/responses. A response becomes the body of a chat
completion that says the same, so that both are read by one set of rules (`response_bodies.py`). Its
items keep their order for the requests that follow: reasoning goes back before the calls that it
led to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from branchwise.agents.failures import error_line, failure_of
from branchwise.agents.reasoning import DETAILS, ITEMS, read_details
from branchwise.agents.reply import Completion, ModelError
from branchwise.agents.response_bodies import read_body

_FINISHES = {"max_output_tokens": "length"}
"""Reasons of incomplete responses that chat completions have another word for."""
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_UNFINISHED = frozenset({"queued", "in_progress"})
_OF_REQUESTS = frozenset(
    {"invalid_prompt", "bio_policy", "misalignment_policy_violation", "data_residency_mismatch"}
)
"""Codes of failed responses that asking again would fail by, too."""


def read_response(response: Any) -> Completion:
    """The completion in a whole response, or in what `EventFold` made of a stream.

    Raises:
        ModelError: it failed, was cancelled, is unfinished, or has no output.
    """
    if not isinstance(response, Mapping):
        response = {}
    status, output = response.get("status"), response.get("output")
    if status == "failed":
        raise failed(response.get("error"))
    if status == "cancelled":
        raise ModelError("cut", "the server cancelled the response", retryable=True)
    if status in _UNFINISHED:
        raise ModelError("invalid_response", f"the response is still {status}", retryable=True)
    if not isinstance(output, list):
        raise ModelError("invalid_response", "the response has no output in it", retryable=True)
    items = [dict(item) for item in output if isinstance(item, Mapping)]
    for number, call in enumerate(_of(items, "function_call")):
        call["call_id"] = _string(call.get("call_id") or call.get("id")) or f"call_{number}"
    completion = replace(read_body(_chat_body(response, items)), api="responses")
    if not (completion.tool_calls or completion.invalid_tool_calls):
        return completion
    return replace(
        completion,
        reasoning_field=ITEMS,
        reasoning_details=read_details({DETAILS: list(_in_order(items))}),
    )


def _in_order(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
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


class EventFold:
    """Folds a stream's events into the response that the server would have sent at once."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._response: Mapping[str, Any] | None = None

    def add(self, event: Any) -> None:
        """Take one event; what is not understood is ignored. Raises ModelError for an error."""
        kind = event.get("type") if isinstance(event, Mapping) else None
        if kind == "error":
            raise failed(event)
        if kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind in _ENDS and isinstance(event.get("response"), Mapping):
            # Some servers only name the event.
            status = str(kind).removeprefix("response.")
            self._response = {"status": status, **event["response"]}

    def body(self) -> Mapping[str, Any]:
        """The response, with the items of the stream where its end does not repeat them.

        Raises:
            ModelError: (`cut`) the stream ended before the response did.
        """
        if self._response is None:
            raise ModelError("cut", "the stream ended before its end", retryable=True)
        return {**self._response, "output": self._response.get("output") or self._items}


def _chat_body(response: Mapping[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    messages = [list(_parts(item.get("content"))) for item in _of(items, "message")]
    parts = [part for message in messages for part in message]
    thoughts = [
        _string(part.get("text"))
        for item in _of(items, "reasoning")
        for part in (*_parts(item.get("summary")), *_parts(item.get("content")))
    ]
    calls = [{"id": item["call_id"], "function": item} for item in _of(items, "function_call")]
    message = {
        "content": "\n".join(filter(None, map(_joined, messages))),
        "reasoning_content": "\n".join(filter(None, thoughts)),
        "refusal": "".join(_string(part.get("refusal")) for part in parts),
        "tool_calls": calls,
    }
    tokens = [one for part in parts for one in part.get("logprobs") or ()]
    choice = {
        "message": message,
        "finish_reason": _finish(response),
        "logprobs": {"content": tokens},
    }
    return {"choices": [choice], "usage": _usage(response.get("usage"))}


def _finish(response: Mapping[str, Any]) -> Any:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if response.get("status") in ("completed", None) and reason is None:
        return "stop"
    reason = reason or response["status"]
    return _FINISHES.get(str(reason), reason)


def _usage(usage: Any) -> dict[str, Any]:
    usage = usage if isinstance(usage, Mapping) else {}
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }


def _of(items: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [item for item in items if item.get("type") == kind]


def _parts(content: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"text": content}
    elif isinstance(content, list):
        yield from (part for part in content if isinstance(part, Mapping))


def _joined(parts: list[Mapping[str, Any]]) -> str:
    return "".join(_string(part.get("text")) for part in parts)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
