"""Whatever a server does, each question ends as a scored item or a recorded error."""

import itertools
import json

import pytest

from branchwise import run, score
from branchwise.base.errors import StoppedWarning
from support.chat_server import (
    call,
    context_length,
    cut,
    fail,
    hang,
    invalid_json,
    refuse,
    say,
    too_long,
)

GOOD = json.dumps({"reasoning": "r", "answers": {"default": ["Question number 0000"]}})
SEARCH = call("local_retriever", query="Heat")


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def run_one(request, chat_server, make_system, question_file, tmp_path):
    """Run one question against a script; return its only item, its events and the scores."""

    def play(script, budget=None, **decoding):
        chat_server.play(script)
        system = make_system(budget, **{"stream": request.param, **decoding})
        made = run(str(question_file(1)), system, out=tmp_path / "run")
        reader = made.open()
        (row,) = reader.items()
        events = list(reader.events(row.item))
        scores = score(made)
        reader.close()
        assert row.outcome is not None
        assert scores.counts.items == 1
        return row, events, scores

    return play


def kinds(events):
    return [event.kind for event in events]


RECOVERS = {
    "429 with Retry-After": fail(429, "slow down", retry_after="0"),
    "500": fail(500, "internal error"),
    "503": fail(503, "overloaded"),
    "cut before": cut("before"),
    "cut in the middle": cut("middle"),
    "invalid JSON": invalid_json(),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", RECOVERS.values(), ids=RECOVERS)
def test_a_passing_fault_is_retried_and_recorded(run_one, fault):
    row, events, scores = run_one([fault, SEARCH, fault, say(GOOD)])
    assert row.status == "done"
    assert kinds(events) == ["start", "retry", "model", "tool", "retry", "model", "answer"]
    assert scores.aggregates["all"]["strict_em"].mean == 1.0


@pytest.mark.slow
def test_a_hang_is_cut_off_at_the_time_limit_and_retried(run_one):
    row, events, _ = run_one(itertools.chain([hang()], itertools.repeat(say(GOOD))), timeout=1)
    assert row.status == "done"
    assert {e.data["kind"] for e in events if e.kind == "retry"} == {"timeout"}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(fail(500), "server"), (cut("middle"), "cut"), (invalid_json(), "invalid_response")],
    ids=["500", "cut", "invalid JSON"],
)
def test_a_lasting_fault_is_a_recorded_error_that_scores_zero(run_one, fault, kind):
    row, events, scores = run_one(lambda body: fault)
    assert row.status == "failed"
    assert row.outcome["error"].startswith(f"{kind}: ")
    assert kinds(events) == ["start", "retry", "retry", "error"]
    assert scores.counts.failed == 1
    assert scores.aggregates["all"]["strict_recall"].mean == 0.0


def test_a_context_that_is_too_long_loses_its_oldest_results_once_a_turn(run_one, chat_server):
    script = [SEARCH, call("local_retriever", query="Kong"), context_length(), say(GOOD)]
    row, events, _ = run_one(script)
    assert row.status == "done"
    (trimmed,) = [e.data for e in events if e.kind == "context_trimmed"]
    assert trimmed == {"omitted": 1, "newly": 1}
    results = [m["content"] for m in chat_server.requests[-1]["messages"] if m["role"] == "tool"]
    assert results[0].startswith("[left out")
    assert "King Kong" in results[1]


@pytest.mark.slow
def test_a_context_that_stays_too_long_is_a_recorded_error(run_one, chat_server):
    row, _, _ = run_one([SEARCH, context_length(), context_length(), say(GOOD)])
    assert row.status == "failed"
    assert row.outcome["error"].startswith("context_length: ")
    assert len(chat_server.requests) == 3


@pytest.mark.slow
def test_an_answer_cut_at_the_token_limit_before_its_entities_is_repaired(run_one):
    row, events, scores = run_one([too_long('{"reasoning": "and so'), say(GOOD)])
    assert row.outcome["how"] == "repaired"
    assert scores.aggregates["all"]["strict_em"].mean == 1.0
    assert next(e.data["finish"] for e in events if e.kind == "model") == "length"


@pytest.mark.slow
def test_a_refusal_is_a_format_error_and_is_not_argued_with(run_one, chat_server):
    row, _, scores = run_one([SEARCH, refuse("I will not.")])
    assert row.status == "done"
    assert row.outcome["how"] == "failed"
    assert row.outcome["problem"] == "the model refused to answer"
    assert scores.counts.format_errors == 1
    assert len(chat_server.requests) == 2


def test_prose_without_an_answer_gets_one_repair_call(run_one, chat_server):
    row, events, scores = run_one([say("It was Michael Mann."), say(GOOD)])
    assert row.outcome["how"] == "repaired"
    assert kinds(events) == ["start", "model", "repair", "model", "answer"]
    assert scores.aggregates["all"]["strict_em"].mean == 1.0
    assert "It was Michael Mann." in json.dumps(chat_server.requests[-1]["messages"])


def test_what_cannot_be_repaired_is_a_format_error_with_its_text(run_one, chat_server):
    row, events, scores = run_one([say("It was Michael Mann."), say("As I said: Mann.")])
    assert row.status == "done"
    assert row.outcome["how"] == "failed"
    assert events[-1].data["raw"] == "As I said: Mann."
    assert scores.counts.format_errors == 1
    assert len(chat_server.requests) == 2


def test_a_repair_call_that_fails_leaves_a_format_error(run_one):
    row, events, _ = run_one([say("It was Michael Mann."), fail(400, "no")])
    assert row.status == "done"
    assert row.outcome["how"] == "failed"
    assert "repair_failed" in kinds(events)


def test_tools_called_by_a_model_that_was_told_to_answer_are_not_run(run_one):
    row, events, _ = run_one([SEARCH, SEARCH, say(GOOD)], budget={"turns": 2})
    assert kinds(events).count("tool") == 1
    assert row.outcome["how"] == "repaired"


def test_a_refused_key_stops_the_run_and_leaves_its_questions_to_resume(
    chat_server, make_system, question_file, tmp_path
):
    chat_server.play(lambda body: fail(401, "bad key"))
    with pytest.warns(StoppedWarning, match=r"401 bad key .*; nothing is lost") as told:
        made = run(str(question_file(5)), make_system(), out=tmp_path / "run", concurrency=2)
    stopped = [one.filename for one in told if one.category is StoppedWarning]
    assert stopped == [__file__]
    assert made.state.stopped
    assert made.open().progress()["pending"] == 5


def test_a_refusal_by_status_403_fails_its_question_alone_once_others_were_answered(
    chat_server, run_some
):
    def script(body):
        return fail(403, "moderated") if "number 0002" in str(body["messages"]) else say(GOOD)

    chat_server.play(script)
    made = run_some(5, concurrency=1)
    assert made.open().progress() == {"total": 5, "done": 4, "failed": 1, "pending": 0}
