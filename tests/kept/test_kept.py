"""Runs that an earlier commit made load, score, trace, report and resume as they did then."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
QUESTIONS = 9
RUNS = ("none", "both", "nodes")
FORKS = ("fork-1", "fork-4")
WIDTH = "120"
TypeIn = Callable[..., tuple[int, str, str]]
OF_A_RUN = {
    "scores": ("score", "{}", "--json"),
    "table": ("score", "{}", "--full"),
    "verify": ("verify", "{}", "--json"),
    "errors": ("errors", "{}", "--json"),
    "export": ("export", "{}", "--events"),
}
COMMANDS = {
    **{
        f"{run}-{name}": tuple(word.format(run) for word in command)
        for run in (*RUNS, *FORKS)
        for name, command in OF_A_RUN.items()
    },
    **{
        f"{run}-trace-q{n}": ("trace", run, "--print", "--question", f"q{n}")
        for run in RUNS
        for n in range(QUESTIONS)
    },
    "compared": ("trace", "none", "both", "--print", "--question", "q0"),
    "report": ("report", *RUNS, "--markdown", "-"),
    "latex": ("report", *RUNS, "--latex", "-"),
    "report-json": ("report", *RUNS, "--json"),
    "study": ("report", "study", "--markdown", "-"),
    "study-json": ("report", "study", "--json"),
}


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
