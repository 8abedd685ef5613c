"""The reasoning of turns that call tools goes back as it came, where it is wanted."""

from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from branchwise.agents.response_bodies import read_body
from branchwise.graphs.messages import message_of, recorded_turn
from branchwise.trace.events import Model
from support.agents.asking import (
    QUESTION,
    RecordingJournal,
    ask,
    both_ways,
    local_retriever,
)
from support.chat_server import Answer, fail, say

THOUGHT = "I must search for Heat."
DETAILS = (
    {"type": "reasoning.text", "text": THOUGHT, "signature": "c2ln", "id": "r1", "index": 0},
    {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "r2", "index": 1},
)
DEMAND = "The `reasoning_content` in the thinking mode must be passed back to the API."
SEARCH = (("local_retriever", '{"query": "Heat"}'),)
FORMS = {
    "DeepSeek": ({"reasoning_content": THOUGHT}, {"reasoning_content": THOUGHT}),
    "vLLM": ({"reasoning": THOUGHT}, {"reasoning": THOUGHT}),
    "OpenRouter": (
        {"reasoning": THOUGHT, "reasoning_details": DETAILS},
        {"reasoning_details": list(DETAILS)},
    ),
}
forms = pytest.mark.parametrize(("sent", "back"), FORMS.values(), ids=FORMS)


def thinks_and_searches(**reasoning: Any) -> Answer:
    return Answer(tool_calls=SEARCH, **reasoning)


async def two_turns(caller: Any, journal: Any = None) -> Any:
    """A turn that calls the tool, then one with its result."""
    journal = journal or RecordingJournal()
    first = await ask(caller, journal, tools=[local_retriever])
    result = ToolMessage("[p1] Heat", tool_call_id="c0", name="local_retriever")
    return await ask(caller, journal, messages=[*QUESTION, first.message, result])


def of_assistant(body: dict[str, Any]) -> dict[str, Any]:
    (message,) = (m for m in body["messages"] if m["role"] == "assistant")
    return {key: value for key, value in message.items() if key.startswith("reasoning")}


@both_ways
@pytest.mark.parametrize("how", ["on", "auto", "off"])
@forms
async def test_on_alone_sends_it_back_under_the_name_under_which_it_came(
    chat_server, make_caller, stream, how, sent, back
):
    chat_server.play([thinks_and_searches(**sent), say("Mann")])
    await two_turns(make_caller(reasoning_back=how, stream=stream))
    assert of_assistant(chat_server.requests[1]) == (back if how == "on" else {})


def demanding(body: dict[str, Any]) -> Answer:
    """DeepSeek's thinking mode with tools."""
    called = [m for m in body["messages"] if m.get("tool_calls")]
    if not all("reasoning_content" in message for message in called):
        return fail(400, DEMAND, code="invalid_request_error")
    return say("Mann") if called else thinks_and_searches(reasoning_content=THOUGHT)


@pytest.mark.parametrize(
    "words",
    [
        DEMAND,
        "Missing `reasoning_content` field in the assistant message at message index 2. For more "
        "information, please refer to https://api-docs.deepseek.com/guides/thinking_mode",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 2",
    ],
)
async def test_auto_sends_it_once_a_server_demands_it(chat_server, make_caller, words):
    chat_server.play(lambda body: fail(400, words) if _refuses(body) else demanding(body))
    caller, journal = make_caller(attempts=1), RecordingJournal()
    assert (await two_turns(caller, journal)).message.content == "Mann"
    assert [of_assistant(body) for body in chat_server.requests[1:]] == [
        {},
        {"reasoning_content": THOUGHT},
    ]
    ((kind, event),) = journal.events
    assert (kind, event["kind"], event["wait"]) == ("retry", "bad_request", 0.0)
    assert "reasoning_content" in event["message"]
    # From then on at once, also for other callers of the model; the system is what it was.
    other = RecordingJournal()
    await two_turns(make_caller(), other)
    assert of_assistant(chat_server.requests[-1]) == {"reasoning_content": THOUGHT}
    assert other.events == []
    assert len(chat_server.requests) == 5
    assert set(other.kept) == set(journal.kept)


def _refuses(body: dict[str, Any]) -> bool:
    return demanding(body).status == 400


async def test_a_turn_without_reasoning_gets_the_field_that_is_demanded_empty(
    chat_server, make_caller
):
    chat_server.play(
        lambda body: demanding(body) if len(body["messages"]) > 2 else thinks_and_searches()
    )
    await two_turns(make_caller())
    assert of_assistant(chat_server.requests[-1]) == {"reasoning_content": ""}


async def test_where_a_server_refuses_it_it_is_left_out_and_told(chat_server, make_caller):
    def script(body: dict[str, Any]) -> Answer:
        if any("reasoning_content" in message for message in body["messages"]):
            where = "messages.2.assistant.reasoning_content"
            return fail(400, f"{where}: property '{where}' is unsupported")
        called = any(message.get("tool_calls") for message in body["messages"])
        return say("Mann") if called else thinks_and_searches(reasoning_content=THOUGHT)

    chat_server.play(script)
    journal = RecordingJournal()
    reply = await two_turns(make_caller(reasoning_back="on"), journal)
    assert (reply.message.content, reply.left_out) == ("Mann", ("reasoning_back",))
    ((kind, event),) = journal.events
    assert (kind, event["field"]) == ("left_out", "reasoning_back")
    assert of_assistant(chat_server.requests[-1]) == {}


async def test_digests_of_requests_hold_the_reasoning_that_is_sent_by_choice(
    chat_server, make_caller
):
    thoughts = ["one", "another"]
    kept = {}
    for how in ("auto", "on"):
        for thought in thoughts:
            chat_server.play([thinks_and_searches(reasoning_content=thought), say("Mann")])
            kept[how, thought] = journal = RecordingJournal()
            await two_turns(make_caller(reasoning_back=how), journal)
    digests = {key: [one.digest for one, _ in journal.kept] for key, journal in kept.items()}
    assert digests["auto", "one"] == digests["auto", "another"]
    assert digests["on", "one"][0] == digests["on", "another"][0] != digests["auto", "one"][0]
    assert digests["on", "one"][1] != digests["on", "another"][1]


@forms
async def test_a_recorded_reply_and_a_recorded_turn_make_the_message_that_it_was(
    chat_server, make_caller, sent, back
):
    chat_server.play([thinks_and_searches(**sent)])
    journal = RecordingJournal()
    reply = await ask(make_caller(), journal, tools=[local_retriever])
    again = await ask(make_caller(), RecordingJournal(journal.kept), tools=[local_retriever])
    assert again.replayed
    assert again.message == reply.message
    turn = Model.read(recorded_turn(reply, turn=1).record())
    assert message_of(turn) == reply.message
    assert len(chat_server.requests) == 1


_FUNCTION = {"function": {"name": "f", "arguments": "{}"}}


KEY = "sk-c4nary-0123456789"


@pytest.mark.parametrize(
    "details",
    ["text", [1], [{"text": "x"}] * 65, [{"text": "x" * 1_000_001}], None, {}, [{"text": KEY}]],
)
def test_details_that_are_malformed_or_too_many_or_hold_a_key_are_not_kept(details, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = {
        "content": "", "tool_calls": [{"id": "c", **_FUNCTION}],
        "reasoning": THOUGHT, "reasoning_details": details,
    }  # fmt: skip
    read = read_body({"choices": [{"message": message}]})
    assert (read.reasoning_details, read.reasoning, read.reasoning_field) == (
        (), THOUGHT, "reasoning",
    )  # fmt: skip
