"""The fuzzer finds what it must, and what was found once is taken as it should be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("process")

FUZZ = Path(__file__).parent
FOUND_ONCE = FUZZ / "regressions"


def output(*command: object) -> tuple[int, str]:
    """Of a Python process of its own: what is tried changes the process that it is tried in."""
    named = {"HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1,localhost"}
    ended = subprocess.run(
        [sys.executable, *map(str, command)],
        env=os.environ | named,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return ended.returncode, ended.stdout


def test_each_kind_of_fault_is_found_and_kept(tmp_path: Path) -> None:
    code, said = output(FUZZ / "planted.py", tmp_path)
    assert code == 0, said
    counts = {name: (inputs, found) for name, inputs, found in map(str.split, said.splitlines())}
    assert counts.pop("fine") == ("4", "0")
    # Four inputs, the first of which is the seed itself.
    assert counts.pop("says_too_much") == ("4", "4")
    assert counts.pop("escapes") == ("4", "4")
    assert counts == dict.fromkeys(("raises", "spins", "dies", "takes_memory"), ("4", "3"))
    kept = {
        folder.name: "".join(f.read_text() for f in folder.glob("*.txt"))
        for folder in tmp_path.iterdir()
    }
    signs = {
        "raises": "IndexError",
        "says_too_much": "shows the insides",
        "spins": "in _spins",
        "dies": "ended with -6",
        "takes_memory": "MemoryError",
        "escapes": "Permission denied",
    }
    assert kept.keys() == signs.keys()
    assert [name for name, sign in signs.items() if sign not in kept[name]] == []
    assert not Path("/tmp/fuzz-was-here").exists()


@pytest.mark.long
def test_what_was_found_once_is_accepted_or_refused_in_one_line() -> None:
    inputs = sorted(file for file in FOUND_ONCE.rglob("*") if file.is_file())
    code, said = output(FUZZ, *inputs)
    assert (code, len(said.splitlines())) == (0, len(inputs)), said
