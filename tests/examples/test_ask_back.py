"""The plain asyncio example asks, asks again where a choice is none, and answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASKED = """\
  1  King Kong (1933 film)
  2  King Kong (2005 film)
  3  King Kong (1976 film)
Choose: """


@pytest.mark.slow
def test_the_example_runs_as_its_docstring_says(process: None) -> None:
    program = ROOT / "examples" / "graph" / "ask_back.py"
    made = subprocess.run(
        [sys.executable, program, "Who directed King Kong?"],
        input="7\nKing Kong (1976 film)\n",
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "BRANCHWISE_MODEL": "offline"},
        check=True,
    )
    first, again, answer = made.stdout.split("Choose: ")
    assert first.startswith("Which one: King Kong (1933 film), ")
    assert again.startswith("unknown option 7; ")
    for asked in (first, again):
        assert f"{asked}Choose: ".endswith(ASKED)
    assert answer.startswith("King Kong (1976 film): John Guillermin")
    assert "king-kong-1976-film" in answer
    assert made.stderr == ""
