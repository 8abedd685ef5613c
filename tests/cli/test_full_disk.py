"""A disk that is full is one line and exit code 1, and nothing that was recorded is lost."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from branchwise.runs.store import open_run

pytestmark = pytest.mark.usefixtures("process")

QUESTIONS = 40


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("asked") / "questions.jsonl"
    lines = [
        {"id": f"q{n}", "question": f"Who directed film {n}?", "answers": {"default": ["Mann"]}}
        for n in range(QUESTIONS)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture(scope="module")
def ended_run(questions, tmp_path_factory):
    """A run whose items have all ended; not to be changed."""
    path = tmp_path_factory.mktemp("ended") / "R"
    assert type_in("run", "--questions", questions, "--out", path).returncode == 0
    return path


def type_in(*arguments, largest_file=resource.RLIM_INFINITY, stdout=subprocess.PIPE):
    """The command in a process of its own that may write no file above this size."""
    return subprocess.run(
        [sys.executable, "-m", "branchwise", *map(str, arguments)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file,) * 2),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_a_run_goes_on_when_there_is_room_again(questions, tmp_path):
    path = tmp_path / "R"
    full = type_in("run", "--questions", questions, "--out", path, largest_file=200_000)
    assert full.returncode == 2
    assert full.stdout == ""
    assert full.stderr.startswith("branchwise: ")
    assert f"continue with: branchwise resume {path}" in full.stderr
    assert full.stderr.count("\n") == 1
    assert 0 < open_run(path).progress()["done"] < QUESTIONS
    assert type_in("resume", path).returncode == 0
    assert open_run(path).progress()["done"] == QUESTIONS


def test_an_export_that_does_not_fit_leaves_nothing_behind(ended_run, tmp_path):
    out = tmp_path / "items.jsonl"
    full = type_in("export", ended_run, "--events", "--out", out, largest_file=10_000)
    assert full.returncode == 2
    assert full.stderr.count("\n") == 1
    assert not list(tmp_path.glob("items*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("export",), ("score",), ("score", "--json"), ("report",)])
def test_output_that_does_not_fit_is_one_line(ended_run, command):
    with Path("/dev/full").open("w") as nowhere:
        full = type_in(*command, ended_run, stdout=nowhere)
    assert full.returncode == 2
    assert full.stderr == (
        "branchwise: standard output: cannot be written (No space left on device); "
        "make room on the disk, or use another one\n"
    )
