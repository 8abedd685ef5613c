"""The digest of a request is that of its content, whatever was asked before it."""

import hashlib
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.journal import ConversationDigest

BEFORE = b'["model"][]'
SCHEMAS = [None, {"type": "object", "b": 1, "a": "\N{SNOWMAN}"}]

texts = st.text(max_size=20) | st.sampled_from(["", '"', "\N{SNOWMAN}", "\ud800", "x" * 200])
calls = st.builds(
    lambda n: {"name": "t", "args": {"n": n}, "id": "c1", "type": "tool_call"},
    st.integers() | st.just(10**30),
)
messages = (
    texts.map(SystemMessage)
    | texts.map(HumanMessage)
    | texts.map(lambda text: ToolMessage(text, tool_call_id="c1"))
    | st.builds(lambda text, call: AIMessage(text, tool_calls=[call]), texts, calls)
)


def content(message: BaseMessage) -> list[Any]:
    """What recorded runs have in their digests of a message."""
    if isinstance(message, ToolMessage):
        return ["tool", message.content, message.tool_call_id]
    if isinstance(message, AIMessage):
        return ["ai", message.content, message.tool_calls, message.invalid_tool_calls]
    return [message.type, message.content]


def plain(schema: Any, asked: list[BaseMessage]) -> str:
    """The digest in one piece."""
    value = [schema, [content(message) for message in asked]]
    try:
        body = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        body = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(BEFORE + body).hexdigest()


@pytest.mark.slow
@given(st.data())
def test_a_digest_does_not_depend_on_the_requests_before_it(data):
    conversation, asked = ConversationDigest(), list[BaseMessage]()
    for _ in range(data.draw(st.integers(1, 6))):
        kept = data.draw(st.sampled_from([len(asked)] * 3 + list(range(len(asked)))) | st.just(0))
        asked = [*asked[:kept], *data.draw(st.lists(messages, max_size=3))]
        schema = data.draw(st.sampled_from(SCHEMAS))
        assert conversation.of(BEFORE, schema, asked, reasoning=False) == plain(schema, asked)
