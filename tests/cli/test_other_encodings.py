"""Output in an encoding that lacks characters: replaced, in JSON escaped, never a traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

pytestmark = pytest.mark.usefixtures("process")


def typed(encoding: str, *words: object, **more: str) -> subprocess.CompletedProcess[bytes]:
    named = {"PYTHONIOENCODING": encoding, "HF_HUB_OFFLINE": "1", "COLUMNS": "100", **more}
    command = [sys.executable, "-m", "branchwise", *map(str, words)]
    return subprocess.run(command, env=os.environ | named, capture_output=True)


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("encodings") / "q.jsonl"
    question = {"id": "日本", "question": "Où est 富士山 😀?", "answers": {"Ö": ["本州"]}}
    path.write_text(json.dumps(question, ensure_ascii=False) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, in which scores may be saved."""
    folder = tmp_path_factory.mktemp("recorded") / "kg"
    return Path(shutil.copytree(ROOT / "examples" / "recorded" / "kg", folder))


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_every_printing_command_goes_on(encoding, questions, recorded, tmp_path):
    run = tmp_path / "R"
    for words in (
        ("run", "--questions", questions, "--model", "offline", "--out", run),
        ("trace", run, "--print", "--question", "日本"),
        ("report", run),
        ("trace", recorded, "--print"),
        ("report", recorded),
        ("errors", recorded),
        ("questions", "info", questions, "--id", "日本"),
        ("questions", "check", questions),
        ("questions", "forms"),
        ("run", "--help"),
    ):
        ended = typed(encoding, *words)
        assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False), ended.stderr
    assert b"?" in typed(encoding, "questions", "info", questions, "--id", "日本").stdout


@pytest.mark.long
def test_json_stays_what_it_is(recorded: Path) -> None:
    path = recorded.parent / "日本😀.jsonl"
    path.write_text('{"id": "é", "question": "Où?", "answers": []}\n', "utf-8")
    words: tuple[object, ...] = ("questions", "check", path, "--json")
    shown = [json.loads(typed(encoding, *words).stdout) for encoding in ("utf-8", "ascii")]
    assert shown[0] == shown[1]
    assert shown[0]["source"] == str(path)
    words = ("score", recorded, "--json")
    assert json.loads(typed("ascii", *words).stdout) == json.loads(typed("utf-8", *words).stdout)


def test_a_locale_of_nothing_is_no_fault(questions: Path) -> None:
    more = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = typed("", "questions", "check", questions, **more)
    assert (ended.returncode, ended.stderr) == (0, b"")
