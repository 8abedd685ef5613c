"""Replies that were cut are told and asked for again; failures that do not end stop a run."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise.agents import restraints
from branchwise.runs.runner import ENDLESS
from branchwise.runs.store import open_run
from support.chat_server import Answer, Body, ChatServer, call, fail, say

TypeIn = Callable[..., tuple[int, str, str]]
Command = Callable[..., tuple[int, str, str]]
GOOD = json.dumps({"reasoning": "", "answers": {"default": ["Ana"]}})


@pytest.fixture
def command(tmp_path, corpus, question_file, chat_server, type_in, monkeypatch):
    """Runs so many questions, one at a time, into the folder R."""
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)

    def run(count: int, *options: str) -> tuple[int, str, str]:
        named = ("--questions", question_file(count), "--corpus", corpus, "--out", tmp_path / "R")
        model = f"openai:scripted@{chat_server.url}"
        return type_in("run", *named, "--model", model, "--concurrency", 1, *options)

    return run


def counts(run: Path) -> tuple[int, int, int]:
    progress = open_run(run).progress()
    return progress["done"], progress["failed"], progress["pending"]


@pytest.mark.slow
def test_cut_answers_are_told_and_asked_again(command, chat_server, tmp_path, type_in):
    half = Answer('{"answers": {"default": ["An', finish="length")
    chat_server.play([say(GOOD), half, call("local_retriever", query="Heat"), half])
    code, said, errors = command(3)
    assert code == 0
    assert "cut 2" in said
    assert "agent: 2 replies in 2 items cut at the token limit" in said
    assert "2 of 3 items had replies that were cut at the token limit" in errors
    assert "--retry-failed" in errors
    _, listed, _ = type_in("errors", tmp_path / "R")
    assert "cut reply" in listed
    # The search before a cut answer is not asked for again.
    chat_server.play([say(GOOD), say(GOOD)])
    code, said, errors = type_in("resume", tmp_path / "R", "--retry-failed")
    assert (code, len(chat_server.requests)) == (0, 6)
    assert "token limit" not in said + errors
    assert chat_server.requests[-1]["messages"][-1]["role"] == "tool"
    assert type_in("verify", tmp_path / "R")[0] == 0
    code, _, _ = type_in("resume", tmp_path / "R", "--retry-failed")
    assert len(chat_server.requests) == 6


@pytest.mark.slow
def test_requests_that_were_refused_and_sent_again_are_counted_by_reason(
    command: Command, chat_server: ChatServer, tmp_path: Path, type_in: TypeIn
) -> None:
    slow, declined = fail(429, "slow down", retry_after="0"), Answer(refusal="I must not.")
    chat_server.play([slow, say(GOOD), slow, fail(503), say("x", finish="abort"), declined])
    code, said, _ = command(2)
    assert code == 0
    line = "agent: 4 requests sent again for 2 replies: 2 refused for the rate (429), "
    line += "1 failed in the server (5xx), 1 broken off"
    assert line in " ".join(said.split())
    assert "agent: 1 reply in 1 item refused to answer" in said
    # Read back of what is saved, by every output.
    written = tmp_path / "csv"
    assert type_in("report", tmp_path / "R", "--csv", written)[0] == 0
    (row,) = csv.DictReader((written / "systems.csv").open())
    assert row["sent_again"] == "4"
    (summary,) = json.loads(type_in("report", tmp_path / "R", "--json")[1])
    kinds = {"rate_limit": 2, "server": 1, "interrupted": 1}
    assert summary["modules"]["sent_again"] == {"agent": kinds}


@pytest.mark.slow
def test_a_server_that_always_breaks_off_is_told_as_interrupted(
    command: Command, chat_server: ChatServer, tmp_path: Path, type_in: TypeIn
) -> None:
    broken = say('{"answers": {"default": ["An', finish="abort")
    chat_server.play(lambda _: broken)
    code, said, errors = command(1)
    assert (code, counts(tmp_path / "R")) == (1, (0, 1, 0))
    assert "interrupted 1" in said
    assert "the reply was broken off (finish reason 'abort')" in errors
    assert "interrupted" in type_in("errors", tmp_path / "R")[1]
    chat_server.play([say(GOOD)])
    assert type_in("resume", tmp_path / "R", "--retry-failed")[0] == 0


@pytest.mark.slow
def test_question_after_question_that_fails_alike_stops_the_run(
    command: Command, chat_server: ChatServer, tmp_path: Path, type_in: TypeIn
) -> None:
    chat_server.play(lambda _: fail(500, "worker 17 is gone"))
    code, _, errors = command(ENDLESS + 5)
    assert (code, counts(tmp_path / "R")) == (1, (0, ENDLESS, 5))
    assert f"{ENDLESS} questions in a row failed alike" in errors
    assert "resume" in errors
    assert "--retry-failed" in errors
    chat_server.play(lambda _: say(GOOD))
    assert type_in("resume", tmp_path / "R", "--retry-failed")[0] == 0
    assert counts(tmp_path / "R") == (ENDLESS + 5, 0, 0)


@pytest.mark.slow
def test_questions_that_a_server_fails_at_stop_no_run_that_answers_others(
    command: Command, chat_server: ChatServer, tmp_path: Path
) -> None:
    def answer(body: Body) -> Answer:
        question = next(m["content"] for m in body["messages"] if m["role"] == "user")
        number = int(question.split()[2].rstrip(":"))
        return say(GOOD) if number % 5 == 0 else fail(500, "poisoned")

    chat_server.play(answer)
    count = 2 * ENDLESS
    assert command(count)[0] == 1
    assert counts(tmp_path / "R") == (count // 5, count - count // 5, 0)


@pytest.mark.parametrize(
    "refusal",
    [
        fail(402, "Insufficient Balance."),
        fail(403, "Key limit exceeded (daily limit)"),
        fail(429, "slow down", retry_after="86400"),
        fail(429, "Rate limit exceeded: free-models-per-day"),
        fail(400, "Billing hard limit has been reached", code="billing_hard_limit_reached"),
    ],
)
def test_a_spent_credit_stops_the_run_with_the_line_that_continues_it(
    command: Command, chat_server: ChatServer, tmp_path: Path, refusal: Answer
) -> None:
    chat_server.play([say(GOOD), refusal])
    code, _, errors = command(4)
    assert (code, counts(tmp_path / "R")) == (1, (1, 0, 3))
    assert "Stopped: " in errors
    assert ".. Nothing is lost" not in errors
    assert f"branchwise resume {tmp_path / 'R'}" in " ".join(errors.split())
    assert "--retry-failed" not in errors


def test_the_reasons_of_failures_end_with_what_to_do(command, chat_server):
    sentence = (
        "Function tools with reasoning_effort are not supported for gpt-6 in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    )
    chat_server.play(lambda _: fail(400, sentence))
    code, _, errors = command(1, "--api", "chat")
    reason = next(line for line in errors.splitlines() if line.startswith("  1 x bad_request"))
    assert code == 1
    assert reason.endswith("(--api responses asks by the other protocol)")


def test_prompts_that_a_server_cuts_in_silence_are_told(command, chat_server, tmp_path, type_in):
    def search(tokens: int) -> Answer:
        usage = {"prompt_tokens": tokens, "completion_tokens": 9}
        return Answer(tool_calls=(("local_retriever", '{"query": "Heat"}'),), usage=usage)

    long = "Heat " * 900
    search_long = Answer(
        long,
        tool_calls=(("local_retriever", '{"query": "Heat"}'),),
        usage={"prompt_tokens": 4000, "completion_tokens": 9},
    )
    end = Answer(GOOD, usage={"prompt_tokens": 3900, "completion_tokens": 9})
    chat_server.play([search(1000), search_long, end])
    code, said, _ = command(1)
    assert code == 0
    assert "num_ctx" in " ".join(said.split())
    _, trace, _ = type_in("trace", tmp_path / "R", "--print", "--question", "q0")
    assert "num_ctx" in " ".join(trace.split())
