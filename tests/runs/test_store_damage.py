"""The benchmark of damaged copies, in small: each is whole, saved, or refused with one line."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("process")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "store_damage.py"


@pytest.mark.long
def test_no_damaged_copy_surprises():
    command = [sys.executable, str(SCRIPT), "--copies", "30", "--questions", "4", "--seed", "11"]
    ended = subprocess.run(
        [*command, "--patience", "0"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counts = [line.split(maxsplit=1) for line in ended.stdout.splitlines() if line.startswith(" ")]
    assert sum(int(count) for count, _ in counts) == 30
    # Of which kind a copy is depends on where its rows lie; most of any thousand are recovered.
    assert any(what.startswith("recovered") for _, what in counts)
