"""The benchmarks of damage, in small: each copy is whole, saved, or refused with one line."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.usefixtures("process"), pytest.mark.long]

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


def found_of(script, *options):
    """What became of the thirty copies that the script damages."""
    command = [sys.executable, str(SCRIPTS / script), "--seed", "11", *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counts = [line.split(maxsplit=1) for line in ended.stdout.splitlines() if line.startswith(" ")]
    assert sum(int(count) for count, _ in counts) == 30
    return {what for _, what in counts}


def test_no_damaged_copy_surprises():
    what = found_of("store_damage.py", "--copies", "30", "--questions", "4", "--patience", "0")
    # Of which kind a copy is depends on where its rows lie; most of any thousand are recovered.
    assert any(one.startswith("recovered") for one in what)


def test_no_damaged_folder_answers_otherwise():
    what = found_of("folder_damage.py", "--copies", "20", "--studies", "10")
    # The most of any hundred copies are refused.
    assert {f"{name}: refused" for name in ("corpus", "graph", "study")} <= what
