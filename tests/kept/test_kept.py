"""Runs that an earlier commit made load, score, trace and report as they did then."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.runs.kept_commands import COMMANDS, WIDTH

HERE = Path(__file__).parent
TypeIn = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: scoring a run writes its scores there."""
    return Path(shutil.copytree(HERE / "files", tmp_path_factory.mktemp("kept") / "files"))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_said(
    name: str, kept: Path, type_in: TypeIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kept)
    monkeypatch.setenv("COLUMNS", WIDTH)
    code, out, err = type_in(*COMMANDS[name])
    assert f"exit code {code}\n{err}{out}" == (HERE / "expected" / f"{name}.txt").read_text("utf-8")
