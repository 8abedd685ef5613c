"""Trace events as JSON-serialisable records."""

from collections.abc import Mapping
from typing import Any

from branchwise.agents.caller import Reply, Usage


def usage_record(usage: Usage) -> dict[str, int]:
    """Token counts of one call."""
    return {
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
    }


def reply_record(reply: Reply) -> dict[str, Any]:
    """A model's reply as the trace keeps it; enough to rebuild the message."""
    message = reply.message
    return {
        "text": str(message.text),
        "tool_calls": [_call(c) for c in message.tool_calls],
        "invalid_tool_calls": [_call(c) for c in message.invalid_tool_calls],
        "reasoning": reply.reasoning,
        "finish": reply.finish,
        "usage": usage_record(reply.usage),
        "seconds": round(reply.seconds, 4),
        "replayed": reply.replayed,
    }


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": call["id"], "name": call["name"], "args": call["args"]}
