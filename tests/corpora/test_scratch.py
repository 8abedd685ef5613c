"""Folders of processes: gone when they end, and those of killed ones when the next is made."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from branchwise.corpora.scratch import Scratch

PREFIX = "branchwise-scratch-"
MAKES_ONE_AND_WAITS = f"""
from branchwise.corpora.scratch import Scratch
scratch = Scratch({PREFIX!r})
print(scratch.folder, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_made_when_it_is_asked_for_and_removed_with_what_it_holds(
    temporary: Path,
) -> None:
    scratch = Scratch(PREFIX)
    scratch.remove()
    assert not list(temporary.iterdir())
    scratch.folder.joinpath("below").mkdir()
    (scratch.folder / "below" / "file").touch()
    scratch.remove()
    scratch.remove()
    assert not list(temporary.iterdir())


@pytest.mark.usefixtures("process")
def test_what_a_killed_process_left_goes_when_the_next_is_made_and_what_a_living_one_has_stays(
    temporary: Path,
) -> None:
    (temporary / f"{PREFIX}file").touch()
    command = [sys.executable, "-c", MAKES_ONE_AND_WAITS]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout
        theirs = Path(process.stdout.readline().strip())
        (theirs / "source.py").touch()
        mine = Scratch(PREFIX)
        assert mine.folder.is_dir()
        assert (theirs / "source.py").exists()
        process.kill()
    next_one = Scratch(PREFIX)
    assert next_one.folder.is_dir()
    assert not theirs.exists()
    assert mine.folder.is_dir()
    mine.remove()
    next_one.remove()
    assert [path.name for path in temporary.iterdir()] == [f"{PREFIX}file"]


def test_a_folder_that_is_removed_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def removed_at_first(**named: str) -> str:
        made.append(temporary / f"{named['prefix']}{len(made)}")
        if len(made) > 1:
            made[-1].mkdir()
        return str(made[-1])

    monkeypatch.setattr(tempfile, "mkdtemp", removed_at_first)
    assert Scratch(PREFIX).folder == made[1]
