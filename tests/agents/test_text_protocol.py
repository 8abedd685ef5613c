"""Tools for servers without tool calls: described, written and read as text."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.journal import MemoryJournal
from branchwise.agents.reply import Completion
from branchwise.agents.text_protocol import is_written_call, read_calls, render_messages
from support.agents.asking import local_retriever
from support.chat_server import say

CALL = '```tool\n{"name": "local_retriever", "arguments": {"query": "Heat"}}\n```'


async def test_a_text_conversation_holds_no_native_tools(chat_server, make_caller):
    chat_server.play([say(f"Let me look.\n{CALL}\nResult: I imagine"), say("done")])
    caller, journal = make_caller(tool_protocol="text"), MemoryJournal()
    history = [SystemMessage("Answer."), HumanMessage("Who directed Heat?")]
    first = await caller.ask(history, tools=[local_retriever], journal=journal)
    assert (first.finish, first.message.content) == ("tool_calls", "Let me look.")
    (called,) = first.message.tool_calls
    assert (called["name"], called["args"]) == ("local_retriever", {"query": "Heat"})
    result = ToolMessage("[p1] Heat\nA film.", tool_call_id=called["id"], name="local_retriever")
    await caller.ask([*history, first.message, result], tools=[local_retriever], journal=journal)
    one, two = chat_server.requests
    assert "tools" not in one
    assert one["messages"][0]["content"].startswith("Answer.")
    assert "Search the corpus for passages." in one["messages"][0]["content"]
    assert [m["role"] for m in two["messages"]] == ["system", "user", "assistant", "user"]
    assert two["messages"][2]["content"] == (
        'Let me look.\n\n```tool\n{"name":"local_retriever","arguments":{"query":"Heat"}}\n```'
    )
    assert two["messages"][3]["content"] == "Result of local_retriever:\n[p1] Heat\nA film."


@pytest.mark.parametrize(
    ("text", "valid", "invalid"),
    [
        ("no call at all", [], 0),
        (f"{CALL}\n{CALL}", [{"query": "Heat"}] * 2, 0),
        ("```tool\n{broken\n```", [], 1),
        ('```tool\n{"arguments": {}}\n```', [], 1),
        ('```tool\n{"name": "t", "arguments": [1]}\n```', [], 1),
        ('```tool\n[{"name": "t", "arguments": {"a": 1}}, {"name": "u"}]\n```', [{"a": 1}, {}], 0),
        ('```tool\n{"name": "t", "arguments": {"a": 1}}', [{"a": 1}], 0),
        ('```tool\n{"name": "t", "arguments": "{\\"a\\": 2}"}\n```', [{"a": 2}], 0),
        ('<tool_call>\n{"name": "t", "arguments": {"a": 1}}\n</tool_call>', [{"a": 1}], 0),
        ('<tool_call>{"name": "t", "arguments": {"a": 1}}', [{"a": 1}], 0),
        ('So:\n```json\n{"name": "t", "arguments": {"a": 1}}\n```', [{"a": 1}], 0),
        ('```json\n{"name": "t"}\n```', [], 0),
        ('```json\n{"name": "someone", "arguments": {"a": 1}}\n```', [], 0),
        ('```json\n{"answers": {"default": ["t"]}}\n```', [], 0),
    ],
)
def test_blocks_are_read_as_calls(text, valid, invalid):
    read = read_calls(Completion(text, "stop"), turn=3, names={"t", "u"})
    assert [call["args"] for call in read.tool_calls] == valid
    assert len(read.invalid_tool_calls) == invalid
    ids = [call["id"] for call in (*read.tool_calls, *read.invalid_tool_calls)]
    assert ids == [f"call_3_{n}" for n in range(len(ids))]


def test_an_invalid_call_is_shown_again_as_it_was_written():
    read = read_calls(Completion("```tool\n{broken\n```", "stop"), turn=0, names={"t"})
    message = AIMessage("", invalid_tool_calls=list(read.invalid_tool_calls))
    (rendered,) = render_messages([message], "")
    assert rendered.content == "```tool\n{broken\n```"


@pytest.mark.slow
@pytest.mark.parametrize("run", [" ", "\n", "[ ", "name ", "<", "local_retriever "])
def test_a_long_run_is_no_written_call_and_is_read_once(run):
    assert not is_written_call(run * 200_000, ["local_retriever"])
