"""The model caller against a real local server, through the real client: replies and failures."""

import itertools
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatResult

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import ConversationDigest, MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import ModelError
from branchwise.agents.spec import ModelSpec
from branchwise.trace.parts import Usage
from support.agents.asking import (
    KEY,
    QUESTION,
    RecordingJournal,
    ask,
    both_protocols,
    both_ways,
    error_of,
    local_retriever,
)
from support.chat_server import (
    Answer,
    call,
    calls,
    context_length,
    cut,
    fail,
    hang,
    invalid_json,
    refuse,
    say,
    too_long,
)


@pytest.mark.slow
@both_protocols
@both_ways
async def test_a_reply_carries_text_usage_and_finish(chat_server, make_caller, stream, api):
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 16, "cache_write_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    chat_server.play([say("Michael Mann, in 1995.", usage=usage)])
    reply = await ask(make_caller(stream=stream, api=api))
    assert reply.message.content == "Michael Mann, in 1995."
    assert reply.usage == Usage(input=20, output=7, cached=16, reasoning=5, written=2)
    assert reply.usage.total == 27
    assert (reply.finish, reply.replayed, reply.reasoning) == ("stop", False, "")
    assert reply.seconds > 0


async def test_decoding_and_tools_reach_the_server(chat_server, make_caller):
    chat_server.play([say("done")])
    await ask(make_caller(temperature=0.5, max_tokens=99, seed=7), tools=[local_retriever])
    (body,) = chat_server.requests
    assert (body["model"], body["temperature"], body["seed"]) == ("scripted", 0.5, 7)
    assert body["max_tokens"] == 99
    assert body["tools"][0]["function"]["name"] == "local_retriever"
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert "Authorization" not in chat_server.headers[0]


@both_protocols
@both_ways
@pytest.mark.parametrize(
    ("answer", "finish", "text"),
    [
        (too_long('{"reasoning": "and'), "length", '{"reasoning": "and'),
        (refuse("I will not."), "refusal", "I will not."),
        (say("Ma", finish="content_filter"), "content_filter", "Ma"),
        (say("x", finish="eos"), "stop", "x"),
    ],
)
async def test_unusual_ends_are_replies_not_errors(
    chat_server, make_caller, stream, api, answer, finish, text
):
    chat_server.play([answer])
    reply = await ask(make_caller(stream=stream, api=api))
    assert (reply.finish, reply.message.content) == (finish, text)


@both_ways
async def test_tool_calls_come_through_even_of_unknown_tools(chat_server, make_caller, stream):
    chat_server.play([calls(("local_retriever", {"query": "Heat", "k": 5}), ("teleport", {}))])
    reply = await ask(make_caller(stream=stream), tools=[local_retriever])
    assert reply.finish == "tool_calls"
    assert [(c["name"], c["args"], c["id"]) for c in reply.message.tool_calls] == [
        ("local_retriever", {"query": "Heat", "k": 5}, "c0"),
        ("teleport", {}, "c1"),
    ]


@both_ways
@pytest.mark.parametrize("arguments", ['{"query": "He', '["Heat"]', '"Heat"', "7"])
async def test_arguments_that_are_no_json_object_are_invalid_calls(
    chat_server, make_caller, stream, arguments
):
    chat_server.play([calls(("local_retriever", arguments), ("local_retriever", {"query": "x"}))])
    reply = await ask(make_caller(stream=stream), tools=[local_retriever])
    assert [c["args"] for c in reply.message.tool_calls] == [{"query": "x"}]
    (invalid,) = reply.message.invalid_tool_calls
    assert (invalid["name"], invalid["args"], invalid["id"]) == ("local_retriever", arguments, "c0")
    assert "JSON" in str(invalid["error"])


@both_ways
@pytest.mark.parametrize(
    "answer",
    [
        say('{"answers": {}}', reasoning_content="Two films."),
        say('{"answers": {}}', reasoning="Two films."),
        say('<think>Two films.</think>\n{"answers": {}}'),
        say('Two films.</think>{"answers": {}}'),
    ],
)
async def test_thinking_is_kept_apart_from_the_text(chat_server, make_caller, stream, answer):
    chat_server.play([answer])
    reply = await ask(make_caller(stream=stream))
    assert (reply.reasoning, reply.message.content) == ("Two films.", '{"answers": {}}')


@pytest.mark.parametrize("structured", ["auto", "off"])
async def test_no_schema_is_sent_where_it_is_off(chat_server, make_caller, structured):
    chat_server.play([say("x")])
    await ask(make_caller(structured=structured), schema={"type": "object"})
    named = {"name": "answer", "schema": {"type": "object"}, "strict": False}
    asked = {"type": "json_schema", "json_schema": named} if structured == "auto" else None
    assert chat_server.requests[0].get("response_format") == asked


async def test_recorded_replies_are_not_asked_for_again(chat_server, make_caller):
    chat_server.play([call("local_retriever", query="Heat"), say("second")])
    first = RecordingJournal()
    asked = [await ask(make_caller(), first, tools=[local_retriever]) for _ in range(2)]
    kept = {key: orjson.loads(orjson.dumps(value)) for key, value in first.kept.items()}
    replayed = RecordingJournal(kept)
    again = [await ask(make_caller(), replayed, tools=[local_retriever]) for _ in range(2)]
    assert len(chat_server.requests) == 2
    assert [r.replayed for r in asked + again] == [False, False, True, True]
    for before, after in zip(asked, again, strict=True):
        assert (after.message, replace(after, replayed=False)) == (before.message, before)


async def test_a_reply_is_recorded_before_it_is_returned(chat_server, make_caller):
    class Refusing(MemoryJournal):
        async def keep(self, slot: object, value: object) -> None:
            raise OSError("disk full")

    chat_server.play([say("lost")])
    with pytest.raises(OSError, match="disk full"):
        await ask(make_caller(), Refusing())


def digest_of(caller: ModelCaller, messages: Sequence[Any] = QUESTION, **more: Any) -> str:
    tools = caller._tool_set(more.get("tools", ()))
    return caller._digest(ConversationDigest(), messages, tools, more.get("schema"))


def test_digests_cover_what_an_answer_depends_on_and_nothing_else(make_caller):
    plain = digest_of(make_caller())
    same = [
        digest_of(make_caller()),
        digest_of(make_caller(stream=True, timeout=3, attempts=1)),
        digest_of(
            make_caller(), [SystemMessage("Answer."), HumanMessage("Who directed Heat?", id="9")]
        ),
    ]
    others = [
        digest_of(make_caller(temperature=1)),
        digest_of(make_caller(seed=1)),
        digest_of(make_caller(tool_protocol="text")),
        digest_of(make_caller(), [*QUESTION, AIMessage("Mann")]),
        digest_of(make_caller(), [HumanMessage("Answer."), HumanMessage("Who directed Heat?")]),
        digest_of(make_caller(), tools=[local_retriever]),
        digest_of(make_caller(), schema={"type": "object"}),
    ]
    assert set(same) == {plain}
    assert len({plain, *others}) == 1 + len(others)


@both_ways
async def test_half_characters_become_whole_ones(chat_server, make_caller, stream):
    chat_server.play([say("broken \ud83d off \U0001f600")])
    journal = RecordingJournal()
    reply = await ask(make_caller(stream=stream), journal)
    assert reply.message.content == "broken \ufffd off \U0001f600"
    assert orjson.dumps(list(journal.kept.values()))


class Failing(BaseChatModel):
    """An in-process model with a fault of its own."""

    @property
    def _llm_type(self) -> str:
        return "failing"

    def _generate(self, *args: Any, **more: Any) -> ChatResult:
        raise RuntimeError(f"out of memory with {KEY}\nand more")


async def test_a_fault_of_an_in_process_model_is_a_model_error(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    spec = ModelSpec.parse("offline")
    caller = ModelCaller(spec, Decoding(), Prompts.load(), model=Failing())
    error = await error_of(caller)
    assert error.kind == "server"
    assert "out of memory with *** and more" in str(error)


@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_the_key_never_leaks(chat_server, make_caller, status):
    echo = f"Incorrect API key provided: {KEY}. Bearer {KEY}; also sk-other-secret-key\n\x1b[31m"
    chat_server.play(lambda body: fail(status, echo))
    caller, journal = make_caller(attempts=2), RecordingJournal()
    with pytest.raises(ModelError) as raised:
        await ask(caller, journal)
    shown = [
        *traceback.format_exception(raised.value),
        repr(raised.value),
        repr(caller),
        repr(vars(caller)),
        repr(caller._endpoint._connected("chat")),  # type: ignore[attr-defined]
        repr(caller.identity),
        repr(journal.events),
        repr(journal.kept),
    ]
    assert not [text for text in shown if KEY in text or "sk-other" in text]
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) <= 300


@both_ways
async def test_429_is_retried_after_the_seconds_that_the_server_asks_for(
    chat_server, make_caller, waits, stream
):
    chat_server.play([fail(429, "slow down", retry_after="90"), say("now")])
    journal = MemoryJournal()
    reply = await ask(make_caller(stream=stream), journal)
    assert reply.message.content == "now"
    assert 90 <= waits.seconds[0] <= 91
    ((kind, event),) = journal.events
    assert kind == "retry"
    assert (event["role"], event["attempt"], event["kind"]) == ("agent", 1, "rate_limit")
    assert event["wait"] == pytest.approx(waits.seconds[0], abs=1e-3)


async def test_a_wait_that_does_not_fit_the_time_left_is_not_begun(chat_server, make_caller, waits):
    chat_server.play([fail(429, "slow down", retry_after="90"), say("never asked")])
    error = await error_of(make_caller(), time_left=80.0)
    assert error.kind == "rate_limit"
    assert waits.seconds == []
    assert len(chat_server.requests) == 1


@both_ways
@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (fail(500), "server"),
        (fail(408), "server"),
        (fail(409), "server"),
        (fail(503), "server"),
        (fail(429), "rate_limit"),
        (cut("before"), "connection"),
        (cut("middle"), "cut"),
        (invalid_json(), "invalid_response"),
        (Answer(raw='{"choices": []}'), "invalid_response"),
        (Answer(raw='{"choices": null}'), "invalid_response"),
        (Answer(raw="[]"), "invalid_response"),
    ],
)
async def test_passing_failures_are_retried(chat_server, make_caller, waits, stream, failure, kind):
    chat_server.play([failure, failure, say("at last")])
    journal = MemoryJournal()
    reply = await ask(make_caller(stream=stream), journal)
    assert reply.message.content == "at last"
    assert [event["kind"] for _, event in journal.events] == [kind, kind]
    assert 0.5 <= waits.seconds[0] <= 1
    assert 1 <= waits.seconds[1] <= 2


async def test_a_stream_that_ends_without_a_finish_reason_is_cut(chat_server, make_caller):
    chat_server.play([cut("quiet")])
    assert (await error_of(make_caller(stream=True, attempts=1))).kind == "cut"


@pytest.mark.slow
@both_ways
async def test_a_hanging_server_is_a_timeout_and_asked_again(chat_server, make_caller, stream):
    awake = itertools.chain([hang()], itertools.repeat(say("awake")))
    chat_server.play(awake)
    journal = MemoryJournal()
    reply = await ask(make_caller(stream=stream, timeout=1), journal)
    assert reply.message.content == "awake"
    assert {event["kind"] for _, event in journal.events} == {"timeout"}


async def test_time_left_bounds_a_request(chat_server, make_caller):
    chat_server.play([hang(), say("never asked")])
    error = await error_of(make_caller(timeout=60), time_left=0.1)
    assert error.kind == "timeout"
    assert len(chat_server.requests) <= 1


async def test_nothing_is_sent_when_no_time_is_left(chat_server, make_caller):
    assert (await error_of(make_caller(), time_left=0.0)).kind == "timeout"
    assert chat_server.requests == []


async def test_nobody_at_the_address_is_a_connection_error(waits):
    spec = ModelSpec.parse("openai:m@http://127.0.0.1:9/v1")
    nobody = ModelCaller(spec, Decoding(attempts=2), Prompts.load(), sleep=waits)
    assert (await error_of(nobody)).kind == "connection"
    assert len(waits.seconds) == 1


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (fail(400, "no such parameter"), "bad_request"),
        (fail(404, "no such model"), "not_found"),
        (fail(400, "/chat/completions: Invalid model name passed in model=m."), "not_found"),
        (fail(400, "Server is pinned to 'a'; requested 'm'."), "not_found"),
        (fail(422, "wrong", code="model_not_found"), "not_found"),
        (fail(401, "wrong key"), "auth"),
        (fail(403, "not yours"), "auth"),
        (context_length(), "context_length"),
        (fail(400, "the request exceeds the available context size"), "context_length"),
        (fail(429, "no money left", code="insufficient_quota"), "credit"),
    ],
)
async def test_lasting_failures_are_not_retried(chat_server, make_caller, failure, kind):
    chat_server.play([failure])
    assert (await error_of(make_caller())).kind == kind
    assert len(chat_server.requests) == 1


async def test_the_last_error_is_raised_when_attempts_run_out(chat_server, make_caller, waits):
    chat_server.play([fail(500, "first"), fail(500, "second"), fail(502, "third")])
    error = await error_of(make_caller(attempts=3))
    assert "502 third" in str(error)
    assert len(waits.seconds) == 2
