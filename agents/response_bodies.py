"""Response bodies of the chat-completions protocol, read without trust.

https://platform.openai.com/docs/api-reference/chat: the body, its stream of chunks, `usage`.
`reasoning_content` (DeepSeek, Kimi) and `reasoning` (OpenRouter, vLLM) carry the thinking.
Keys that a server repeats are struck out here, before a reply is used or recorded.
"""

import json
import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import orjson

from branchwise.agents.reasoning import DETAILS, TEXT_FIELDS, USUAL_FIELD, read_details
from branchwise.agents.reply import Completion, Finish, ModelError, ReplyToken
from branchwise.agents.think import split_thinking
from branchwise.corpora.secrets import without_keys
from branchwise.corpora.text import storable
from branchwise.trace.parts import Usage

MAX_TEXT = 1_000_000
"""Characters of a reply that are kept; a longer one is cut and counts as `length`."""
MAX_CALLS = 64
"""Tool calls of one reply that are kept."""
MAX_TOKENS, MAX_ALTERNATIVES = 32, 20
"""Tokens of a reply that are kept with their log-probabilities, the last ones, and at each place
the likeliest."""
_PIECES = frozenset({"text", "summary", "data"})
"""Fields of a reasoning block that come in pieces."""
_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "refusal": "refusal",
}


def read_body(body: Any) -> Completion:
    """The completion in a whole body, or in what `StreamFold` made of a stream.

    Raises:
        ModelError: (`invalid_response`) no choice with a message in it.
    """
    choices = body.get("choices") if isinstance(body, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise ModelError("invalid_response", "the response has no message in it", retryable=True)
    said, thought = split_thinking(_text(message.get("content")))
    texts = {name: _text(message.get(name)) for name in TEXT_FIELDS}
    field = next((name for name, text in texts.items() if text), USUAL_FIELD)
    refusal = _text(message.get("refusal"))
    valid, invalid = _read_calls(message.get("tool_calls"))
    finish = _FINISHES.get(str(choice.get("finish_reason")), "stop")
    if finish == "stop" and (valid or invalid):
        finish = "tool_calls"
    if refusal:
        finish = "refusal"
    text = said or refusal
    return Completion(
        text=text[:MAX_TEXT],
        finish="length" if len(text) > MAX_TEXT else finish,
        reasoning="\n".join(part for part in (texts[field], thought) if part)[:MAX_TEXT],
        # Only what calls tools is followed by another request of its turn.
        reasoning_field=field if valid or invalid else USUAL_FIELD,
        reasoning_details=read_details(message) if valid or invalid else (),
        tool_calls=tuple(valid),
        invalid_tool_calls=tuple(invalid),
        usage=read_usage(body.get("usage")),
        tokens=_read_tokens(_part(choice, "logprobs").get("content"), message.get("content")),
    )


def _read_tokens(content: Any, said: Any) -> tuple[ReplyToken, ...]:
    """The last tokens; what is not understood is left out.

    None where they, or what was `said` in all, spell a key out: its parts could not be struck out.
    """
    found = content if isinstance(content, list) else []
    found = [one for one in found if isinstance(one, Mapping)]
    spelt = "".join(one["token"] for one in found if isinstance(one.get("token"), str))
    if any(isinstance(text, str) and without_keys(text) != text for text in (spelt, said)):
        return ()
    return tuple(
        ReplyToken(_text(one.get("token")), _read_alternatives(one.get("top_logprobs")))
        for one in found[-MAX_TOKENS:]
    )


def _read_alternatives(given: Any) -> tuple[tuple[str, float], ...]:
    found = given[:MAX_ALTERNATIVES] if isinstance(given, list) else []
    whole = [one for one in found if isinstance(one, Mapping) and _is_logprob(one.get("logprob"))]
    return tuple((_text(one.get("token")), float(one["logprob"])) for one in whole)


def _is_logprob(value: Any) -> bool:
    return type(value) in (int, float) and -math.inf < value <= 0


def read_usage(usage: Any) -> Usage:
    """ReplyToken counts of `usage`, 0 for what is missing or not a whole number."""
    return Usage(
        input=_count(usage, "prompt_tokens"),
        output=_count(usage, "completion_tokens"),
        cached=_count(_part(usage, "prompt_tokens_details"), "cached_tokens"),
        reasoning=_count(_part(usage, "completion_tokens_details"), "reasoning_tokens"),
        written=_count(_part(usage, "prompt_tokens_details"), "cache_write_tokens"),
    )


class StreamFold:
    """Folds the chunks of a stream into the body that the server would have sent at once."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._calls: list[dict[str, str]] = []
        self._open: dict[int, dict[str, str]] = {}
        self._tokens: deque[Any] = deque(maxlen=MAX_TOKENS)
        self._finish: str | None = None
        self._usage: Any = None

    def add(self, chunk: Any) -> None:
        """Take one chunk; what is not understood is ignored."""
        if not isinstance(chunk, Mapping):
            return
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        if not (isinstance(choices, list) and choices and isinstance(choices[0], Mapping)):
            return
        self._finish = choices[0].get("finish_reason") or self._finish
        tokens = _part(choices[0], "logprobs").get("content")
        self._tokens.extend(tokens if isinstance(tokens, list) else [])
        delta = _part(choices[0], "delta")
        for name in ("content", *TEXT_FIELDS, "refusal"):
            if isinstance(delta.get(name), str):
                self._texts.setdefault(name, []).append(delta[name])
        details = delta.get(DETAILS)
        for detail in details if isinstance(details, list) else []:
            self._add_detail(detail)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            self._add_call(call)

    def _add_detail(self, part: Any) -> None:
        """Pieces of one block have its number and type, and a part of its text each."""
        if not isinstance(part, Mapping):
            return
        last = self._details[-1] if self._details else {}
        if not last or any(part.get(key) != last.get(key) for key in ("index", "type")):
            self._details.append(dict(part))
            return
        for key, value in part.items():
            if key in _PIECES and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value

    def _add_call(self, part: Any) -> None:
        if not isinstance(part, Mapping):
            return
        index, id = part.get("index"), _text(part.get("id"))
        call = self._open.get(index) if isinstance(index, int) else None
        # Some servers number every call 0: another id begins another call.
        if call is None or (id and call["id"] not in ("", id)):
            call = {"id": "", "name": "", "arguments": ""}
            self._calls.append(call)
        if isinstance(index, int):
            self._open[index] = call
        function = _part(part, "function")
        call["id"] = call["id"] or id
        call["name"] += _text(function.get("name"))
        arguments = function.get("arguments")
        call["arguments"] += arguments if isinstance(arguments, str) else ""

    def body(self) -> dict[str, Any]:
        """The folded body.

        Raises:
            ModelError: (`cut`) the stream ended before the server said why it stopped.
        """
        if self._finish is None:
            raise ModelError("cut", "the stream ended before its end", retryable=True)
        message: dict[str, Any] = {name: "".join(parts) for name, parts in self._texts.items()}
        message[DETAILS] = self._details
        message["tool_calls"] = [{"id": call["id"], "function": call} for call in self._calls]
        return {
            "choices": [
                {
                    "message": message,
                    "finish_reason": self._finish,
                    "logprobs": {"content": [*self._tokens]},
                }
            ],
            "usage": self._usage,
        }


def _read_calls(calls: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    valid: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, call in enumerate(calls[:MAX_CALLS] if isinstance(calls, list) else []):
        function = _part(call, "function")
        id = _text(call.get("id") if isinstance(call, Mapping) else "") or f"call_{number}"
        id = f"{id}_{number}" if id in seen else id
        seen.add(id)
        read = make_call(_text(function.get("name")), function.get("arguments"), id)
        (invalid if "error" in read else valid).append(read)
    return valid, invalid


def make_call(name: str, arguments: Any, id: str) -> dict[str, Any]:
    """A tool call in LangChain's shape, with an `error` in it if it is malformed.

    `arguments`: a JSON object, or the text of one (nothing at all counts as no arguments).
    """
    # Always through text: what has been an object in a body may hold what no record can.
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    text = storable(text)
    error, args = None if name else "the call names no tool", None
    try:
        args = orjson.loads(text) if text.strip() else {}
        orjson.dumps(args)  # reads deeper nesting than it writes, and a record must be written
    except (ValueError, TypeError) as reason:
        error = error or f"the arguments are no valid JSON: {reason}"
    if error is None and not isinstance(args, dict):
        error = "the arguments are no JSON object"
    if error is None:
        return {"name": name, "args": args, "id": id, "type": "tool_call"}
    return {
        "name": name,
        "args": text[:MAX_TEXT],
        "id": id,
        "error": error,
        "type": "invalid_tool_call",
    }


def _part(mapping: Any, name: str) -> Mapping[str, Any]:
    """The mapping under `name`, or an empty one."""
    part = mapping.get(name) if isinstance(mapping, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _text(value: Any) -> str:
    """A string, or the texts of a list of content parts; anything else is empty."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return "".join(_text(p.get("text")) for p in value if isinstance(p, Mapping))
    return ""


def _count(mapping: Any, name: str) -> int:
    value = mapping.get(name) if isinstance(mapping, Mapping) else None
    return value if type(value) is int and 0 < value < 2**53 else 0
