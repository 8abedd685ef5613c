"""What fails on the way to a reply, and whether it is asked for again."""

import itertools

import pytest

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from support.agents.asking import ask, both_ways, error_of
from support.chat_server import (
    Answer,
    context_length,
    cut,
    fail,
    hang,
    invalid_json,
    say,
)


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
