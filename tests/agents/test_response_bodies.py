"""Response bodies are read without trust."""

import contextlib
import math
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.failures import error_line
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.reply import Completion, ModelError, ReplyToken
from branchwise.agents.reply_stream import MAX_TOKENS, StreamFold
from branchwise.agents.response_bodies import MAX_TEXT, read_body, split_thinking
from branchwise.agents.restraints import retry_wait
from branchwise.base.backoff import retry_after
from branchwise.eval.judging.consultant import MemoryJudgements
from support.agents.asking import ask, both_ways
from support.chat_server import Answer, fail, say

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


CALL = some(id=JSON, index=JSON, function=JSON | some(name=JSON, arguments=JSON))
MESSAGE = some(content=JSON, tool_calls=JSON | st.lists(CALL), refusal=JSON, reasoning=JSON)
LOGPROB = some(token=JSON, logprob=JSON | st.floats() | st.just(-0.5))
TOKEN = st.fixed_dictionaries({"token": JSON, "top_logprobs": st.lists(LOGPROB)})
LOGPROBS = st.fixed_dictionaries({"content": st.lists(JSON | TOKEN)})
CHOICE = st.fixed_dictionaries(
    {"message": MESSAGE, "delta": MESSAGE},
    optional={"finish_reason": JSON, "logprobs": JSON | LOGPROBS},
)
BODY = st.fixed_dictionaries({"choices": st.lists(CHOICE, max_size=2)}, optional={"usage": JSON})


def body(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


@pytest.mark.slow
@given(JSON | BODY)
def test_any_body_is_a_completion_or_a_model_error(data):
    try:
        read = read_body(data)
    except ModelError:
        return
    ids = [call["id"] for call in (*read.tool_calls, *read.invalid_tool_calls)]
    assert len(set(ids)) == len(ids)
    assert Completion.from_payload(orjson.loads(orjson.dumps(read.payload(1.0)))) == read


@pytest.mark.slow
@given(st.lists(JSON | BODY))
def test_any_stream_folds_into_a_completion_or_a_model_error(chunks):
    fold = StreamFold()
    for chunk in chunks:
        fold.add(chunk)
    with contextlib.suppress(ModelError):
        read_body(fold.body())


def test_streamed_calls_that_share_an_index_are_told_apart_by_their_ids():
    fold = StreamFold()
    parts = (("a", "f", "{"), ("", "", "}"), ("b", "g", '{"x"'), ("b", "", ": 1}"))
    for id, name, arguments in parts:
        call = {"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}
        fold.add({"choices": [{"delta": {"tool_calls": [call]}}]})
    fold.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    calls = read_body(fold.body()).tool_calls
    found = [(c["id"], c["name"], c["args"]) for c in calls]
    assert found == [("a", "f", {}), ("b", "g", {"x": 1})]


def test_content_in_parts_is_joined():
    texts = [{"type": "text", "text": text} for text in ("Michael ", "Mann")]
    assert read_body(body(content=[*texts, {"type": "image"}])).text == "Michael Mann"


def test_an_endless_text_is_cut_and_says_so():
    read = read_body(body(content="x" * (MAX_TEXT + 1)))
    assert (len(read.text), read.finish) == (MAX_TEXT, "length")


def test_calls_get_ids_where_the_server_gives_none_or_one_twice():
    function = {"name": "t", "arguments": "{}"}
    given_ids = [{"function": function}, *[{"id": "a", "function": function}] * 2]
    read = read_body(body(content=None, tool_calls=given_ids))
    assert [call["id"] for call in read.tool_calls] == ["call_0", "a", "a_2"]
    assert read.finish == "tool_calls"


@pytest.mark.parametrize("arguments", [10**30, {"k": 10**30}, {"k": "\ud800"}, [1], False])
def test_arguments_that_come_as_objects_can_always_be_recorded(arguments):
    call = {"function": {"name": "t", "arguments": arguments}}
    read = read_body(body(content=None, tool_calls=[call]))
    assert len(read.tool_calls) + len(read.invalid_tool_calls) == 1
    assert orjson.dumps(read.payload(0.0))


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("plain", "plain", ""),
        ("  plain ", "  plain ", ""),
        ("<think>a</think> b", "b", "a"),
        ("x <think>a</think> y <think>b</think> z", "x  y  z", "a\nb"),
        ("a</think>b", "b", "a"),
        ("a</think>b<think>c</think>d", "bd", "a\nc"),
        ("b <think>a", "b", "a"),
        ("<think></think>b", "b", ""),
    ],
)
def test_thinking_is_split_off(text, said, thought):
    assert split_thinking(text) == (said, thought)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read_in_both_forms(headers, seconds):
    now = datetime(2015, 10, 21, 7, 27, 0, tzinfo=UTC)
    assert retry_after(headers, lambda: now) == seconds


@given(st.integers(1, 10_000))
def test_backoff_doubles_up_to_a_minute(attempt):
    longest = min(60.0, 2.0 ** min(attempt - 1, 10))
    assert longest / 2 <= retry_wait(attempt, None) <= longest


@given(st.integers(1, 50), st.floats(0, 1e6))
def test_the_server_is_never_asked_earlier_than_it_wants(attempt, asked):
    assert asked <= retry_wait(attempt, asked) <= asked + 1


@given(st.text())
def test_messages_are_one_short_printable_line(text):
    line = error_line(text)
    assert line == "" or line.isprintable()
    assert len(line) <= 300


SEVEN = say("7", tokens=(("7", {"7": -0.5, "8": -1.0, "six": -3.0}),))


@both_ways
async def test_the_likeliest_tokens_come_with_the_reply_and_are_recorded(
    chat_server, make_caller, stream
):
    chat_server.play([SEVEN])
    caller, kept = make_caller(top_logprobs=2, stream=stream), MemoryJudgements()
    first = await ask(caller, kept)
    assert first.tokens == (ReplyToken("7", (("7", -0.5), ("8", -1.0))),)
    again = await ask(caller, kept)
    assert (again.replayed, again.tokens) == (True, first.tokens)
    (sent,) = chat_server.requests
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 2)


@pytest.mark.parametrize("refused", ["logprobs", "top_logprobs"])
async def test_a_server_without_them_answers_all_the_same(chat_server, make_caller, refused):
    def script(body: dict[str, object]) -> Answer:
        return fail(400, f"{refused} is not supported") if refused in body else say("7")

    chat_server.play(script)
    caller = make_caller(top_logprobs=5)
    reply = await ask(caller, MemoryJournal())
    assert (reply.message.text, reply.tokens, reply.left_out) == ("7", (), ("logprobs",))
    assert not {"logprobs", "top_logprobs"} & chat_server.requests[-1].keys()


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.1, "-1", None, True])
def test_what_is_no_log_probability_is_left_out(value):
    top = [{"token": "8", "logprob": value}, {"token": "7", "logprob": 0}]
    content = [{"token": "7", "top_logprobs": top}]
    choice = {"message": {"content": "7"}, "logprobs": {"content": content}}
    assert read_body({"choices": [choice]}).tokens == (ReplyToken("7", (("7", 0.0),)),)


def test_of_a_long_reply_the_last_tokens_are_kept():
    content = [{"token": str(n), "top_logprobs": []} for n in range(MAX_TOKENS + 5)]
    choice = {"message": {"content": "…"}, "logprobs": {"content": content}}
    read = read_body({"choices": [choice]}).tokens
    assert [one.text for one in read] == [str(n) for n in range(5, MAX_TOKENS + 5)]
