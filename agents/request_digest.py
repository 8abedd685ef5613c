"""The content of a request for the journal's digests: cheap to compute, the same in every
process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.agents.reasoning import native_of

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool


@dataclass(frozen=True)
class ToolSet:
    """Tools and, made once, their OpenAI schemas and the bytes that enter digests."""

    tools: tuple[BaseTool, ...]
    schemas: tuple[dict[str, Any], ...]
    canonical: bytes

    @classmethod
    def of(cls, tools: Sequence[BaseTool]) -> ToolSet:
        """The set of `tools`, in their order."""
        if not tools:
            return cls((), (), b"[]")
        from langchain_core.utils.function_calling import convert_to_openai_tool

        schemas = tuple(convert_to_openai_tool(tool) for tool in tools)
        return cls(tuple(tools), schemas, canonical(schemas))


def canonical(value: Any) -> bytes:
    """JSON with sorted keys: equal values, equal bytes."""
    try:
        return _sorted(value)
    except TypeError:
        # orjson refuses what JSON from elsewhere may hold: half surrogates, 70-bit integers.
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _sorted(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


@dataclass
class ConversationDigest:
    """SHA-256 of a conversation's requests. Each repeats the one before and adds to it: what was
    hashed for that one is not hashed again, or the cost would grow with the square of its turns.
    """

    _head: bytes = b""
    _messages: Sequence[BaseMessage] = ()
    _hashed: hashlib._Hash = field(default_factory=hashlib.sha256)

    def of(
        self, before: bytes, schema: Any, messages: Sequence[BaseMessage], *, reasoning: bool
    ) -> str:
        """The digest of `before`, then of `canonical([schema, fingerprints])`, as hexadecimal."""
        try:
            return self._of(b"%b[%b,[" % (before, _sorted(schema)), messages, reasoning)
        except TypeError:
            seen = [fingerprint(message, reasoning=reasoning) for message in messages]
            return hashlib.sha256(before + canonical([schema, seen])).hexdigest()

    def _of(self, head: bytes, messages: Sequence[BaseMessage], reasoning: bool) -> str:
        if not self._continues(head, messages):
            self._head, self._messages, self._hashed = head, (), hashlib.sha256(head)
        new = messages[len(self._messages) :]
        added = [_sorted(fingerprint(message, reasoning=reasoning)) for message in new]
        self._hashed.update(b"," * bool(self._messages and added) + b",".join(added))
        self._messages = tuple(messages)
        request = self._hashed.copy()
        request.update(b"]]")
        return request.hexdigest()

    def _continues(self, head: bytes, messages: Sequence[BaseMessage]) -> bool:
        """Whether the request begins with the one before: messages are never changed."""
        known = self._messages
        return (
            head == self._head
            and len(known) <= len(messages)
            and all(one is other for one, other in zip(known, messages, strict=False))
        )


def fingerprint(message: BaseMessage, *, reasoning: bool = False) -> list[Any]:
    """What the model sees of a message; ids and metadata that it does not see are left out.

    `reasoning`: whether that of earlier turns goes back to it.
    """
    kind = message.type
    if kind == "tool":
        return [kind, message.content, getattr(message, "tool_call_id", None)]
    if kind == "ai":
        calls = getattr(message, "tool_calls", [])
        seen = [kind, message.content, calls, getattr(message, "invalid_tool_calls", [])]
        return [*seen, native_of(message)] if reasoning else seen
    return [kind, message.content]
