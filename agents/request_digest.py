"""The content of a request for the journal's digests: cheap to compute, the same in every
process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
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
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # orjson refuses what JSON from elsewhere may hold: half surrogates, 70-bit integers.
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


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
