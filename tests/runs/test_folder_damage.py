"""The benchmark of damaged folders, in small: refused in one line, or answering as whole ones."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("process")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "folder_damage.py"


@pytest.mark.long
def test_no_damaged_folder_answers_otherwise():
    command = [sys.executable, str(SCRIPT), "--copies", "20", "--studies", "10", "--seed", "11"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counts = [line.split(maxsplit=1) for line in ended.stdout.splitlines() if line.startswith(" ")]
    assert sum(int(count) for count, _ in counts) == 30
    # The most of any hundred copies are refused.
    assert {f"{name}: refused" for name in ("corpus", "graph", "study")} <= {
        what for _, what in counts
    }
