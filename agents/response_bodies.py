"""Response bodies of the chat-completions protocol, read without trust.

https://platform.openai.com/docs/api-reference/chat: the body, its stream of chunks, `usage`.
`reasoning_content` (DeepSeek, Kimi) and `reasoning` (OpenRouter, vLLM) carry the thinking.
Keys that a server repeats are struck out here, before a reply is used or recorded.
"""

import json
import math
import re
from collections import deque
from collections.abc import Mapping
from typing import Any, TypeGuard

import orjson

from branchwise.agents.endings import MAX_REASON, ending_of
from branchwise.agents.reasoning import DETAILS, TEXT_FIELDS, USUAL_FIELD, read_details
from branchwise.agents.reply import Completion, ModelError, ReplyToken
from branchwise.agents.think import split_thinking
from branchwise.base.secrets import without_keys
from branchwise.base.text import one_line, printable, storable
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


def reported_error(body: Any) -> Any:
    """The error that a body, or a chunk of a stream, holds in place of a reply or beside its
    beginning; None where it holds none."""
    if not isinstance(body, Mapping):
        return None
    base = _part(body, "base_resp")  # MiniMax
    if base.get("status_code"):
        return {"code": base["status_code"], "message": base.get("status_msg")}
    # A response of the other protocol says so by its status, too, and is read by that.
    if body.get("error") and body.get("status") != "failed":
        return body["error"]
    if body.get("object") == "error" or ("choices" not in body and body.get("errors")):
        return body
    choice = _only_choice(body.get("choices"))
    return choice.get("error") or None


def read_body(body: Any) -> Completion:
    """The completion in a whole body, or in what `StreamFold` made of a stream.

    Raises:
        ModelError: (`invalid_response`) no choice with a message in it; (`interrupted`) the server
            says that it broke the reply off.
    """
    choice = _only_choice(body.get("choices") if isinstance(body, Mapping) else None)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise ModelError("invalid_response", "the response has no message in it", retryable=True)
    ending, reason = ending_of(choice)
    if ending == "interrupted":
        how = one_line(printable(storable(str(choice.get("finish_reason"))[:MAX_REASON])))
        what = f"the reply was broken off (finish reason {how!r})"
        raise ModelError("interrupted", what, retryable=True)
    said, thought = split_thinking(_text(message.get("content")))
    texts = {name: _text(message.get(name)) for name in TEXT_FIELDS}
    texts[USUAL_FIELD] = texts[USUAL_FIELD] or _thinking(message.get("content"))
    field = next((name for name, text in texts.items() if text), USUAL_FIELD)
    refusal = _text(message.get("refusal"))
    valid, invalid = _read_calls(message.get("tool_calls") or _old_call(message))
    if valid and (ending == "stop" or (ending == "unknown" and not reason)):
        ending, reason = "tool_calls", ""
    elif invalid and ending == "stop":
        ending = "tool_calls"
    if refusal:
        ending = "refusal"
    text = said or refusal
    return Completion(
        text=text[:MAX_TEXT],
        finish="length" if len(text) > MAX_TEXT else ending,
        reasoning="\n".join(part for part in (texts[field], thought) if part)[:MAX_TEXT],
        # Only what calls tools is followed by another request of its turn.
        reasoning_field=field if valid or invalid else USUAL_FIELD,
        reasoning_details=read_details(message) if valid or invalid else (),
        tool_calls=tuple(valid),
        invalid_tool_calls=tuple(invalid),
        usage=read_usage(body.get("usage")),
        tokens=_read_tokens(_part(choice, "logprobs").get("content"), message.get("content")),
        reason=reason,
    )


def _only_choice(choices: Any) -> Mapping[str, Any]:
    """The first reply of those in a body: what has the number 0, or no number.

    Parts of it that some gateways send as choices of their own, under one number, are joined.
    """
    listed = [one for one in choices if isinstance(one, Mapping)] if _is_list(choices) else []
    if not listed:
        return {}
    first = min(map(_number, listed))
    parts = [one for one in listed if _number(one) == first and "index" in one] or listed[:1]
    if len(parts) == 1:
        return parts[0]
    joined = StreamFold()
    for part in parts:
        joined.add({"choices": [part]})
    return {**parts[-1], "message": joined.message()}


def _number(choice: Mapping[str, Any]) -> int:
    """The number of a choice or a call; 0 where it has none."""
    index = choice.get("index")
    return int(str(index)) if re.fullmatch(r"[0-9]{1,9}", str(index)) else 0


def _old_call(message: Mapping[str, Any]) -> list[Any]:
    """The deprecated `function_call`, as a list of calls."""
    call = message.get("function_call")
    return [{"function": call}] if isinstance(call, Mapping) else []


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


class _CallFold:
    """The pieces of one tool call in a stream."""

    def __init__(self) -> None:
        self.id = self.name = ""
        self._pieces: list[str] = []

    @property
    def arguments(self) -> str:
        """The text so far; the last piece, where each repeats what came before."""
        text = "".join(self._pieces)
        if len(self._pieces) > 1 and not _is_object(text):
            last = self._pieces[-1]
            if _is_object(last) and last.startswith(self._pieces[-2]):
                return last
        return text

    def is_repeated_by(self, arguments: str) -> bool:
        """Whether a piece is the whole call once more."""
        return bool(arguments) and arguments == self.arguments and _is_object(arguments)

    def is_followed_by(self, name: str, arguments: str) -> bool:
        """Whether a piece begins another call: this one is whole, or is another tool's."""
        if name and self.name and name != self.name and self._pieces:
            return not name.startswith(self.name)
        return arguments.lstrip().startswith("{") and _is_object(self.arguments)

    def add(self, id: str, name: str, arguments: str) -> None:
        """Join a piece. A name may come whole, in pieces, or again with each piece."""
        self.id = self.id or id
        if name.startswith(self.name):
            self.name = name or self.name
        elif not self._pieces:
            self.name += name
        if arguments:
            self._pieces.append(arguments)

    def record(self) -> dict[str, Any]:
        return {"id": self.id, "function": {"name": self.name, "arguments": self.arguments}}


class _ChoiceFold:
    """The pieces of one choice in a stream."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._calls: list[_CallFold] = []
        self._open: dict[int, _CallFold] = {}
        self.tokens: deque[Any] = deque(maxlen=MAX_TOKENS)
        self.finish: Any = None

    def add(self, choice: Mapping[str, Any]) -> None:
        given = choice.get("finish_reason")
        # The first reason is the end's own; some servers close with a stop.
        if given is not None and self.finish in (None, "", "stop", "null"):
            self.finish = given
        tokens = _part(choice, "logprobs").get("content")
        self.tokens.extend(tokens if isinstance(tokens, list) else [])
        delta = _part(choice, "delta")
        is_whole = not delta and isinstance(choice.get("message"), Mapping)
        delta = choice["message"] if is_whole else delta
        for name in ("content", *TEXT_FIELDS, "refusal"):
            self._add_text(name, _text(delta.get(name)), is_whole=is_whole)
        self._add_text(USUAL_FIELD, _thinking(delta.get("content")), is_whole=is_whole)
        details = delta.get(DETAILS)
        for detail in details if isinstance(details, list) else []:
            self._add_detail(detail)
        calls = delta.get("tool_calls") or _old_call(delta)
        for call in calls if isinstance(calls, list) else []:
            self._add_call(call)

    def _add_text(self, name: str, text: str, *, is_whole: bool) -> None:
        if not text:
            return
        pieces = self._texts.setdefault(name, [])
        if is_whole and text.startswith("".join(pieces)):
            pieces.clear()
        pieces.append(text)

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
        """Join a piece to its call: by number, by id, or the last one where it has neither."""
        if not isinstance(part, Mapping):
            return
        function, id = _part(part, "function"), _text(part.get("id"))
        name, arguments = _text(function.get("name")), _arguments(function.get("arguments"))
        has_number = re.fullmatch(r"[0-9]{1,9}", str(part.get("index")))
        if has_number:
            call = self._open.get(_number(part))
        else:
            named = [one for one in self._calls if id and one.id == id]
            call = next(iter(named), None if id or not self._calls else self._calls[-1])
        if call is not None and call.is_repeated_by(arguments):
            return
        # Some servers number every call 0: another id, or a whole call before, begins another.
        if call is None or (id and call.id not in ("", id)) or call.is_followed_by(name, arguments):
            call = _CallFold()
            self._calls.append(call)
        if has_number:
            self._open[_number(part)] = call
        call.add(id, name, arguments)

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {name: "".join(parts) for name, parts in self._texts.items()}
        message[DETAILS] = self._details
        message["tool_calls"] = [call.record() for call in self._calls]
        return message


class StreamFold:
    """Folds the chunks of a stream into the body that the server would have sent at once."""

    def __init__(self) -> None:
        self._choices: dict[int, _ChoiceFold] = {}
        self._usage: Any = None
        self.is_ended = False
        """Set where the stream says `[DONE]`: it is then whole without a finish reason."""

    def add(self, chunk: Any) -> None:
        """Take one chunk; what is not understood is ignored."""
        if not isinstance(chunk, Mapping):
            return
        usage = chunk.get("usage")
        # Counts grow; some servers close with zeros.
        if usage and (not self._usage or read_usage(usage).total >= read_usage(self._usage).total):
            self._usage = usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping):
                self._choices.setdefault(_number(choice), _ChoiceFold()).add(choice)

    def message(self) -> dict[str, Any]:
        """The first choice's message."""
        return self._choices[min(self._choices)].message() if self._choices else {}

    def body(self) -> dict[str, Any]:
        """The folded body.

        Raises:
            ModelError: (`cut`) the stream ended before the server said why it stopped.
        """
        first = self._choices[min(self._choices)] if self._choices else _ChoiceFold()
        if first.finish is None and not (self.is_ended and self._choices):
            raise ModelError("cut", "the stream ended before its end", retryable=True)
        return {
            "choices": [
                {
                    "message": first.message(),
                    "finish_reason": first.finish,
                    "logprobs": {"content": [*first.tokens]},
                }
            ],
            "usage": self._usage,
        }


def _arguments(value: Any) -> str:
    """A piece of a call's arguments; an object is the whole of them."""
    if isinstance(value, Mapping):
        return json.dumps(value)
    return value if isinstance(value, str) else ""


def _is_object(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(orjson.loads(text), dict)
    except ValueError:
        return False


def _read_calls(calls: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    valid: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, call in enumerate(calls[:MAX_CALLS] if isinstance(calls, list) else []):
        function = _part(call, "function")
        id = _text(call.get("id") if isinstance(call, Mapping) else "") or f"call_{number}"
        id = f"{id}_{number}" if id in seen else id
        seen.add(id)
        # No tool's name has a dot: some models put a name space before it.
        name = _text(function.get("name")).strip().removeprefix("functions.")
        read = make_call(name, function.get("arguments"), id)
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
        return "".join(
            storable(part) if isinstance(part, str) else _text(_part({"": part}, "").get("text"))
            for part in value
        )
    return ""


def _thinking(content: Any) -> str:
    """The texts of thinking parts in a list of content parts (Mistral, Anthropic)."""
    parts = content if isinstance(content, list) else []
    given = [part.get("thinking") for part in parts if isinstance(part, Mapping)]
    return "\n".join(filter(None, map(_text, given)))


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _count(mapping: Any, name: str) -> int:
    value = mapping.get(name) if isinstance(mapping, Mapping) else None
    return value if type(value) is int and 0 < value < 2**53 else 0
