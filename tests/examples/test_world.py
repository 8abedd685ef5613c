"""The look into a world that the documents show is what the program prints."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("process")

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "examples" / "world" / "README.md", ROOT / "docs" / "worlds.md")


def run(*arguments):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_example_is_what_it_prints(tmp_path):
    sizes = ("--entities", 600, "--seed", 7)
    run("-m", "branchwise", "world", "make", *sizes, "--out", tmp_path / "W")
    printed = run(ROOT / "examples" / "world" / "look.py", tmp_path / "W")
    for page in PAGES:
        shown = page.read_text(encoding="utf-8")
        assert f"```\n{printed}```" in shown, f"{page}: after a change of prose, print it anew"


def test_a_look_without_a_world_is_told_in_a_line(tmp_path):
    for arguments, says in (([], "usage: "), ([tmp_path], "is not a world")):
        look = [sys.executable, ROOT / "examples" / "world" / "look.py", *arguments]
        done = subprocess.run([*map(str, look)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
