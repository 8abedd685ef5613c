"""`replay:RUN` as `--model` of the commands: answers that cost nothing, and no server."""

import json

import pytest
import yaml

from branchwise.runs.store import open_run
from support.chat_server import call, say
from support.corpora.small import bm25_corpus

pytestmark = pytest.mark.slow

QUESTION = {"id": "q1", "question": "Who directed Heat?", "answers": {"default": ["Michael Mann"]}}
ANSWER = say('{"answers": {"default": ["Michael Mann"]}}')


@pytest.fixture
def recorded(chat_server, type_in, tmp_path, monkeypatch):
    """A run of one question with one search; its server says nothing more after it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.chdir(tmp_path)
    bm25_corpus(tmp_path, {"a": "Heat\nA film by Mann."})
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    chat_server.play([call("local_retriever", query="Heat"), ANSWER])
    code, _, said = type_in(
        *("run", "--questions", "q.jsonl", "--corpus", "C", "--out", "R"),
        *("--model", f"openai:scripted@{chat_server.url}"),
    )
    assert code == 0, said
    monkeypatch.delenv("OPENAI_API_KEY")
    yield tmp_path
    assert len(chat_server.requests) == 2


def test_a_recorded_question_is_asked_again(recorded, type_in):
    code, out, said = type_in("ask", QUESTION["question"], "--corpus", "C", "--model", "replay:R")
    assert code == 0, said
    assert "Michael Mann" in out
    assert "local_retriever" in said


def test_a_question_that_was_not_recorded_is_one_line(recorded, type_in):
    code, _, said = type_in("ask", "Who directed Ran?", "--corpus", "C", "--model", "replay:R")
    assert code != 0
    assert "Ran" in said
    assert "Traceback" not in said


def test_a_study_replays_its_base(recorded, type_in):
    study = {
        "name": "again",
        "questions": "q.jsonl",
        "base": {"model": "replay:R", "corpus": "C"},
        "factors": {"model": ["replay:R", "offline"]},
    }
    (recorded / "s.yaml").write_text(yaml.safe_dump(study))
    code, _, said = type_in("ablate", "s.yaml", "--out", "T")
    assert code == 0, said
    runs = {path.parent for path in (recorded / "T").glob("runs/*/run.sqlite")}
    assert len(runs) == 2
    (replayed,) = (run for run in runs if "offline" not in run.name)
    assert _answers(replayed) == {"default": ["Michael Mann"]}


def test_a_fork_replays_its_parent(recorded, type_in):
    code, out, said = type_in(
        *("fork", "R", "--question", "q1", "--step", 3, "--model", "replay:R", "--out", "F")
    )
    assert code == 0, said
    assert out.splitlines()[2] == "F: done, P 1.00, R 1.00, EM 1.00"
    assert _answers(recorded / "F") == {"default": ["Michael Mann"]}


def _answers(run):
    reader = open_run(run)
    (item,) = reader.items()
    return item.outcome["prediction"]["answers"]
