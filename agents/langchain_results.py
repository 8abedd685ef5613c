"""What LangChain's chat models return, as a chat completion that says the same, so that all replies
are read by one set of rules; and a model's turn on its way back to them.

LangChain counts tokens in one way for all providers: input with what was read from and written to
the cache (Anthropic's own count leaves both out), output with the thoughts (Google's own count
leaves them out).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from branchwise.agents.reasoning import DETAILS, native_of
from branchwise.agents.reply import Completion, ModelError
from branchwise.agents.reply_stream import mapping_in, mappings_in
from branchwise.agents.response_bodies import read_body

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatResult

_WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""What LangChain calls input that was written to the cache; where it is told by how long it stays
there, the first is 0."""
_SIGNATURES = "signature"
"""In the name of what Gemini wants back unchanged with a turn's calls."""


def read_result(result: ChatResult, *, reason: str = "") -> Completion:
    """The completion in a result; `reason`: how it ended where it does not say.

    Raises ModelError: `invalid_response` where it holds no reply, `interrupted` for one that was
    broken off.
    """
    generation = result.generations[0]
    message: Any = generation.message
    told = {
        **message.response_metadata,
        **(result.llm_output or {}),
        **(generation.generation_info or {}),
    }
    reason = told.get("stop_reason") or told.get("finish_reason") or reason
    if feedback := mapping_in(told, "prompt_feedback"):
        # Gemini's, for a conversation that it does not answer.
        reason = reason or ("blocked" if feedback.get("block_reason") else "")
    calls = [
        {"id": call["id"], "function": {"name": call["name"], "arguments": call["args"]}}
        for call in (*message.tool_calls, *message.invalid_tool_calls)
    ]
    if not (reason or calls or message.content):
        raise ModelError("invalid_response", "the response has no message in it", retryable=True)
    said = {"content": message.content, "tool_calls": calls, DETAILS: _kept(message)}
    usage = told.get("token_usage") or _usage(message.usage_metadata or {})
    return read_body({"choices": [{"message": said, "finish_reason": reason}], "usage": usage})


def _usage(counted: Mapping[str, Any]) -> dict[str, Any]:
    """LangChain's `usage_metadata` as a chat completion counts."""
    read = counted.get("input_token_details", {})
    return {
        "prompt_tokens": counted.get("input_tokens"),
        "completion_tokens": counted.get("output_tokens"),
        "prompt_tokens_details": {
            "cached_tokens": read.get("cache_read"),
            "cache_write_tokens": sum(read.get(name) or 0 for name in _WRITTEN),
        },
        "completion_tokens_details": {
            "reasoning_tokens": counted.get("output_token_details", {}).get("reasoning")
        },
    }


def _kept(message: AIMessage) -> list[dict[str, Any]]:
    """What goes back unchanged of a turn that calls tools: its blocks, where there is more in them
    than words and calls, and signatures."""
    more = {name: value for name, value in message.additional_kwargs.items() if _SIGNATURES in name}
    blocks = mappings_in(message.content)
    if not more and all(block.get("type") in ("text", "tool_use") for block in blocks):
        return []
    provider = message.response_metadata.get("model_provider")
    return [{"model_provider": provider, "content": message.content, "additional_kwargs": more}]


def turn(message: BaseMessage, provider: str, *, with_reasoning: bool) -> BaseMessage:
    """A message as a provider's model takes it: a turn with its reasoning, and calls that could not
    be read as calls without arguments where the protocol has no place for others."""
    if message.type != "ai":
        return message
    update: dict[str, Any] = {}
    if with_reasoning:
        for kept in native_of(message).get(DETAILS, ()):
            # Of a fork, earlier turns may be another provider's.
            if kept.get("model_provider") == _LANGCHAIN.get(provider, ""):
                update = {name: kept[name] for name in ("content", "additional_kwargs")}
                update["response_metadata"] = {"model_provider": kept["model_provider"]}
    invalid = getattr(message, "invalid_tool_calls", ())
    if invalid and provider == "google":
        calls = [{**call, "args": {}, "type": "tool_call"} for call in invalid]
        update["tool_calls"] = [*getattr(message, "tool_calls", ()), *calls]
    return message.model_copy(update=update) if update else message


_LANGCHAIN: Mapping[str, str] = {"anthropic": "anthropic", "google": "google_genai"}
"""What LangChain calls providers in its messages."""
