"""The last part of the demo, which needs no encoder: the recorded runs, and what to type next."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.cli import load_command
from branchwise.commands.demo import show_next
from branchwise.commands.demo_parts import show_recorded
from branchwise.report.terminal.console import console


@pytest.fixture(autouse=True)
def _own_console() -> Iterator[None]:
    console.cache_clear()
    yield
    console.cache_clear()


@pytest.mark.slow
def test_it_compares_the_runs_and_follows_one_lost_answer(tmp_path, capsys):
    page = tmp_path / "recorded.html"
    show_recorded(page)
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["base", "16", "1.00", ".97", ".81"] in lines
    assert ["expand", "16", "1.00", ".99", ".88"] in lines
    assert ["kg", "16", "1.00", "1.00", "1.00"] in lines
    # The change in recall with its sign, and its p-value.
    assert any(line[:2] == ["kg", "16"] and "+.03" in line and ".500" in line for line in lines)
    # 463,110 of 2,360,631 tokens.
    assert "kg: tokens ×.20 of base" in out
    story = out[out.index("One answer that base lost") :]
    assert "2 searches: 'record label based in Lower Weirthwaite' and 4 more; " in story
    assert "default: Matthias Stenby; Valeria Chiwale; Wendel B. Kawanuma" in story
    assert "Matthias Stenby  left out by the agent" in story
    assert "lost nothing here: expand, kg" in story
    assert "Which football clubs have their home ground" in page.read_text("utf-8")


def test_what_to_type_next_can_be_typed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Found by its name, as after `source .venv/bin/activate`.
    (tmp_path / "branchwise").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "branchwise")])
    world, page = tmp_path / "world", tmp_path / "recorded.html"
    show_next(tmp_path / "run", world, "Who sang Reef?", world / "study", page)
    said = [line.split("    #")[0] for line in capsys.readouterr().out.splitlines()]
    typed = [shlex.split(line) for line in said if line.startswith("  branchwise ")]
    assert [words[1] for words in typed] == ["errors", "trace", "ask", "trace", "report", "ablate"]
    for _, name, *words in typed:
        known = {option for one in load_command(name).params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known
    for folder in (typed[0][2], *typed[1][2:4]):
        assert Path(folder, "run.sqlite").is_file()
    assert Path(said[-1].split(": ")[1]).is_file()
