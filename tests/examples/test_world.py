"""The look into a world that the documents show is what the program prints."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "examples" / "world" / "README.md"


def run(*arguments):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_example_is_what_it_prints(tmp_path):
    sizes = ("--entities", 600, "--seed", 7)
    run("-m", "branchwise", "world", "make", *sizes, "--out", tmp_path / "W")
    printed = run(ROOT / "examples" / "world" / "look.py", tmp_path / "W")
    shown = re.findall(r"```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert shown == printed, "after a change of words or prose, print the example anew"
