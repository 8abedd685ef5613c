"""A fork goes on as its parent did, from every step of every kind of item, and uses no more."""

import hashlib
import json
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

from branchwise import resume, run
from branchwise.base.errors import InputError
from branchwise.runs.forks import Changes, editable, edited, make_fork, run_fork
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import default_folder
from branchwise.trace.conversation import taken_up_at
from support.by_role import by_role
from support.chat_server import say
from support.runs.fork_scripts import SCRIPT, expands, searches
from support.runs.forked import asked_for, fork_of, plain, read, step_of, steps_of

pytestmark = pytest.mark.slow

COUNT = 9


@pytest.fixture
def parent(chat_server, make_system, question_file, tmp_path):
    """Run the questions with expansion, extraction or both; returns the run's folder."""

    def play(count=COUNT, **changes):
        chat_server.play(SCRIPT)
        system = make_system({"calls": 7}, attempts=1).model_copy(update=changes)
        return run(str(question_file(count)), system, out=tmp_path / "parent", concurrency=1).path

    return play


BOTH = {"expand": True, "extract": True}


@pytest.mark.long
@pytest.mark.parametrize(
    "modules",
    [BOTH, {**BOTH, "extract_by": "passage"}, {"compact": 1000}],
    ids=["both", "extraction by passage", "compaction alone"],
)
def test_every_step_of_every_item_goes_on_as_the_parent_did(modules, parent, chat_server, tmp_path):
    path = parent(**modules)
    kinds = Counter()
    for item in range(1, COUNT + 1):
        row, events = read(path, item)
        for event in events:
            before = Counter(chat_server.counts)
            sent = len(chat_server.requests)
            fork = make_fork(path, row.question.id, event.seq, out=tmp_path / f"{item}-{event.seq}")
            assert len(chat_server.requests) == sent
            run_fork(fork)
            forked, trace = read(fork)
            assert steps_of(trace) == steps_of(events), (row.question.id, event.seq)
            assert plain(forked.outcome) == plain(row.outcome)
            behind = events[taken_up_at(events, event.seq) :]
            assert len(chat_server.requests) - sent == asked_for(behind)
            assert set(Counter(chat_server.counts) - before) <= set(before), "asked something new"
            kinds[event.kind] += 1
    expected = {"start", "model", "tool", "budget", "repair", "repair_failed", "context_trimmed",
                "answer", "error", "remark"}  # fmt: skip
    own = {"compacted"} if "compact" in modules else {"expansion", "extraction"}
    assert set(kinds) == expected | (own if modules else set())


def test_saving_a_step_unchanged_leaves_it_as_it_was(parent):
    path = parent(expand=True, extract=True)
    kinds = set()
    for item in range(1, COUNT + 1):
        for event in read(path, item)[1]:
            if (text := editable(event)) is not None:
                assert edited(event, text) == event
                kinds.add(event.kind)
            else:
                with pytest.raises(InputError, match="no editable text"):
                    edited(event, "x")
    assert kinds == {"start", "expansion", "model", "tool", "extraction", "budget"}


@pytest.mark.parametrize("kind", ["start", "expansion", "model", "tool", "extraction", "budget"])
def test_a_fork_of_an_unchanged_text_is_the_same_run(kind, parent, tmp_path):
    path = parent(count=2, expand=True, extract=True)
    for item in (1, 2):
        row, events = read(path, item)
        for event in events:
            if event.kind == kind:
                out = tmp_path / f"{item}-{event.seq}"
                forked, trace = fork_of(path, row.question.id, event.seq, out, edit=editable(event))
                assert steps_of(trace) == steps_of(events)
                assert plain(forked.outcome) == plain(row.outcome)


def test_an_edited_reply_is_the_answer(parent, chat_server, tmp_path):
    path = parent(count=1)
    sent = len(chat_server.requests)
    step = step_of(read(path)[1], "model")
    text = '{"reasoning": "mine", "answers": {"a": ["Michael Mann"]}}'
    row, events = fork_of(path, "q0", step, tmp_path / "fork", edit=text + "\n")
    assert row.outcome["prediction"]["answers"] == {"a": ["Michael Mann"]}
    assert len(chat_server.requests) == sent
    assert [event.kind for event in events] == ["start", "model", "answer"]
    assert events[1].data["edited"]
    assert events[1].data["text"] == text
    assert row.outcome["turns"] == 1


def test_tool_calls_of_an_edited_reply_are_made(parent, tmp_path):
    path = parent(count=1)
    step = step_of(read(path)[1], "model")
    named = [{"name": "local_retriever", "args": {"query": "Island"}}, {"name": "x", "args": {}}]
    _, events = fork_of(
        path, "q0", step, tmp_path / "fork", edit=json.dumps({"text": "hm", "tool_calls": named})
    )
    first, second = (event.data for event in events if event.kind == "tool" and event.seq < 4)
    tools = sorted((first, second), key=lambda data: data["of"])
    assert [tool["call"]["args"] for tool in tools] == [{"query": "Island"}, {}]
    assert tools[0]["artifact"]["passages"][0]["id"] == "island"
    assert tools[1]["failure"] == "unknown_tool"


def test_an_edited_result_is_what_the_agent_sees_and_the_others_stay(parent, chat_server, tmp_path):
    path = parent(count=1, extract=True, extract_by="passage", budget_shown="off")
    events = read(path)[1]
    before = [m["content"] for m in chat_server.requests[-1]["messages"] if m["role"] == "tool"]
    step = next(e.seq for e in events if e.kind == "tool" and e.data["of"] == 0)
    sent = len(chat_server.requests)
    row, trace = fork_of(path, "q0", step, tmp_path / "fork", edit="Nothing was found.\n")
    after = [m["content"] for m in chat_server.requests[-1]["messages"] if m["role"] == "tool"]
    assert after == ["Nothing was found.", *before[1:]]
    (tool,) = (e.data for e in trace if e.seq == step)
    assert tool["artifact"] == {}
    assert tool["edited"]
    turn = step_of(trace, "model", 1)
    assert {e.data["of"] for e in trace if e.kind == "extraction" and e.seq < turn} == {1, 3}
    assert len(chat_server.requests) > sent
    assert row.outcome["calls"] == 6


def test_an_edited_question_expansion_extraction_and_note_are_what_is_read(
    parent, chat_server, tmp_path
):
    path = parent(count=2, expand=True, extract=True)
    events = read(path, 2)[1]
    edits = {
        "start": "Question number 0001: and who wrote it?",
        "expansion": "Only the one of 1995?",
        "extraction": "What I copied.",
        "budget": "Say no JSON and stop.",
    }
    for kind, text in edits.items():
        sent = len(chat_server.requests)
        fork_of(path, "q1", step_of(events, kind), tmp_path / kind, edit=text)
        last = chat_server.requests[-1]
        assert len(chat_server.requests) > sent
        assert any(text in message["content"] for message in last["messages"] if message["content"])
    assert "Only the one of 1995?" not in json.dumps(chat_server.requests[:sent][0])


def test_the_parents_bytes_never_change(parent, tmp_path):
    path = parent(count=1)
    file = path / "run.sqlite"
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    path.chmod(0o555)
    try:
        fork_of(path, "q0", 1, tmp_path / "fork")
    finally:
        path.chmod(0o755)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    # SQLite may lay an empty log beside what it reads; there is nothing in it.
    assert not any(log.stat().st_size for log in path.glob("*-wal"))


def test_a_fork_names_its_parent_and_may_be_forked(parent, tmp_path):
    path = parent(count=1)
    first = make_fork(path, "q0", 1)
    assert first == tmp_path / "parent-fork-q0-s1"
    run_fork(first)
    second = make_fork(first, "q0", step_of(read(first)[1], "answer"))
    run_fork(second)
    fork = open_run(second).meta["fork"]
    assert (fork["run"], fork["path"]) == (first.name, str(first))
    assert (fork["question"], fork["epoch"], fork["copied"]) == ("q0", 0, len(read(first)[1]) - 1)
    assert steps_of(read(second)[1]) == steps_of(read(path)[1])
    assert make_fork(path, "q0", 1) == tmp_path / "parent-fork-q0-s1-2"


def test_a_fork_keeps_its_epoch(chat_server, make_system, question_file, tmp_path):
    chat_server.play(SCRIPT)
    made = run(str(question_file(1)), make_system(), out=tmp_path / "run", epochs=2)
    fork = make_fork(made.path, "q0", 1, epoch=1)
    run_fork(fork)
    assert read(fork)[0].epoch == 1


def test_a_studys_run_forks_outside_of_the_study(tmp_path):
    runs = tmp_path / "study" / "runs"
    (runs / "base").mkdir(parents=True)
    (tmp_path / "study" / "study.json").write_text("{}")
    assert default_folder(runs / "base", "a/b c", 3) == tmp_path / "study-base-fork-a-b-c-s3"


def test_the_folder_of_a_fork_that_was_killed_as_it_was_made_is_taken_again(tmp_path):
    taken = tmp_path / "base-fork-q0-s1"
    taken.mkdir()
    for left in ("lock", "run.sqlite.new"):
        (taken / left).touch()
        assert default_folder(tmp_path / "base", "q0", 1) == taken
    (taken / "run.sqlite.new").rename(taken / "run.sqlite")
    assert default_folder(tmp_path / "base", "q0", 1) == tmp_path / "base-fork-q0-s1-2"


def test_other_prompts_are_said_and_the_copy_is_what_was(
    chat_server, make_system, question_file, tmp_path
):
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "answer_with_tools.md").write_text("Answer as of old.")
    chat_server.play(SCRIPT)
    system = make_system().model_copy(update={"prompts": str(prompts)})
    path = run(str(question_file(1)), system, out=tmp_path / "run").path
    (prompts / "answer_with_tools.md").write_text("Answer in another way.")
    with pytest.warns(UserWarning, match="changed: prompts"):
        fork_of(path, "q0", step_of(read(path)[1], "model", 1), tmp_path / "fork")
    assert chat_server.requests[-1]["messages"][0]["content"].startswith("Answer as of old.")


def test_what_cannot_be_forked_is_said_in_one_line(parent, tmp_path):
    path = parent(count=2)
    step = step_of(read(path)[1], "model")
    form = '{"tool_calls": ['
    for said, arguments in {
        "did you mean q1": {"question": "q1x"},
        "there are: 0": {"epoch": 3},
        "its steps are 0 to ": {"step": 99},
        "not valid JSON": {"changes": Changes(edit=form)},
        "unknown tool 'local_retreiver'": {"changes": Changes(tools=("local_retreiver",))},
        "unknown model": {"changes": Changes(model="nonesuch model")},
        "the folder is not empty": {"out": path},
    }.items():
        chosen = {"question": "q0", "step": step, "changes": Changes(), "out": tmp_path / "new"}
        chosen |= arguments
        with pytest.raises(InputError, match=said) as raised:
            make_fork(path, **chosen)
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "new" / "run.sqlite").exists()


def test_an_item_that_goes_on_cannot_be_forked(parent, chat_server, tmp_path):
    path = parent(count=1)
    fork = make_fork(path, "q0", 1)
    with pytest.raises(InputError, match="has not ended yet"):
        make_fork(fork, "q0", 0)


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_a_fork_whose_process_was_killed_is_resumed_and_asks_nothing_twice(
    parent, chat_server, start, tmp_path
):
    path = parent(count=2)
    step = step_of(read(path, 2)[1], "model", 1)
    fork = make_fork(path, "q1", step)
    sent, arrived, known = len(chat_server.requests), [], threading.Event()
    processes = []

    def kills_at_the_third(body):
        known.wait()
        arrived.append(body)
        if len(arrived) == 3:
            processes[0].kill()
        return SCRIPT(body)

    chat_server.play(kills_at_the_third)
    processes.append(start("resume", fork))
    known.set()
    assert processes[0].wait() == -signal.SIGKILL
    chat_server.play(SCRIPT)
    resume(fork)
    row, events = read(fork)
    assert steps_of(events) == steps_of(read(path, 2)[1])
    assert plain(row.outcome) == plain(read(path, 2)[0].outcome)
    again = [body for body in chat_server.requests[sent + 3 :] if body in arrived[:2]]
    assert not again


@pytest.mark.parametrize(
    "changes",
    [{"expand": True, "extract": True}, {"tool_protocol": "text"}],
    ids=["modules", "text"],
)
def test_a_fork_that_replays_its_parent_asks_nobody(
    changes, chat_server, make_system, question_file, tmp_path
):
    protocol = {"tool_protocol": changes.get("tool_protocol", "native")}
    changes = {name: value for name, value in changes.items() if name != "tool_protocol"}
    # Calls that failed are not recorded: nothing could be replayed of them.
    chat_server.play(by_role(expander=expands, extractor=say("Heat is a"), agent=searches))
    system = make_system({"calls": 7}, **protocol).model_copy(update=changes)
    path = run(str(question_file(1)), system, out=tmp_path / "run").path
    sent = len(chat_server.requests)
    row, events = read(path)
    for event in events:
        out = tmp_path / str(event.seq)
        forked, trace = fork_of(path, "q0", event.seq, out, model=f"replay:{path}")
        assert steps_of(trace) == steps_of(events)
        assert plain(forked.outcome) == plain(row.outcome)
    assert len(chat_server.requests) == sent


DIES_WITH_A_LOG = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("UPDATE items SET status = status")
os.kill(os.getpid(), 9)
"""


@pytest.mark.usefixtures("process")
def test_resume_folds_the_log_of_a_process_that_was_killed_at_the_very_end(parent):
    file = parent(count=1) / "run.sqlite"
    log = file.with_name("run.sqlite-wal")
    subprocess.run([sys.executable, "-c", DIES_WITH_A_LOG, file], check=False)
    assert log.stat().st_size
    assert resume(file.parent).state.done == 1
    assert not log.exists() or not log.stat().st_size
