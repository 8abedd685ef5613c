"""Making, interrupting, refusing and continuing runs."""

import json
import os
import signal
import subprocess
import sys

import orjson
import pytest

from branchwise import resume, run
from branchwise.base.errors import InputError
from branchwise.corpora.build import build_corpus, build_index
from support.chat_server import ChatServer, fail, hang, say
from support.stores import edited

GOOD = json.dumps({"answers": {"default": ["Question number 0000"]}})


def test_only_the_selected_questions_are_run(chat_server, make_system, question_file, tmp_path):
    chat_server.play(lambda body: say(GOOD))
    source = str(question_file(5))
    made = run(source, make_system(), out=tmp_path / "run", ids=["q3", "q1", "q4"], limit=2)
    assert [row.question.id for row in made.open().items()] == ["q1", "q3"]
    with pytest.raises(InputError, match="no question has the id 'q9'"):
        run(source, make_system(), out=tmp_path / "other", ids=["q9"])
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_a_corpus_that_moved_is_found_and_another_is_refused(
    chat_server, tmp_path, corpus, run_some
):
    chat_server.play(lambda body: say(GOOD))
    mine = tmp_path / "mine"
    mine.write_bytes((corpus / "corpus.jsonl").read_bytes())
    build_corpus(str(mine.rename(tmp_path / "mine.jsonl")), tmp_path / "C")
    build_index(tmp_path / "C", "bm25")
    made = run_some(corpus=str(tmp_path / "C"))
    (tmp_path / "C").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="no longer exists") as refused:
        resume(made.path)
    assert "corpus=DIR" in str(refused.value.remedy)
    resume(made.path, corpus=tmp_path / "moved")

    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "a", "contents": "A title\\nand a text"}\n')
    build_corpus(str(other), tmp_path / "D")
    build_index(tmp_path / "D", "bm25")
    with pytest.raises(InputError, match="changed: retriever"):
        resume(made.path, corpus=tmp_path / "D")


@pytest.mark.slow
def test_a_server_that_moved_is_found_and_another_model_is_refused(chat_server, run_some):
    chat_server.play([say(GOOD), fail(400, "no")])
    made = run_some(2, concurrency=1)
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
    names = [tool["function"]["name"] for tool in with_tools["tools"]]
    assert names == ["local_retriever", "open_passages"]
    assert "tools" not in without


def test_another_package_version_is_a_warning(chat_server, run_some):
    chat_server.play(lambda body: say(GOOD))
    made = run_some()
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


@pytest.mark.long
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
