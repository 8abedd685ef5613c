"""The last part of the demo, which needs no encoder: the recorded runs, and what to type next."""

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.cli import load_command
from branchwise.commands.demo import show_next
from branchwise.commands.demo_parts import RUNS, show_recorded
from branchwise.report.terminal.console import console


@pytest.fixture(autouse=True)
def _own_console() -> Iterator[None]:
    console.cache_clear()
    yield
    console.cache_clear()


@pytest.mark.long
def test_it_compares_the_runs_and_follows_what_one_lost(tmp_path, capsys):
    show_recorded(tmp_path)
    out = capsys.readouterr().out
    assert "4. A language model on 24 questions about a world of 20,000 entities," in out
    lines = [line.split() for line in out.splitlines()]
    for name, does in RUNS.items():
        assert [name, *does.split()] in lines
    assert ["base", "24", ".97", ".65", ".25"] in lines
    assert ["kg", "24", ".97", "1.00", ".96"] in lines
    # The change in recall with its sign, and its p-value.
    assert any(line[:2] == ["kg", "24"] and line[4:6] == ["+.35", "<.001"] for line in lines)
    # 642,429 of 5,365,003 tokens.
    assert "kg: tokens ×.12 of base" in out
    assert ["gold", "answers", "missing", "201", "0"] in lines
    story = out[out.index("Where base lost the answers of one question:") :]
    assert "2 searches: 'Reckless Marten record label' and 4 more; titles=" in story
    assert "1 search: 'The Luminous Journal album record label, produced by Senta" in story
    assert "Reckless Marten (record label founded in 1973): Sorrelburn" in story
    assert "Casfax      left out by the agent · step 18" in story
    assert "Loremera    never retrieved · mentioned elsewhere: step 24" in story
    assert "budget spent: step 32, 24 tool calls" in story
    assert "lost nothing here: kg" in story
    for name in ("base/run.sqlite", "kg/run.sqlite", "README.md"):
        assert (tmp_path / "recorded" / name).is_file()
    page = (tmp_path / "recorded.html").read_text("utf-8")
    assert "Which film studios produced films written by Felicia Dornfelder?" in page


def typed_next(capsys, folder: Path) -> list[list[str]]:
    """The words of each line that `show_next` prints after the demo in `folder`."""
    show_next(folder, folder / "run", "Who sang Reef?", folder / "world" / "study")
    said = capsys.readouterr().out.split("Next:\n")[1]
    return [shlex.split(line, comments=True) for line in said.splitlines()]


def test_what_to_type_next_can_be_typed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Found by its name, as after `source .venv/bin/activate`.
    (tmp_path / "branchwise").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "branchwise")])
    _, *typed, about = typed_next(capsys, tmp_path)
    assert {words[0] for words in typed} == {"branchwise"}
    assert [words[1] for words in typed] == ["errors", "trace", "ask", "trace", "report", "ablate"]
    for _, name, *words in typed:
        known = {option for one in load_command(name).params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known
    assert typed[1][2:4] == [f"recorded/{name}" for name in ("base", "kg")]
    assert (typed[0][2], about[-1]) == ("recorded/base", "recorded/README.md")


@pytest.mark.parametrize(
    ("started", "alias"),
    [
        (".venv/bin/branchwise", None),
        ("../my cache/bin/branchwise", ["{}"]),
        ("../branchwise/__main__.py", [sys.executable, "-m", "branchwise"]),
    ],
)
def test_a_program_off_the_path_gets_a_path_or_an_alias(
    tmp_path, capsys, monkeypatch, started, alias
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    program = Path(os.path.normpath(tmp_path / "here" / started))
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    # As uv does for what it starts, though not for what is typed next.
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.setattr("sys.argv", [str(program)])
    first, *others = typed_next(capsys, tmp_path)
    if alias is None:
        assert others[0][0] == started
        return
    assert first[0] == "alias"
    name, path = first[1].split("=", 1)
    assert (name, others[1][0]) == ("branchwise", "branchwise")
    assert shlex.split(path) == [word.format(program) for word in alias]
