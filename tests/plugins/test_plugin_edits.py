"""Runs and studies go on when another plug-in of the file was edited, and not when theirs was."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise import resume, score
from branchwise.base.errors import InputError
from branchwise.base.plugins.specs import find_plugin
from branchwise.eval.comparison import compare
from branchwise.results import ScoreResult
from support.chat_server import ChatServer
from support.plugins.tool_cases import calls_once, run_tools, write_questions, write_tools
from support.stores import execute

pytestmark = pytest.mark.slow

Cli = Callable[..., tuple[int, str, str]]
TWO = '''
from helper import shown
from others import other

def shared(word):
    return shown(word)

@tool
def first(word: str) -> str:
    """First."""
    return shared(word)

@tool
def second(word: str) -> str:
    """Second."""
    return other(word)
'''
METRICS = '''from branchwise import metric

def count(texts):
    return len(texts)

@metric
def first(item):
    """First."""
    return count(item.prediction.answers)

@metric
def second(item):
    """Second."""
    return 2
'''


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two tools, one with a neighbour that imports another one, and one with a third."""
    (tmp_path / "deeper.py").write_text("def deep(word): return word\n")
    (tmp_path / "helper.py").write_text(
        "from deeper import deep\ndef shown(word): return deep(word)\n"
    )
    (tmp_path / "others.py").write_text("def other(word): return word\n")
    return write_tools(tmp_path, TWO)


def test_only_neighbours_that_it_uses_count(file: Path) -> None:
    first, second = (find_plugin(f"{file}:{name}", "tools").source for name in ("first", "second"))
    assert [*first.sha256] == ["deeper.py", "helper.py", "tools.py"]
    assert [*second.sha256] == ["others.py", "tools.py"]
    assert first.sha256["tools.py"] != second.sha256["tools.py"]
    edit(file, "import asyncio", "from helper import *\nimport asyncio")
    whole = find_plugin(f"{file}:second", "tools").source
    assert [*whole.sha256] == ["deeper.py", "helper.py", "others.py", "tools.py"]


def test_a_run_goes_on_when_its_files_other_tool_was_edited(
    chat_server: ChatServer, tmp_path: Path, file: Path
) -> None:
    chat_server.play(calls_once("first", {"word": "x"}, {"word": "x"}))
    path = run_tools(chat_server, tmp_path, f"{file}:first").made.path
    execute(path, "UPDATE items SET status = 'running', outcome = NULL")
    edit(file, "return other(word)", "return 'edited' + word")
    edit(tmp_path / "others.py", "return word", "return 'edited'")
    assert resume(path).state.done == 3
    for name, old in (
        ("tools", "shown(word)"),
        ("helper", "deep(word)"),
        ("deeper", "return word"),
    ):
        edited = tmp_path / f"{name}.py"
        before = edited.read_text()
        edit(edited, old, f"{old} * 2")
        with pytest.raises(InputError, match=r"^[^\n]*\(changed: tools\)[^\n]*$"):
            resume(path)
        edited.write_text(before)
    assert resume(path).state.done == 3


def test_a_study_goes_on_when_its_files_other_tool_was_edited(
    chat_server: ChatServer, tmp_path: Path, file: Path, type_in: Cli
) -> None:
    chat_server.play(calls_once("first", {"word": "x"}, {"word": "x"}))
    write_questions(tmp_path)
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: s\nquestions: questions.jsonl\n"
        f'base: {{model: "openai:scripted@{chat_server.url}", tools: ["tools.py:first"]}}\n'
        "factors: {budget_shown: [on, off]}\n"
    )
    command = ("ablate", study, "--out", tmp_path / "S")
    assert type_in(*command)[0] == 0
    asked = len(chat_server.requests)
    edit(file, "return other(word)", "return 'edited' + word")
    assert type_in(*command)[0] == 0
    assert len(chat_server.requests) == asked
    edit(file, "return shown(word)", "return shown(word * 2)")
    code, _, err = type_in(*command)
    assert code == 2
    [line] = [line for line in err.splitlines() if line.startswith("branchwise:")]
    assert "contains another study: systems changed: base, budget_shown=off" in line


def test_scores_are_the_same_when_the_files_other_metric_was_edited(tmp_path: Path) -> None:
    questions, answers, file = (tmp_path / name for name in ("q.jsonl", "a.jsonl", "metrics.py"))
    questions.write_text('{"id": "q", "question": "Who?", "answers": {"default": ["A"]}}\n')
    answers.write_text(json.dumps({"id": "q", "answers": {"default": ["A"]}}))
    file.write_text(METRICS)

    def scored() -> ScoreResult:
        return score(predictions=answers, questions=str(questions), metrics=[f"{file}:first"])

    first = scored()
    edit(file, "return 2", "return 3")
    second = scored()
    assert second.digest == first.digest
    assert compare(first, second).cautions == ()
    edit(file, "return len(texts)", "return 2 * len(texts)")
    third = scored()
    assert third.digest != first.digest
    assert compare(first, third).cautions == (
        "the metric first has different code on the two sides",
    )
