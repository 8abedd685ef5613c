"""The Responses API: what is asked, what is read, and when it takes the other's place."""

import json
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from branchwise.agents.decoding import Decoding
from branchwise.agents.endpoints import ModelServer
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prediction import FORMATS
from branchwise.agents.reply import Completion, ModelError, ReplyToken
from branchwise.agents.responses_api import EventFold, read_response
from branchwise.agents.spec import ModelSpec
from branchwise.graphs.messages import message_of, recorded_turn
from branchwise.trace.events import Model
from support.agents.asking import (
    QUESTION,
    RecordingJournal,
    ask,
    both_ways,
    error_of,
    local_retriever,
)
from support.chat_server import Answer, call, cut, fail, say
from support.responses import encrypt

SCHEMA = FORMATS["branches"].schema
TO_RESPONSES = (
    "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. "
    "Please use /v1/responses instead."
)
SEARCHES = Answer(
    reasoning_content="Heat is two films.",
    tool_calls=(("local_retriever", '{"query": "a"}'), ("local_retriever", '{"query": "b"}')),
    thoughts=("And the second.",),
)


async def two_turns(caller: Any, journal: Any = None, **more: Any) -> tuple[Any, Any]:
    """A turn that calls tools, then one with their results."""
    journal = journal or RecordingJournal()
    first = await ask(caller, journal, tools=[local_retriever], **more)
    calls = (*first.message.tool_calls, *first.message.invalid_tool_calls)
    results = [ToolMessage("[p1] Heat", tool_call_id=call["id"]) for call in calls]
    return first, await ask(caller, journal, messages=[*QUESTION, first.message, *results], **more)


@both_ways
async def test_all_that_a_request_asks_for_is_in_its_body(chat_server, make_caller, stream):
    chat_server.play([call("local_retriever", query="Heat"), say("{}")])
    caller = make_caller(
        api="responses",
        stream=stream,
        temperature=0.5,
        top_p=0.9,
        max_tokens=64,
        reasoning_effort="low",
        extra_body={"text": {"verbosity": "low"}, "reasoning": {"summary": "auto"}},
    )
    await two_turns(caller, schema=SCHEMA)
    first, second = chat_server.requests
    assert chat_server.paths == ["/v1/responses"] * 2
    (tool,) = first["tools"]
    assert (tool["type"], tool["name"], tool["strict"]) == ("function", "local_retriever", False)
    assert first["input"] == [
        {"type": "message", "role": "system", "content": "Answer."},
        {"type": "message", "role": "user", "content": "Who directed Heat?"},
    ]
    assert {name: first[name] for name in ("store", "stream", "temperature", "top_p")} == {
        "store": False, "stream": stream, "temperature": 0.5, "top_p": 0.9,
    }  # fmt: skip
    assert (first["max_output_tokens"], first["include"]) == (64, ["reasoning.encrypted_content"])
    assert first["reasoning"] == {"effort": "low", "summary": "auto"}
    assert second["text"]["verbosity"] == "low"
    named = second["text"]["format"]
    assert (named["name"], named["schema"], named["strict"]) == ("answer", SCHEMA, False)
    assert [item["type"] for item in second["input"][2:]] == [
        *("function_call", "function_call_output")
    ]


@both_ways
async def test_reasoning_goes_back_in_its_order_before_the_calls_that_it_led_to(
    chat_server, make_caller, stream
):
    chat_server.play([SEARCHES, say("Mann")])
    journal = RecordingJournal()
    first, _ = await two_turns(make_caller(api="responses", stream=stream), journal)
    assert first.reasoning == "Heat is two films.\nAnd the second."
    items = chat_server.requests[1]["input"][2:]
    assert [(item["type"], item.get("encrypted_content")) for item in items] == [
        ("reasoning", encrypt("Heat is two films.")),
        ("function_call", None),
        ("reasoning", encrypt("And the second.")),
        ("function_call", None),
        ("function_call_output", None),
        ("function_call_output", None),
    ]
    # The same from the record of the trace, and from that of the store.
    rebuilt = message_of(Model.read(json.loads(json.dumps(recorded_turn(first).record()))))
    assert rebuilt.additional_kwargs == first.message.additional_kwargs
    chat_server.play([say("Mann")])
    resumed = RecordingJournal({key: v for key, v in journal.kept.items() if "Mann" not in str(v)})
    await two_turns(make_caller(api="responses", stream=stream), resumed)
    assert chat_server.requests[2] == chat_server.requests[1]


async def test_reasoning_that_the_server_cannot_read_is_left_out_and_told(chat_server, make_caller):
    words = "The encrypted content gAAA...DQ== could not be verified."

    def script(body: dict[str, Any]) -> Answer:
        if any(item["type"] == "reasoning" for item in body["responses"]["input"]):
            return fail(400, words, code="invalid_encrypted_content")
        return SEARCHES if len(body["messages"]) == 2 else say("Mann")

    chat_server.play(script)
    journal = RecordingJournal()
    _, second = await two_turns(make_caller(api="responses"), journal)
    assert (second.text, second.left_out) == ("Mann", ("reasoning_back",))
    ((kind, event),) = journal.events
    assert (kind, event["field"], words in event["message"]) == ("left_out", "reasoning_back", True)
    assert "include" in chat_server.requests[0]


@pytest.mark.parametrize(
    ("decoding", "code", "message", "left_out"),
    [
        ({}, None, "Encrypted content is not supported with this model.", ()),
        (
            {"top_logprobs": 2, "reasoning_back": "off"},
            "unsupported_parameter",
            "logprobs are not supported with reasoning models.",
            ("logprobs",),
        ),
    ],
    ids=["no reasoning", "no log-probabilities"],
)
async def test_what_a_model_cannot_include_is_not_asked_for_again(
    chat_server, make_caller, decoding, code, message, left_out
):
    error = {"message": message, "type": "invalid_request_error", "param": "include", "code": code}

    def script(body: dict[str, Any]) -> Answer:
        if "include" in body["responses"]:
            return Answer(status=400, raw=json.dumps({"error": error}))
        searched = len(body["messages"]) > 2
        return say("Mann") if searched else call("local_retriever", query="Heat")

    chat_server.play(script)
    first, second = await two_turns(make_caller(api="responses", **decoding))
    assert (first.left_out, second.text) == (left_out, "Mann")
    assert len(chat_server.requests) == 3
    assert not any("top_logprobs" in body for body in chat_server.requests[1:])


async def test_a_seed_has_no_field_and_that_is_told(chat_server, make_caller):
    chat_server.play([say("Mann")])
    journal = MemoryJournal()
    reply = await ask(make_caller(api="responses", seed=1), journal)
    assert reply.left_out == ("seed",)
    assert "seed" not in chat_server.requests[0]
    ((_, event),) = journal.events
    assert event["message"] == "the Responses API has no seed"


@both_ways
async def test_log_probabilities_are_asked_for_and_read(chat_server, make_caller, stream):
    chat_server.play([say("7", tokens=(("7", {"7": -0.5, "8": -1.0, "six": -3.0}),))])
    reply = await ask(make_caller(api="responses", top_logprobs=2, stream=stream))
    assert reply.tokens == (ReplyToken("7", (("7", -0.5), ("8", -1.0))),)
    (body,) = chat_server.requests
    assert (body["include"], body["top_logprobs"]) == (["message.output_text.logprobs"], 2)


@both_ways
@pytest.mark.parametrize(
    ("code", "kind", "requests"),
    [
        ("server_error", "server", 3),
        ("rate_limit_exceeded", "rate_limit", 3),
        ("invalid_prompt", "bad_request", 1),
        ("bio_policy", "bad_request", 1),
    ],
)
async def test_a_response_that_failed_is_an_error_by_its_code(
    chat_server, make_caller, stream, code, kind, requests
):
    chat_server.play(lambda _: Answer(failure=(code, "It went wrong.")))
    error = await error_of(make_caller(api="responses", stream=stream, attempts=3))
    assert (error.kind, len(chat_server.requests)) == (kind, requests)
    asked = f"openai:scripted@{chat_server.url}"
    assert str(error) == f"{asked}: the response failed: {code}: It went wrong."


OVERLOADED = {"code": "server_error", "message": "Overloaded."}


@pytest.mark.parametrize(
    "broken",
    [
        cut("middle"),
        cut("quiet"),
        Answer(raw=f"data: {json.dumps({'type': 'error', 'param': None, **OVERLOADED})}\n\n"),
        Answer(raw=f"data: {json.dumps({'error': OVERLOADED})}\n\n"),
    ],
    ids=["middle", "quiet", "error", "wrapped error"],
)
async def test_a_stream_that_ends_before_the_response_is_asked_for_again(
    chat_server, make_caller, waits, broken
):
    chat_server.play([broken, say("whole")])
    assert (await ask(make_caller(api="responses", stream=True))).text == "whole"
    assert len(waits.seconds) == 1


ODD = {
    "nothing": None,
    "a list": [],
    "a chat completion": {"choices": [{"message": {"content": "Mann"}}]},
    "output as text": {"status": "completed", "output": "Mann"},
    "queued": {"status": "queued", "output": []},
    "cancelled": {"status": "cancelled", "output": []},
    "failed without a word": {"status": "failed", "error": None},
    "failed with a text": {"status": "failed", "error": "no"},
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_what_is_no_response_is_an_error_in_one_line(body):
    with pytest.raises(ModelError) as raised:
        read_response(body)
    assert str(raised.value).isprintable()
    assert raised.value.retryable


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def test_odd_items_are_read_as_far_as_they_go():
    completion = read_response(
        {
            "status": "completed",
            "output": [
                None,
                item("reasoning", summary=None, content=[{"type": "reasoning_text", "text": "T"}]),
                item("web_search_call", id="ws"),
                item("message", content="plain"),
                item("message", content=[{"type": "output_text", "text": "M"}, 7, {"text": "n"}]),
                item("function_call", name="f", arguments={"a": 1}),
                item("function_call", id="fc", name="f", arguments="[1]"),
                item("function_call", call_id="c", arguments=None),
            ],
        }
    )
    assert (completion.text, completion.reasoning) == ("plain\nMn", "T")
    assert [(call["id"], call["args"]) for call in completion.tool_calls] == [("call_0", {"a": 1})]
    assert [call["id"] for call in completion.invalid_tool_calls] == ["fc", "c"]
    assert completion.finish == "tool_calls"
    again = Completion.from_payload(json.loads(json.dumps(completion.payload(1.0))))
    assert again == completion


def test_a_stream_whose_end_repeats_nothing_has_the_items_of_its_events():
    fold = EventFold()
    said = item("message", content=[{"type": "output_text", "text": "Mann"}])
    fold.add({"type": "response.output_item.done", "item": said})
    fold.add({"type": "response.completed", "response": {"output": []}})
    assert read_response(fold.body()).text == "Mann"


async def test_where_chat_is_refused_and_the_other_named_auto_goes_over_and_says_so(
    chat_server, make_caller
):
    def script(body: dict[str, Any]) -> Answer:
        if "responses" not in body:
            error = {"message": TO_RESPONSES, "param": "reasoning_effort", "code": None}
            return Answer(status=400, raw=json.dumps({"error": error}))
        return SEARCHES if len(body["messages"]) == 2 else say("Mann")

    chat_server.play(script)
    caller, journal = make_caller(reasoning_effort="high"), MemoryJournal()
    first, second = await two_turns(caller, journal)
    assert first.left_out == second.left_out == ("chat_completions",)
    assert chat_server.paths == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]
    assert [body["reasoning"] for body in chat_server.requests[1:]] == [{"effort": "high"}] * 2
    ((kind, event),) = journal.events
    assert (kind, event["field"]) == ("left_out", "chat_completions")
    assert TO_RESPONSES in event["message"]
    # Whoever goes on with the conversation later goes on by the same protocol.
    results = [ToolMessage("[p1]", tool_call_id=call["id"]) for call in first.message.tool_calls]
    await ask(make_caller(), messages=[*QUESTION, first.message, *results])
    assert chat_server.paths[3:] == ["/v1/responses"]


async def test_chat_alone_leaves_the_effort_out_and_says_so(chat_server, make_caller):
    def script(body: dict[str, Any]) -> Answer:
        if "reasoning_effort" in body:
            error = {"message": TO_RESPONSES, "param": "reasoning_effort", "code": None}
            return Answer(status=400, raw=json.dumps({"error": error}))
        return say("Mann")

    chat_server.play(script)
    journal = MemoryJournal()
    caller = make_caller(api="chat", reasoning_effort="high")
    reply = await ask(caller, journal, tools=[local_retriever])
    assert reply.left_out == ("reasoning_effort",)
    assert [event["field"] for _, event in journal.events] == ["reasoning_effort"]


async def test_chat_alone_says_what_to_do_where_nothing_can_be_left_out(chat_server, make_caller):
    error = {"message": TO_RESPONSES, "param": "reasoning_effort", "code": None}
    chat_server.play(lambda _: Answer(status=400, raw=json.dumps({"error": error})))
    failure = await error_of(make_caller(api="chat"), tools=[local_retriever])
    assert str(failure).endswith("(--api responses asks by the other protocol)")
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"detail": "Not Found"}),
        (404, "404 page not found"),
        (404, {"error": {"message": "Invalid URL (POST /v1/responses)", "code": None}}),
        (405, {"detail": "Method Not Allowed"}),
        (404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}),
        (400, {"error": {"message": "m is only supported in v1/chat/completions."}}),
    ],
)
async def test_where_there_is_no_responses_api_auto_falls_back_to_chat_and_says_so(
    chat_server, make_caller, monkeypatch, status, body
):
    raw = body if isinstance(body, str) else json.dumps(body)
    chat_server.play(
        lambda asked: Answer(status=status, raw=raw) if "responses" in asked else say("Mann")
    )
    monkeypatch.setattr("branchwise.agents.endpoints.is_openai", lambda _: True)
    journal = MemoryJournal()
    reply = await ask(make_caller(), journal)
    assert (reply.text, reply.left_out) == ("Mann", ("responses_api",))
    assert chat_server.paths == ["/v1/responses", "/v1/chat/completions"]
    assert [event["field"] for _, event in journal.events] == ["responses_api"]


@pytest.mark.parametrize("code", ["model_not_found", None])
async def test_a_model_that_is_not_there_is_not_looked_for_by_the_other_protocol(
    chat_server, make_caller, monkeypatch, code
):
    monkeypatch.setattr("branchwise.agents.endpoints.is_openai", lambda _: True)
    chat_server.play(lambda _: fail(404, "The model `m` does not exist", code=code))
    assert (await error_of(make_caller())).kind == "not_found"
    assert chat_server.paths == ["/v1/responses"]


async def test_a_server_that_refuses_both_is_asked_by_each_once(chat_server, make_caller):
    chat_server.play(
        lambda body: fail(400, "Use v1/chat/completions" if "responses" in body else TO_RESPONSES)
    )
    await error_of(make_caller())
    assert chat_server.paths == ["/v1/chat/completions", "/v1/responses"]


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("", "responses"),
        ("@https://api.openai.com/v1", "responses"),
        ("@https://eu.api.openai.com/v1", "responses"),
        ("@https://openrouter.ai/api/v1", "chat"),
        ("@http://api.openai.com/v1", "chat"),
    ],
)
def test_auto_goes_by_the_address(address, path):
    server = ModelServer(ModelSpec.parse(f"openai:m{address}"), Decoding())
    assert server._api(()) == path
    assert ModelServer(ModelSpec.parse("openai:m"), Decoding(api="chat"))._api(()) == "chat"


@both_ways
async def test_tools_in_the_text_go_by_it_too(chat_server, make_caller, stream):
    block = '```tool\n{"name": "local_retriever", "arguments": {"query": "Heat"}}\n```'
    chat_server.play([say(block), say("Mann")])
    caller = make_caller(api="responses", tool_protocol="text", stream=stream)
    first, second = await two_turns(caller)
    assert (first.message.tool_calls[0]["args"], second.text) == ({"query": "Heat"}, "Mann")
    assert not any("tools" in body for body in chat_server.requests)
