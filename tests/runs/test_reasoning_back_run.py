"""Runs whose requests hold the reasoning of earlier turns: whole, forked, replayed and resumed."""

import json
from collections import Counter

import pytest

from branchwise import resume, run
from branchwise.runs.forks import make_fork, run_fork
from support.by_role import turn_of, user_of
from support.chat_server import Answer, fail, say

DEMAND = "The `reasoning_content` in the thinking mode must be passed back to the API."


def answer(body, **reasoning):
    """Searches twice, thinking something else each time, then answers."""
    turn = turn_of(body)
    if turn < 2 and body.get("tools"):
        query = json.dumps({"query": f"Heat {turn}"})
        return Answer(tool_calls=(("local_retriever", query),), **reasoning)
    return say(json.dumps({"answers": {"default": [user_of(body)[:20]]}}), **reasoning)


def details(body):
    text = f"thought {turn_of(body)}"
    block = {"type": "reasoning.text", "text": text, "signature": f"s{turn_of(body)}", "index": 0}
    return answer(body, reasoning=text, reasoning_details=(block,))


def plain(body):
    return answer(body, reasoning=f"thought {turn_of(body)}")


def demanding(body):
    """As DeepSeek in its thinking mode."""
    called = [m for m in body["messages"] if m.get("tool_calls")]
    wanted = [f"thought {n}" for n in range(len(called))]
    if [m.get("reasoning_content") for m in called] != wanted:
        return fail(400, DEMAND)
    return answer(body, reasoning_content=f"thought {turn_of(body)}")


def sent_back(body):
    names = ("reasoning", "reasoning_content", "reasoning_details")
    return [
        {name: message[name] for name in names if name in message}
        for message in body["messages"]
        if message["role"] == "assistant"
    ]


@pytest.fixture
def made(chat_server, make_system, question_file, tmp_path):
    def make(script, **decoding):
        chat_server.play(script)
        system = make_system(**decoding)
        return run(str(question_file(1)), system, out=tmp_path / "R"), system

    return make


def test_a_server_that_demands_it_needs_no_setting(made, chat_server, type_in):
    found, _ = made(demanding)
    assert found.state.done == 1
    # Refused once; the identity is that of a run without it.
    assert [len(sent_back(body)) for body in chat_server.requests] == [0, 1, 1, 2]
    assert found.open().meta["identity"]["model"]["reasoning_back"] == "auto"
    printed = type_in("trace", found.path, "--print", "--question", "q0")[1]
    assert "must be passed back to the API" in printed


@pytest.mark.slow
@pytest.mark.parametrize("script", [plain, details])
@pytest.mark.parametrize("stream", [False, True])
def test_forks_of_every_step_send_what_the_run_sent(made, chat_server, tmp_path, script, stream):
    found, _ = made(script, reasoning_back="on", stream=stream)
    last = sent_back(chat_server.requests[-1])
    name = "reasoning" if script is plain else "reasoning_details"
    assert [set(message) for message in last] == [{name}, {name}]
    assert all("thought" in json.dumps(message) for message in last)
    before = Counter(chat_server.counts)
    reader = found.open()
    (row,) = reader.items()
    steps = [event.seq for event in reader.events(row.item)]
    reader.close()
    for step in steps:
        run_fork(make_fork(found.path, "q0", step, out=tmp_path / f"F{step}"))
    assert set(chat_server.counts) == set(before)


@pytest.mark.slow
def test_a_resumed_item_sends_what_was_recorded(made, chat_server):
    found, _ = made(
        lambda body: fail(401, "no key") if turn_of(body) == 2 else details(body),
        reasoning_back="on",
    )
    assert found.state.stopped or found.state.failed
    before = len(chat_server.requests)
    chat_server.play(details)
    assert resume(found.path, retry_failed=True).state.here == 1
    (body,) = chat_server.requests[before:]
    assert [m["reasoning_details"][0]["signature"] for m in sent_back(body)] == ["s0", "s1"]
