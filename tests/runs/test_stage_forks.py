"""A fork enters a question's stages at any step, and asks nothing of those that had ended."""

import json
import signal
import threading
from collections import Counter

import pytest

from branchwise import resume, run
from branchwise.base.errors import InputError
from branchwise.runs.forks import Changes, editable, make_fork
from branchwise.ui.trace_app.forking import plan_fork
from branchwise.ui.traces.comparison import compare
from branchwise.ui.traces.plain import item_lines
from branchwise.ui.traces.runs import RunView
from support.by_role import by_role
from support.chat_server import fail, hang, say
from support.runs.clarifying import (
    ANSWERED,
    option_of,
    reply,
    searching,
    stage_of,
    write_questions,
)
from support.runs.forked import fork_of, goes_on_from_every_step, plain, read, step_of, steps_of

pytestmark = pytest.mark.slow

STAGE = ["stage", "model", "tool", "model", "answer", "stage_end"]


def repairs(body):
    """Searches; what it then asks back is in form only once it is repaired."""
    is_last = stage_of(body) == "question" and len(body["messages"]) > 2
    if is_last and "no JSON" not in body["messages"][-1]["content"]:
        return say("Which film?")
    return searching(body)


def of_dialogue(body):
    """Searches, then answers what the user said after the question back."""
    if len(body["messages"]) == 4:
        return searching({**body, "messages": body["messages"][:2]})
    return say(json.dumps({"answers": {"default": [ANSWERED[body["messages"][3]["content"]]]}}))


WITH_MODULES = by_role(
    expander=lambda _: say("Who made Heat of 1995?\nWho made Heat of 1986?"),
    extractor=lambda _: say("NONE"),
    agent=repairs,
)


@pytest.fixture
def parent(chat_server, make_system, tmp_path):
    """Runs a task by a protocol; returns the run's folder."""

    def play(script=searching, protocol="default", task="clarify", **modules):
        chat_server.play(script)
        asking = {"asking": {"protocol": protocol}}
        system = make_system(attempts=1).model_copy(update={**asking, **modules})
        return run(write_questions(tmp_path), system, out=tmp_path / "parent", task=task).path

    return play


@pytest.mark.long
@pytest.mark.parametrize(
    ("protocol", "task", "script", "modules", "is_replayed"),
    [
        ("answers", "clarify", WITH_MODULES, {"expand": True, "extract": True}, False),
        ("dialogue", "clarified", of_dialogue, {}, False),
        ("default", "clarify", repairs, {}, True),
    ],
    ids=["modules", "dialogue", "replayed"],
)
def test_every_step_goes_on_as_the_parent_did(
    protocol, task, script, modules, is_replayed, parent, chat_server, tmp_path
):
    path = parent(script, protocol, task, **modules)
    asked = set(chat_server.counts)
    changes = {"model": f"replay:{path}"} if is_replayed else {}
    goes_on_from_every_step(path, chat_server, tmp_path, **changes)
    assert set(chat_server.counts) == asked, "asked something new"


def test_what_follows_a_changed_reply_follows_from_it(parent, chat_server, tmp_path):
    path = parent()
    events = read(path)[1]
    sent = len(chat_server.requests)
    asked = "Which one: the volcano, or the town?"
    # The third turn: of the two conversations before the options, the last word of the second.
    row, trace = fork_of(
        path,
        "q1",
        step_of(events, "model", 3),
        tmp_path / "asks",
        edit=json.dumps({"clarification_question": asked}),
    )
    assert row.outcome["prediction"]["task_output"] == {
        "ambiguous": True,
        "clarification_question": asked,
        "answers": [["the volcano", ["Sicily"]], ["the town", ["sicily"]]],
    }
    assert {stage_of(body) for body in chat_server.requests[sent:]} == {"option"}
    assert [event.kind for event in trace] == ["start", *STAGE, *STAGE, *STAGE, *STAGE, "answer"]
    sent = len(chat_server.requests)
    answers = json.dumps({"answers": {"default": ["Bay"]}})
    row, _ = fork_of(path, "q1", step_of(events, "model", 5), tmp_path / "says", edit=answers)
    pairs = row.outcome["prediction"]["task_output"]["answers"]
    assert pairs == [["the 1995 film", ["Bay"]], ["the 1986 film", ["Richards"]]]
    # Options are answered at the same time: the second had not ended when the first said that.
    assert [option_of(body) for body in chat_server.requests[sent:]] == ["the 1986 film"] * 2


def test_a_stage_is_asked_with_an_edited_message(parent, chat_server, tmp_path):
    path = parent(protocol="default")
    events = read(path)[1]
    step = step_of(events, "stage", 2)
    assert editable(events[step]) == "Who made Heat, Which film: the 1995 film\n"
    text = "Who made Heat, Which film: the 1933 film\n"
    row, trace = fork_of(path, "q1", step, tmp_path / "fork", edit=text)
    pairs = row.outcome["prediction"]["task_output"]["answers"]
    assert pairs == [["the 1995 film", ["Cooper"]], ["the 1986 film", ["Richards"]]]
    assert trace[step].data["edited"]


def test_what_cannot_be_edited_is_said_in_one_line(parent, tmp_path):
    path = parent()
    for step, said in ((0, "step 0 is not the message of any stage"), (6, "no editable text")):
        with pytest.raises(InputError, match=said) as raised:
            make_fork(path, "q1", step, Changes(edit="x"), out=tmp_path / "new")
        assert "\n" not in str(raised.value)


def fails_at(failing, hanging):
    """The second turn of one option fails, while the first of the other is not answered."""

    def script(body):
        if stage_of(body) == "option" and option_of(body) == hanging:
            return hang()
        if stage_of(body) == "option" and option_of(body) == failing and len(body["messages"]) > 2:
            return fail(400, "no more of this")
        return searching(body)

    return script


OPTIONS = ("the 1995 film", "the 1986 film")


@pytest.mark.parametrize("failing", [0, 1])
def test_of_options_that_were_cut_off_one_goes_on_and_the_other_is_asked_again(
    failing, chat_server, make_system, tmp_path
):
    chat_server.play(fails_at(OPTIONS[failing], OPTIONS[1 - failing]))
    path = run(
        write_questions(tmp_path), make_system(attempts=1), out=tmp_path / "run", task="clarify"
    ).path
    row, events = read(path)
    assert row.status == "failed"
    assert [event.kind for event in events[-2:]] == ["tool", "error"] or not failing
    chat_server.play(searching)
    sent = len(chat_server.requests)
    step = step_of(events, "tool", 2) if failing else step_of(events, "error")
    forked, trace = fork_of(path, "q1", step, tmp_path / "fork")
    assert forked.outcome["prediction"]["task_output"]["answers"] == [
        ["the 1995 film", ["Michael Mann"]],
        ["the 1986 film", ["Richards"]],
    ]
    assert [event.kind for event in trace] == ["start", *STAGE, *STAGE, *STAGE, *STAGE, "answer"]
    assert Counter(map(option_of, chat_server.requests[sent:])) == {
        OPTIONS[failing]: 1,
        OPTIONS[1 - failing]: 2,
    }
    # The option that had begun goes first, and a fork may be forked.
    again, once_more = fork_of(
        tmp_path / "fork", "q1", step_of(trace, "stage", 3), tmp_path / "again"
    )
    assert steps_of(once_more) == steps_of(trace)
    assert plain(again.outcome) == plain(forked.outcome)
    begun = [event.data["option"] for event in trace if event.kind == "stage" and event.seq > 12]
    assert begun == [OPTIONS[failing], OPTIONS[1 - failing]]


@pytest.mark.long
def test_its_trace_and_its_comparison_are_shown_and_its_steps_are_offered(parent, tmp_path):
    path = parent(reply)
    with RunView.open(path) as view:
        trace = view.trace(0)
        # start, two stages of four steps, and of the first option its stage and turn
        plan = plan_fork(path, trace, 10)
        assert [step.kind for step in plan.again][:3] == ["model", "answer", "stage_end"]
        assert plan.again[0].seq == 10
        fork_of(path, "q1", 10, tmp_path / "fork", edit='{"answers": {"default": ["Bay"]}}')
        with RunView.open(tmp_path / "fork") as forked:
            shown = "\n".join(item_lines(forked, 0, passages=0))
            compared = compare(trace, forked.trace(0))
    assert "the 1995 film: Bay" in shown
    assert "the 1986 film: Richards" in shown
    assert compared.parted == 10


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_a_fork_that_was_killed_among_the_options_is_resumed(parent, chat_server, start, tmp_path):
    path = parent()
    row, events = read(path)
    fork = make_fork(path, "q1", step_of(events, "model", 2))
    arrived, known, processes = [], threading.Event(), []

    def kills_at_the_fifth(body):
        known.wait()
        arrived.append(body)
        if len(arrived) == 5:
            processes[0].kill()
        return searching(body)

    chat_server.play(kills_at_the_fifth)
    processes.append(start("resume", fork))
    known.set()
    assert processes[0].wait() == -signal.SIGKILL
    sent = len(chat_server.requests)
    chat_server.play(searching)
    resume(fork)
    forked, trace = read(fork)
    assert steps_of(trace) == steps_of(events)
    assert plain(forked.outcome) == plain(row.outcome)
    # The two turns before the options were answered and kept.
    assert not [body for body in chat_server.requests[sent:] if body in arrived[:2]]
