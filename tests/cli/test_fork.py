"""`branchwise fork` on the command line, without a terminal."""

import json

import pytest

from branchwise.runs.store import open_run
from support.chat_server import call, say
from support.corpora.small import bm25_corpus

pytestmark = pytest.mark.slow

QUESTION = {"id": "q1", "question": "Who directed Heat?", "answers": {"default": ["Michael Mann"]}}


def searches_in_vain(body):
    """A tool that is not there, then a wrong answer; the right one where a tool was named well."""
    results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
    if not results and body.get("tools"):
        return call("no_tool", query="Heat")
    name = "Michael Mann" if "Mann" in "".join(results) else "Nobody"
    return say(json.dumps({"answers": {"default": [name]}}))


@pytest.fixture
def run(chat_server, type_in, tmp_path, monkeypatch):
    """A run in which the one tool call failed; its folder."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    bm25_corpus(tmp_path, {"a": "Heat\nA film."})
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    chat_server.play(searches_in_vain)
    code, _, said = type_in(
        *("run", "--questions", tmp_path / "q.jsonl", "--corpus", tmp_path / "C"),
        *("--model", f"openai:scripted@{chat_server.url}", "--out", tmp_path / "R"),
    )
    assert code == 0, said
    return tmp_path / "R"


def test_an_edited_result_changes_the_answer_and_both_are_shown(run, type_in, tmp_path):
    (tmp_path / "edit.txt").write_text("Michael Mann directed Heat.\n")
    code, out, said = type_in(
        "fork", run, "--question", "q1", "--step", 2, "--edit", tmp_path / "edit.txt"
    )
    assert code == 0, said
    fork = run.with_name("R-fork-q1-s2")
    assert out.splitlines() == [
        "R: done, P .00, R .00, EM .00",
        "          default: Nobody",
        "R-fork-q1-s2: done, P 1.00, R 1.00, EM 1.00",
        "          default: Michael Mann",
        f"Look: branchwise trace {run} {fork} --question q1",
    ]
    reader = open_run(fork)
    assert reader.meta["fork"]["changes"]["edit"] == "Michael Mann directed Heat.\n"
    assert next(reader._file.query("SELECT COUNT(*) FROM scores")) == (1,)
    reader.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--question", "q2", "--step", 1), "no question has the id 'q2'; the first ids are q1"),
        (("--question", "q1", "--step", 9), "the trace has no step 9; its steps are 0 to 4"),
        (("--question", "q1", "--step", 1, "--epoch", 1), "'q1' has no epoch 1; there are: 0"),
        (("--question", "q1", "--step", 1, "--edit", "nowhere.txt"), "nowhere.txt: cannot be read"),
    ],
)
def test_what_is_not_there_is_one_line(run, type_in, options, said):
    code, out, error = type_in("fork", run, *options)
    assert (code, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1


def test_a_corpus_that_is_gone_is_said_and_may_have_moved(run, type_in, tmp_path):
    (tmp_path / "C").rename(tmp_path / "D")
    code, _, error = type_in("fork", run, "--question", "q1", "--step", 3)
    assert code == 2
    assert "the corpus of this run no longer exists; say where it is now" in error
    code, _, error = type_in(
        "fork", run, "--question", "q1", "--step", 3, "--corpus", tmp_path / "D"
    )
    assert code == 0, error


@pytest.mark.parametrize("whole", [False, True])
def test_paths_below_the_working_directory_are_shown_from_there(
    run, type_in, tmp_path, monkeypatch, whole
):
    (tmp_path / "edit.txt").write_text("Michael Mann directed Heat.\n")
    monkeypatch.chdir(tmp_path)
    named = run if whole else "R"
    words = ("--question", "q1", "--step", 2, "--edit", "edit.txt", "--out", "new fork")
    code, out, said = type_in("fork", named, *words)
    assert code == 0, said
    assert out.splitlines()[-1] == "Look: branchwise trace R 'new fork' --question q1"
