"""Log-probabilities of a reply's tokens: asked for, read, recorded, and given up where refused."""

import math

import pytest

from branchwise.agents.journal import MemoryJournal
from branchwise.agents.reply import ReplyToken
from branchwise.agents.reply_stream import MAX_TOKENS
from branchwise.agents.response_bodies import read_body
from branchwise.eval.judging.consultant import MemoryJudgements
from support.agents.asking import ask, both_ways
from support.chat_server import Answer, fail, say

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


async def test_they_are_not_asked_for_by_default(chat_server, make_caller):
    chat_server.play([SEVEN])
    assert (await ask(make_caller())).tokens == ()
    assert "logprobs" not in chat_server.requests[0]


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
