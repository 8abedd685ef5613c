"""Refusals are recognised by what they say; a refused field is left out once, and that is told."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.caller import ModelCaller
from branchwise.agents.chat_completions import status_error
from branchwise.agents.decoding import Decoding
from branchwise.agents.failures import failure_of
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prediction import FORMATS
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.refusals import refused_field
from branchwise.agents.spec import ModelSpec
from support.agents.asking import RecordingJournal, ask, both_ways, error_of, local_retriever
from support.chat_server import Answer, call, fail, say

CASES = yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text())
SCHEMA = FORMATS["branches"].schema


def refuses(words: str, status: int = 400) -> Answer:
    return fail(status, words)


def without(*fields: str, status: int = 400) -> Any:
    """A script of a server that refuses these fields one after the other, then answers."""

    def script(body: dict[str, Any]) -> Answer:
        named = next((field for field in fields if field in body), None)
        return refuses(f"Unknown parameter: {named!r}", status) if named else say("answered")

    return script


@pytest.mark.parametrize("case", CASES, ids=[f"{c['server']} {c['refused']}" for c in CASES])
def test_the_field_that_a_refusal_names_is_told(case):
    said = case["body"]
    content = said if isinstance(said, str) else json.dumps(said)
    response = httpx2.Response(case["status"], request=httpx2.Request("POST", "http://server/v1"))
    error = status_error(response, content.encode())
    assert refused_field(error, ["model", "messages", *case["sent"]]) == case["refused"]


@both_ways
@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
async def test_a_refused_schema_is_not_sent_again_whatever_the_status(
    chat_server, make_caller, waits, stream, status
):
    chat_server.play(without("response_format", status=status))
    caller, journal = make_caller(stream=stream), MemoryJournal()
    for _ in range(2):
        assert (await ask(caller, journal, schema=SCHEMA)).left_out == ("response_format",)
    formats = ["response_format" in body for body in chat_server.requests]
    assert formats == [True, False, False]
    assert waits.seconds == []
    ((kind, event),) = journal.events
    assert (kind, event["role"], event["field"]) == ("left_out", "agent", "response_format")
    assert f"{status} Unknown parameter" in event["message"]
    assert "/v1?" not in event["message"]


async def test_all_that_is_refused_is_given_up_one_field_a_request(chat_server, make_caller):
    fields = ("temperature", "seed", "stream_options", "max_tokens", "response_format")
    chat_server.play(without(*fields, status=500))
    caller = make_caller(temperature=0, seed=1, max_tokens=9, stream=True)
    reply = await ask(caller, schema=SCHEMA)
    assert set(reply.left_out) == set(fields)
    assert len(chat_server.requests) == 1 + len(fields)
    last = chat_server.requests[-1]
    assert last.keys() == {"model", "messages", "stream", "max_completion_tokens"}
    assert last["max_completion_tokens"] == 9


async def test_a_stream_that_is_refused_comes_whole(chat_server, make_caller):
    def script(body: dict[str, Any]) -> Answer:
        return refuses("Streaming is not supported") if "stream" in body else say("whole")

    chat_server.play(script)
    assert (await ask(make_caller(stream=True))).message.content == "whole"
    assert chat_server.requests[-1].keys() == {"model", "messages"}


async def test_a_refusal_inside_a_stream_counts(chat_server, make_caller, waits):
    error = {"error": {"message": "`seed` is not supported", "code": 400}}

    def script(body: dict[str, Any]) -> Answer:
        return Answer(raw=f"data: {json.dumps(error)}\n\n") if "seed" in body else say("seedless")

    chat_server.play(script)
    assert (await ask(make_caller(stream=True, seed=1))).message.content == "seedless"
    assert len(chat_server.requests) == 2
    assert waits.seconds == []


async def test_a_limit_that_has_no_name_the_server_takes_is_an_error(chat_server, make_caller):
    chat_server.play(without("max_tokens", "max_completion_tokens", status=500))
    caller = make_caller(max_tokens=9)
    for requests in (2, 2):
        error = await error_of(caller)
        assert (error.kind, len(chat_server.requests)) == ("bad_request", requests)
        assert "neither max_tokens nor max_completion_tokens" in str(error)


async def test_where_tools_are_refused_they_go_in_the_text(chat_server, make_caller):
    block = '```tool\n{"name": "local_retriever", "arguments": {"query": "Heat"}}\n```'

    def script(body: dict[str, Any]) -> Answer:
        if "tools" in body:
            return refuses("registry.ollama.ai/library/gemma3:4b does not support tools")
        return say(block if len(body["messages"]) == 2 else "Mann")

    chat_server.play(script)
    caller, journal = make_caller(), RecordingJournal()
    before = caller.identity
    history = [SystemMessage("Answer."), HumanMessage("Who directed Heat?")]
    first = await ask(caller, journal, messages=history, tools=[local_retriever])
    (called,) = first.message.tool_calls
    assert (called["name"], called["args"]) == ("local_retriever", {"query": "Heat"})
    assert first.left_out == ("tools",)
    result = ToolMessage("[p1] Heat", tool_call_id=called["id"], name="local_retriever")
    asked = [*history, first.message, result]
    assert (await ask(caller, journal, messages=asked)).left_out == ()
    assert [m["role"] for m in chat_server.requests[-1]["messages"]] == [
        *("system", "user", "assistant", "user")
    ]
    assert "Search the corpus for passages." in chat_server.requests[1]["messages"][0]["content"]
    assert [data["field"] for _, data in journal.events] == ["tools"]
    # It is the system that it was: what was recorded answers a caller that knows of no refusal.
    assert caller.identity == before
    again = await ask(
        make_caller(), RecordingJournal(journal.kept), messages=history, tools=[local_retriever]
    )
    assert (again.replayed, again.left_out) == (True, ("tools",))
    assert again.message == first.message


async def test_calls_made_natively_are_shown_in_the_text_when_tools_are_refused_later(
    chat_server, make_caller
):
    chat_server.play([call("local_retriever", query="Heat"), refuses("tools: not supported")])
    caller = make_caller()
    first = await ask(caller, tools=[local_retriever])
    chat_server.play(without("tools"))
    result = ToolMessage("[p1]", tool_call_id="c0", name="local_retriever")
    messages = [HumanMessage("Who?"), AIMessage("", tool_calls=first.message.tool_calls), result]
    await ask(caller, messages=messages, tools=[local_retriever])
    sent = chat_server.requests[-1]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    assert '"local_retriever"' in sent[2]["content"]


async def test_a_refusal_is_known_to_all_that_ask_the_model_there(chat_server, make_caller):
    chat_server.play(without("seed"))
    await ask(make_caller(seed=1))
    journal = MemoryJournal()
    assert (await ask(make_caller(seed=2), journal)).left_out == ("seed",)
    assert [kind for kind, _ in journal.events] == ["left_out"]
    assert [body.get("seed") for body in chat_server.requests] == [1, None, None]
    # Another model of the server may take it.
    spec = ModelSpec.parse(f"openai:other@{chat_server.url}")
    await ask(ModelCaller(spec, Decoding(seed=3), Prompts.load()))
    assert chat_server.requests[3]["seed"] == 3


async def test_an_error_that_refuses_nothing_is_retried_with_all_fields(
    chat_server, make_caller, waits
):
    crash = fail(500, "AttributeError: 'NoneType' object has no attribute 'grammar'")
    chat_server.play([crash, say("later")])
    journal = MemoryJournal()
    reply = await ask(make_caller(), journal, schema=SCHEMA)
    assert (reply.left_out, len(waits.seconds)) == ((), 1)
    assert all("response_format" in body for body in chat_server.requests)
    ((_, event),) = journal.events
    assert event["message"].endswith("(--structured off asks for no schema)")


def rows(name: str) -> list[Any]:
    listed = yaml.safe_load((Path(__file__).parent / f"{name}_refusals.yaml").read_text())
    return [pytest.param(row, id=row["server"]) for row in listed]


@pytest.mark.parametrize("row", rows("length"))
def test_a_conversation_that_is_too_long_is_told_from_rates_and_ranges(row):
    body = row.get("body") or {"message": row["message"]}
    found = failure_of(row["status"], body, "refused")
    assert (found.kind == "context_length") is row.get("is_length", True)
    assert not (found.kind == "context_length" and found.retryable)


@pytest.mark.parametrize("row", rows("credit"))
def test_a_spent_credit_is_told_from_a_rate(row):
    found = failure_of(row["status"], row["body"], "refused", row.get("retry_after"))
    assert (found.kind == "credit") is row.get("is_spent", True)
    assert not (found.kind == "credit" and found.retryable)
