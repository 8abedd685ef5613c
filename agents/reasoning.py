"""The reasoning of tool-calling turns, on its way back to the server that gave it.

Servers differ: DeepSeek and Kimi refuse the next request of a question without it (as
`reasoning_content`), vLLM and OpenRouter continue from it (as `reasoning` and
`reasoning_details`), OpenAI ignores it, Mistral and Cerebras refuse fields that they did not send.
So it goes back under the name under which it came (docs/compatibility.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.corpora.text import storable

if TYPE_CHECKING:
    import openai
    from langchain_core.messages import BaseMessage

USUAL_FIELD, DETAILS = "reasoning_content", "reasoning_details"
TEXT_FIELDS = (USUAL_FIELD, "reasoning")
"""Names of the text; where a message has both, the first is read."""
MAX_DETAILS = 64
_MAX_BYTES = 1_000_000
_NATIVE = "branchwise_reasoning"
_WANTED = re.compile(
    r"missing[^.]{0,40}\breasoning_content\b|\breasoning_content\b[^.]{0,60}"
    r"\b(missing|required|(must|should|needs? to) be (passed|sent|provided|included|returned))",
    re.IGNORECASE,
)


def read_details(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The blocks of `reasoning_details`, as they came; none where they are malformed, too many or
    too long to be kept.

    A block that repeats a key is changed by striking it out, and is then better not sent at all.
    """
    given = message.get(DETAILS)
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        return ()
    try:
        written = orjson.dumps(given).decode()
    except (TypeError, ValueError):
        return ()
    fits = len(given) <= MAX_DETAILS and len(written) <= _MAX_BYTES
    return tuple(given) if fits and storable(written) == written else ()


def native(
    text: str, field: str = USUAL_FIELD, details: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """What a message of LangChain keeps of a turn's reasoning, for `send_back`."""
    if details:
        return {_NATIVE: {DETAILS: list(details)}}
    return {_NATIVE: {field: text}} if text else {}


def has_reasoning(message: BaseMessage) -> bool:
    """Whether the model thought in this turn."""
    return bool(message.additional_kwargs.get(_NATIVE))


def native_of(message: BaseMessage) -> Mapping[str, Any]:
    """The fields with the reasoning of a turn that calls tools; none of any other message."""
    if not (getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None)):
        return {}
    fields: Mapping[str, Any] = message.additional_kwargs.get(_NATIVE, {})
    return fields


def send_back(
    messages: Sequence[BaseMessage], written: Sequence[dict[str, Any]], *, demanded: bool
) -> bool:
    """Put the reasoning of each turn that called tools into the message as it is sent.

    `written`: the body's messages, one of each of `messages`. `demanded`: the server refuses turns
    without the field, so that one without reasoning gets it empty. Returns whether any has it.
    """
    found = False
    for message, body in zip(messages, written, strict=True):
        if body.get("tool_calls"):
            fields = native_of(message) or ({USUAL_FIELD: ""} if demanded else {})
            body |= fields
            found = found or bool(fields)
    return found


def demands_reasoning(error: openai.APIError) -> bool:
    """Whether a server refuses a request because a turn's reasoning is not in it."""
    status = getattr(error, "status_code", None)
    return status in (400, 422, None) and bool(_WANTED.search(str(error.message)[:2000]))
