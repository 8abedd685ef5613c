"""OpenAI's Responses API, through LangChain's client. Import it lazily.

`ChatOpenAI` makes the payload from what a chat completion would be asked; what it changes by the
model's name, leaves to the server's default or has no place for is put right here. The server
stores nothing, so each request holds the whole conversation, with the reasoning of turns that
called tools as the server encrypted it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from branchwise.agents.chat_completions import ChatCompletions
from branchwise.agents.reasoning import ITEMS, item_key, native_of
from branchwise.agents.refusals import BACK, LOGPROBS
from branchwise.agents.responses_output import EventFold, read_response

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

    from branchwise.agents.reply import Completion

_REASONING, _LOGPROBS = "reasoning.encrypted_content", "message.output_text.logprobs"


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
        unreadable = fields.get(BACK)
        body["input"] = [
            item
            for message in messages
            for item in (
                _turn(message, unreadable) if message.type == "ai" else (next(written),)  # type: ignore[arg-type]
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
        return _merged({**body, **({"include": include} if include else {})}, own)

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
            yield _said(text, item.get("phase"))
            text = ""
        elif item["type"] == "function_call" and (call := calls.pop(item.get("call_id"), None)):
            yield _called(call)
    if text:
        yield _said(text)
    yield from map(_called, calls.values())


def _said(text: str, phase: Any = None) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant", "content": text}
    return {**said, "phase": phase} if phase else said


def _called(call: Mapping[str, Any]) -> dict[str, Any]:
    args = call["args"]
    return {
        "type": "function_call",
        "call_id": call["id"],
        "name": call["name"],
        "arguments": args if isinstance(args, str) else json.dumps(args, ensure_ascii=False),
    }


def _merged(body: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The body with a user's own fields: `reasoning`, `text` and `include` are joined with ours."""
    for name, value in own.items():
        ours = body.get(name)
        if isinstance(ours, dict) and isinstance(value, Mapping):
            body[name] = {**ours, **value}
        elif isinstance(ours, list) and isinstance(value, list) and name == "include":
            body[name] = [*ours, *(one for one in value if one not in ours)]
        else:
            body[name] = value
    return body
