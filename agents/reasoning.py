"""The reasoning of tool-calling turns, on its way back to the server that gave it.

Servers differ: DeepSeek and Kimi refuse the next request of a question without it (as
`reasoning_content`), vLLM and OpenRouter continue from it (as `reasoning` and
`reasoning_details`), OpenAI ignores it, Mistral and Cerebras refuse fields that they did not send.
So it goes back under the name under which it came (docs/compatibility.md). The Responses API gives
items, which go back among the turn's others (`agents/responses_api.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.base.text import storable

if TYPE_CHECKING:
    import openai
    from langchain_core.messages import BaseMessage

USUAL_FIELD, DETAILS = "reasoning_content", "reasoning_details"
ITEMS = "reasoning_items"
"""Of a turn that came by the Responses API: its items in their order, perhaps none of reasoning."""
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

_UNREADABLE = re.compile(
    r"\bencrypted[_ ]content\b.{0,2000}\b(verified|decrypted|parsed|not issued)\b"
    r"|\bdecrypt\b.{0,80}\bencrypted[_ ]content\b"
    r"|\bitem\b.{0,20}'rs_\w+' (of type 'reasoning' was provided without|not found)",
    re.IGNORECASE | re.DOTALL,
)


def read_details(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The blocks of `reasoning_details`, as they came; none where they are malformed, too many or
    too long to be kept.

    A block that repeats a key is changed by striking it out, and is then better not sent at all.
    """
    blocks = message.get(DETAILS)
    if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
        return ()
    try:
        written = orjson.dumps(blocks).decode()
    except (TypeError, ValueError):
        return ()
    fits = len(blocks) <= MAX_DETAILS and len(written) <= _MAX_BYTES
    return tuple(blocks) if fits and storable(written) == written else ()


def native(
    text: str, field: str = USUAL_FIELD, details: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """What a message of LangChain keeps of a turn's reasoning, for `send_back`."""
    if field == ITEMS:
        return {_NATIVE: {ITEMS: list(details)}}
    if details:
        return {_NATIVE: {DETAILS: list(details)}}
    return {_NATIVE: {field: text}} if text else {}


def calls_tools(message: BaseMessage) -> bool:
    """Whether it is a model's turn with calls, such as can be made or not."""
    # By type first: to ask a message for what it lacks takes long.
    calls = ("tool_calls", "invalid_tool_calls")
    return message.type == "ai" and any(getattr(message, name, None) for name in calls)


def has_reasoning(message: BaseMessage) -> bool:
    """Whether the model thought in this turn."""
    return bool(message.additional_kwargs.get(_NATIVE))


def native_of(message: BaseMessage) -> Mapping[str, Any]:
    """The fields with the reasoning of a turn that calls tools; none of any other message."""
    kept = message.additional_kwargs if calls_tools(message) else {}
    fields: Mapping[str, Any] = kept.get(_NATIVE, {})
    return fields


def send_back(
    messages: Sequence[BaseMessage], written: Sequence[dict[str, Any]], *, demanded: bool
) -> None:
    """Put the reasoning of each turn that called tools into the body's messages, one of each.

    `demanded`: the server refuses turns without the field: one without reasoning gets it empty.
    """
    for message, body in zip(messages, written, strict=True):
        if body.get("tool_calls"):
            fields = native_of(message)
            if not fields or ITEMS in fields:
                fields = {USUAL_FIELD: ""} if demanded else {}
            body |= fields


def encrypted(messages: Sequence[BaseMessage]) -> set[str]:
    """What the items of reasoning in these turns are told apart by."""
    items = [item for message in messages for item in native_of(message).get(ITEMS, ())]
    return {item_key(item) for item in items if item.get("type") == "reasoning"}


def item_key(item: Mapping[str, Any]) -> str:
    """What an item of reasoning is told apart by: the text in it that its server alone can read."""
    return str(item.get("encrypted_content") or item.get("id"))


def refuses_encrypted(error: openai.APIError) -> bool:
    """Whether a server refuses a request because it cannot read reasoning that goes back."""
    words = str(error.message)[:2000]
    return error.code == "invalid_encrypted_content" or bool(_UNREADABLE.search(words))


def demands_reasoning(error: openai.APIError) -> bool:
    """Whether a server refuses a request because a turn's reasoning is not in it."""
    status = getattr(error, "status_code", None)
    return status in (400, 422, None) and bool(_WANTED.search(str(error.message)[:2000]))
