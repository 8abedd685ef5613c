"""Bad input about protocols, properties and grading is one line, with exit code 2, before anything
is asked."""

import json
import sys

import pytest

from branchwise import System, run
from branchwise.__main__ import main

FRAGMENT = {"title": "Heat", "text": "Heat is a film.", "score": 1.0}
PROPERTY = {"condition": "the film", "groundtruth": "1995", "citations": [{"title": "1. Heat"}]}
JUDGE = "openai:gpt-6-luna"


@pytest.fixture
def complain(monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["branchwise", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr().err
        assert (ended.value.code, said.count("\n")) == (2, 1)
        return said.removeprefix("branchwise: ")

    return call


@pytest.fixture
def published(tmp_path):
    """A question in the published form, with these properties."""

    def write(*properties):
        path = tmp_path / "dev.json"
        entry = {"id": "q", "question": "When?", "properties": properties, "ctxs": [FRAGMENT]}
        path.write_text(json.dumps([entry]))
        return f"condambigqa:{path}"

    return write


def test_unknown_protocol(complain, published, tmp_path):
    line = complain("run", "--questions", published(PROPERTY), "--protocol", "gided")
    assert line.startswith("--protocol: unknown value 'gided'; did you mean guided?")


def test_unknown_protocol_of_a_study(complain, published, tmp_path):
    study = tmp_path / "study.yaml"
    factors = {"protocol": ["default", "gided"]}
    base = {"model": "offline"}
    written = {"name": "s", "questions": published(PROPERTY), "base": base, "factors": factors}
    study.write_text(json.dumps(written))
    line = complain("ablate", study, "--out", tmp_path / "S", "--dry-run")
    assert "study.yaml:1: " in line
    assert "'gided'" in line


def test_guided_by_no_conditions(complain, tmp_path):
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"id": "q", "question": "?", "answers": {"default": ["x"]}}))
    line = complain(
        "run", "--questions", questions, "--task", "condambigqa", "--protocol", "guided"
    )
    said = f"{questions}: question 'q': the protocol guided: it has no conditions"
    assert line.startswith(said)


def test_a_judge_for_a_task_without_answers(complain, tmp_path):
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"id": "q", "question": "?", "ambiguous": True}))
    out = tmp_path / "R"
    run(str(questions), System(model="offline"), out=out, task="ambiguity")
    line = complain("score", out, "--judge", JUDGE)
    assert "the task ambiguity is not scored by a model" in line
    line = complain("score", out, "--judge", JUDGE, "--variant", "published-code")
    assert "the task ambiguity has no variant 'published-code'" in line
    line = complain("score", out, "--judge", JUDGE, "--judge-pairs", "aligned")
    assert "the task ambiguity is not graded by a model" in line
