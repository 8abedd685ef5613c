"""Making, interrupting, refusing and continuing runs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from branchwise import resume, run, score
from branchwise.base.errors import InputError
from branchwise.corpora.build import build_corpus, build_index
from support.chat_server import ChatServer, call, fail, hang, say, search_then_answer
from support.stores import edited, forget_ends

GOOD = json.dumps({"answers": {"default": ["Question number 0000"]}})


def test_resuming_replays_what_was_recorded(chat_server, make_system, question_file, tmp_path):
    chat_server.play(search_then_answer)
    made = run(str(question_file(3)), make_system(), out=tmp_path / "run")
    before = score(made).to_json()
    asked = len(chat_server.requests)
    forget_ends(made.path)
    again = resume(made.path)
    assert again.state.done == 3
    assert len(chat_server.requests) == asked
    assert score(again).to_json() == before
    reader = again.open()
    events = list(reader.events(1))
    assert all(e.data["replayed"] for e in events if e.kind in ("model", "tool"))
    reader.close()


def test_only_the_selected_questions_are_run(chat_server, make_system, question_file, tmp_path):
    chat_server.play(lambda body: say(GOOD))
    source = str(question_file(5))
    made = run(source, make_system(), out=tmp_path / "run", ids=["q3", "q1", "q4"], limit=2)
    assert [row.question.id for row in made.open().items()] == ["q1", "q3"]
    with pytest.raises(InputError, match="no question has the id 'q9'"):
        run(source, make_system(), out=tmp_path / "other", ids=["q9"])
    assert not (tmp_path / "other").exists()


def test_another_system_is_refused_and_named(chat_server, make_system, question_file, tmp_path):
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    prompt = prompts / "answer_with_tools.md"
    prompt.write_text("Answer as JSON.")
    chat_server.play(lambda body: say(GOOD))
    system = make_system().model_copy(update={"prompts": str(prompts)})
    made = run(str(question_file(1)), system, out=tmp_path / "run")
    prompt.write_text("Answer as JSON, please.")
    with pytest.raises(InputError, match=r"not the one that started this run \(changed: prompts\)"):
        resume(made.path)
    prompt.write_text("Answer as JSON.")
    resume(made.path)


def test_a_corpus_that_moved_is_found_and_another_is_refused(
    chat_server, make_system, question_file, tmp_path, corpus
):
    chat_server.play(lambda body: say(GOOD))
    mine = tmp_path / "mine"
    mine.write_bytes((corpus / "corpus.jsonl").read_bytes())
    build_corpus(str(mine.rename(tmp_path / "mine.jsonl")), tmp_path / "C")
    build_index(tmp_path / "C", "bm25")
    system = make_system().model_copy(update={"corpus": str(tmp_path / "C")})
    made = run(str(question_file(1)), system, out=tmp_path / "run")
    (tmp_path / "C").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="no longer exists") as refused:
        resume(made.path)
    assert "--corpus DIR" in str(refused.value.remedy)
    resume(made.path, corpus=tmp_path / "moved")

    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "a", "contents": "A title\\nand a text"}\n')
    build_corpus(str(other), tmp_path / "D")
    build_index(tmp_path / "D", "bm25")
    with pytest.raises(InputError, match="changed: retriever"):
        resume(made.path, corpus=tmp_path / "D")


def test_a_server_that_moved_is_found_and_another_model_is_refused(
    chat_server, make_system, question_file, tmp_path
):
    chat_server.play([say(GOOD), fail(400, "no")])
    made = run(str(question_file(2)), make_system(), out=tmp_path / "run", concurrency=1)
    moved = ChatServer([say(GOOD)]).start()
    try:
        again = resume(made.path, model=f"openai:scripted@{moved.url}", retry_failed=True)
        assert again.state.here == 1
        assert len(moved.requests) == 1
        with pytest.raises(InputError, match="changed: model"):
            resume(made.path, model=f"openai:other@{moved.url}")
    finally:
        moved.stop()


def test_a_corpus_is_searched_unless_tools_say_otherwise(
    chat_server, make_system, question_file, tmp_path
):
    chat_server.play(lambda body: say(GOOD))
    for name, tools in (("default", None), ("none", ())):
        system = make_system().model_copy(update={"tools": tools})
        run(str(question_file(1)), system, out=tmp_path / name)
    with_tools, without = chat_server.requests
    assert [t["function"]["name"] for t in with_tools["tools"]] == ["local_retriever"]
    assert "tools" not in without


def test_another_package_version_is_a_warning(chat_server, make_system, question_file, tmp_path):
    chat_server.play(lambda body: say(GOOD))
    made = run(str(question_file(1)), make_system(), out=tmp_path / "run")
    with edited(made.path) as connection:
        old = orjson.dumps("0.0.1").decode()
        connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (old,))
    with pytest.warns(UserWarning, match=r"begun by branchwise 0\.0\.1"):
        resume(made.path)


async def test_an_interrupt_inside_a_running_loop_stops_the_run(
    chat_server, make_system, question_file, tmp_path
):
    asked = iter(range(1_000_000))

    def interrupt_at_the_fifth(body):
        if (number := next(asked)) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return hang() if number >= 4 else say(GOOD)

    chat_server.play(interrupt_at_the_fifth)
    # As in a notebook; asyncio's own handler would only cancel this test.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(str(question_file(9)), make_system(), out=tmp_path / "run", concurrency=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(chat_server.requests) == 5
    chat_server.play(lambda body: say(GOOD))
    assert resume(tmp_path / "run").state.here == 5


def test_no_key_reaches_the_run_folder(
    chat_server, make_system, question_file, tmp_path, monkeypatch
):
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    hostile = fail(400, f"Incorrect API key provided: {secret}")
    chat_server.play([call("local_retriever", query="Heat"), hostile])
    made = run(str(question_file(1)), make_system(), out=tmp_path / "run")
    assert chat_server.headers[0]["Authorization"] == f"Bearer {secret}"
    reader = made.open()
    (row,) = reader.items()
    assert row.status == "failed"
    reader.close()
    for file in Path(made.path).iterdir():
        assert secret.encode() not in file.read_bytes()


@pytest.mark.usefixtures("process")
def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(
    chat_server, corpus, question_file, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    asked = iter(range(1_000_000))

    def interrupt_at_the_fifth(body):
        if next(asked) == 4:
            os.kill(process.pid, signal.SIGINT)
        return say(GOOD)

    path = tmp_path / "run"
    command = [
        *(sys.executable, "-m", "branchwise", "run", "--questions", str(question_file(30))),
        *("--model", f"openai:scripted@{chat_server.url}", "--out", str(path)),
        *("--concurrency", "1"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    chat_server.play(interrupt_at_the_fifth)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert f"branchwise resume {path}" in errors
    assert "Traceback" not in errors
    chat_server.play(lambda body: say(GOOD))
    resumed = resume(path)
    assert resumed.open().progress() == {"total": 30, "done": 30, "failed": 0, "pending": 0}
    assert chat_server.repeats <= 1
