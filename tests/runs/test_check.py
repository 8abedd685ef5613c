"""Runs with a check of the answer, and with a node after it, on a scripted server."""

import json

import pytest

from branchwise import resume, run
from branchwise.base.errors import StoppedWarning
from branchwise.eval.errors.module_work import module_work
from branchwise.report.terminal.lost_answers import why_missing
from branchwise.report.terminal.run_notes import module_lines
from branchwise.runs.forks import Changes, make_fork, run_fork
from branchwise.runs.store import open_run
from branchwise.trace.conversation import read_conversation
from branchwise.ui.steps.words import describe, label
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import blocks
from support.by_role import by_role, counts, role_of, turn_of
from support.chat_server import call, fail, refuse, say, too_long
from support.runs.clarifying import reply as clarifying
from support.runs.clarifying import stage_of, write_questions

MISSING = say("MISSING: Heat (1986 film)\nMISSING: the score")
COMPLETE = say("COMPLETE")


def answer(*texts):
    return say(json.dumps({"reasoning": "r", "answers": {"default": list(texts)}}))


def in_turn(*replies):
    return lambda body: replies[min(turn_of(body), len(replies) - 1)]


def one_by_one(*replies):
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def ask(chat_server, run_some):
    """Run one question; returns its row and events."""

    def play(agent, checker, **changes):
        chat_server.play(by_role(agent=agent, checker=checker))
        made = run_some(1, **{"check": 2, **changes})
        reader = made.open()
        (row,) = reader.items()
        events = [e for e in reader.events(row.item) if e.kind not in ("retry", "remark")]
        reader.close()
        return row, events

    return play


def kinds(events):
    return " ".join(event.kind for event in events)


SEARCH = call("local_retriever", query="Heat")
GOLD = "Question number 0000"


def test_an_agent_that_is_sent_back_searches_on_and_answers_in_whole(ask, chat_server):
    agent = in_turn(SEARCH, answer("x"), SEARCH, answer("x", GOLD))
    row, events = ask(agent, one_by_one(MISSING, COMPLETE))
    assert kinds(events) == "start model tool model answer check model tool model answer check"
    first, second = (event.data for event in events if event.kind == "check")
    assert (first["how"], first["missing"]) == ("missing", ["Heat (1986 film)", "the score"])
    assert (second["how"], second["missing"], second["content"]) == ("complete", [], "")
    assert row.outcome["prediction"]["answers"] == {"default": ["x", GOLD]}
    assert counts(chat_server.requests) == {"agent": 4, "checker": 2}
    assert {r: u["calls"] for r, u in row.outcome["usage"].items()} == {"agent": 4, "checker": 2}
    told = [body for body in chat_server.requests if role_of(body) == "agent"][2]["messages"]
    assert [m["role"] for m in told] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert told[-1]["content"] == first["content"]
    assert "- Heat (1986 film)\n- the score" in first["content"]
    asked = [body for body in chat_server.requests if role_of(body) == "checker"]
    assert all("tools" not in body and len(body["messages"]) == 2 for body in asked)
    assert f'Answer: {{"default":["x","{GOLD}"]}}' in asked[1]["messages"][1]["content"]


def test_a_complete_answer_stands(ask):
    _, events = ask(answer("x"), COMPLETE)
    assert kinds(events) == "start model answer check"


def test_an_agent_is_sent_back_at_most_so_often(ask, chat_server):
    _, events = ask(answer("x"), MISSING, check=3)
    assert kinds(events) == "start model answer" + " check model answer" * 3
    assert counts(chat_server.requests) == {"agent": 4, "checker": 3}


@pytest.mark.parametrize(
    ("checker", "error"),
    [
        (fail(500, "no"), "server: "),
        (refuse(), "the model refused to answer"),
        (too_long(""), "the reply was cut"),
        (say("I cannot say."), "the reply neither lists"),
    ],
    ids=["500", "refusal", "cut", "unreadable"],
)
def test_a_check_that_fails_leaves_the_answer(ask, checker, error):
    row, events = ask(answer("x"), checker)
    assert kinds(events) == "start model answer check"
    assert events[-1].data["how"] == "failed"
    assert events[-1].data["error"].startswith(error)
    assert row.outcome["prediction"]["answers"] == {"default": ["x"]}
    assert (row.status, row.outcome["error"]) == ("done", None)
    assert label(events[-1]).startswith("check failed: ")
    assert "the answer stands" in describe(events[-1])[0]


@pytest.mark.parametrize(
    "budget", [{"turns": 2}, {"calls": 1}, {"tokens": 1}], ids=["turns", "calls", "tokens"]
)
def test_an_answer_is_not_checked_once_the_budget_is_spent(ask, chat_server, budget):
    _, events = ask(in_turn(SEARCH, answer("x")), MISSING, budget=budget)
    assert kinds(events).startswith("start model tool budget model answer")
    assert "checker" not in counts(chat_server.requests)


def test_the_last_turns_are_for_the_answer_of_who_was_sent_back(ask):
    _, events = ask(in_turn(answer("x"), SEARCH, answer("y")), MISSING, budget={"turns": 3})
    assert kinds(events) == "start model answer check model tool budget model answer"


def test_an_unreadable_answer_is_not_checked(ask, chat_server):
    row, events = ask(say("no"), MISSING)
    assert kinds(events) == "start model repair model answer"
    assert row.outcome["how"] == "failed"


def test_the_answer_before_one_that_cannot_be_read_stands(ask):
    row, events = ask(in_turn(answer(GOLD), say(f"It is {GOLD} alone.")), MISSING)
    assert kinds(events) == "start model answer check model repair model answer"
    last = events[-1].body
    assert (last.kept, last.how, last.raw) == (True, "strict", f"It is {GOLD} alone.")
    assert last.prediction.branches == {"default": [GOLD]}
    assert row.outcome["how"] == "strict"
    assert row.outcome["prediction"]["answers"] == {"default": [GOLD]}
    assert label(events[-1]).startswith("answer: the one before stands: ")
    assert describe(events[-1])[0].split()[:5] == ["answer", "the", "one", "before", "stands:"]


def test_without_tools_the_agent_answers_again(ask, chat_server):
    _, events = ask(in_turn(answer("x"), answer("y")), one_by_one(MISSING, COMPLETE), tools=())
    assert kinds(events) == "start model answer check model answer check"
    assert "(nothing)" in chat_server.requests[1]["messages"][1]["content"]


def read_run(path):
    reader = open_run(path)
    (row,) = reader.items()
    events = list(reader.events(row.item))
    reader.close()
    return row, events


SENT_BACK = in_turn(SEARCH, answer("x"), SEARCH, answer("x", GOLD))


def plain(events):
    around = {"seconds", "replayed"}
    return [(e.kind, {k: v for k, v in e.data.items() if k not in around}) for e in events]


@pytest.mark.slow
def test_a_fork_at_every_step_goes_on_as_the_run_did(ask, chat_server, tmp_path):
    def checker(body):
        answered = body["messages"][1]["content"].split("Answer: ")[1]
        return COMPLETE if GOLD in answered else MISSING

    row, events = ask(SENT_BACK, checker)
    for event in events:
        fork = make_fork(tmp_path / "run", "q0", event.seq, out=tmp_path / f"fork-{event.seq}")
        run_fork(fork)
        forked, trace = read_run(fork)
        assert plain(trace) == plain(events), event.seq
        assert forked.outcome["prediction"] == row.outcome["prediction"]
        calls = {role: usage["calls"] for role, usage in forked.outcome["usage"].items()}
        assert calls == {"agent": 4, "checker": 2}, event.seq


@pytest.mark.slow
def test_an_edited_check_sends_the_agent_back_with_other_words(ask, chat_server, tmp_path):
    _, events = ask(in_turn(answer("x"), answer("y")), COMPLETE)
    changes = Changes(edit="Look for y.")
    made = make_fork(tmp_path / "run", "q0", events[-1].seq, changes, out=tmp_path / "fork")
    run_fork(made)
    row, trace = read_run(made)
    assert kinds(trace) == "start model answer check model answer check"
    assert label(trace[3]).startswith("edited check: sent back")
    assert chat_server.requests[-2]["messages"][-1]["content"] == "Look for y."
    assert row.outcome["prediction"]["answers"] == {"default": ["y"]}


@pytest.mark.slow
def test_what_a_later_answer_dropped_is_told(ask, tmp_path):
    search = call("local_retriever", query=GOLD)
    _, events = ask(in_turn(search, answer(GOLD), answer("x")), one_by_one(MISSING, COMPLETE))
    with RunView.open(tmp_path / "run") as view:
        trace = view.trace(view.find("q0"))
        (lost,) = trace.errors.missing
        assert (lost.label, lost.lost_at, lost.lost_step) == ("incorrect_reasoning", "dropped", 4)
        assert why_missing(lost).startswith("given, and dropped by a later answer")
        assert all(blocks(trace, event.seq) for event in events)


def test_reports_count_what_checks_did(ask):
    _, events = ask(in_turn(answer("x"), answer("y")), one_by_one(MISSING, fail(400, "no")))
    work = module_work(read_conversation(events).modules)
    assert work.to_json()["check"] == {
        "answers": 2, "sent_back": 1, "missing": 2, "failed": 1,
        "failures": {"bad_request": 1}, "dropped": {},
    }  # fmt: skip
    line = "check: 2 answers, 1 sent back (2.0 things each), 1 failed (bad request 1)"
    assert module_lines(work) == [(line, "")]


@pytest.mark.slow
def test_what_was_checked_is_not_asked_again(chat_server, ask, tmp_path):
    """The run stops where its second check is refused a key; the first is read back."""
    with pytest.warns(StoppedWarning, match="bad key"):
        ask(SENT_BACK, one_by_one(MISSING, fail(401, "bad key"), COMPLETE))
    assert counts(chat_server.requests) == {"agent": 4, "checker": 2}
    resume(tmp_path / "run")
    assert counts(chat_server.requests) == {"agent": 4, "checker": 3}
    row, _ = read_run(tmp_path / "run")
    assert row.outcome["prediction"]["answers"] == {"default": ["x", GOLD]}


@pytest.mark.slow
def test_of_the_stages_of_a_question_back_those_that_answer_are_checked(
    chat_server, make_system, tmp_path
):
    reviewed = say("COMPLETE")
    chat_server.play(lambda body: reviewed if role_of(body) == "checker" else clarifying(body))
    system = make_system().model_copy(update={"check": 1})
    made = run(write_questions(tmp_path), system, out=tmp_path / "run", task="clarify")
    assert made.state.failed == 0
    stages = [stage_of(b) for b in chat_server.requests if role_of(b) == "agent"]
    answered = sum(stage in ("answers", "option") for stage in stages)
    assert {"detection", "question", "option"} <= set(stages)
    assert counts(chat_server.requests)["checker"] == answered > 0
