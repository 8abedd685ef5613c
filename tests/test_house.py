"""How large the house may be: `tests/house.toml` states it, and only falls.

A number rises in a feature's own commit, by what the feature takes, with a comment beside it that
says why. One that is far above what there is has to be lowered. To state all numbers as they are:

    .venv/bin/python tests/test_house.py
"""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from support.rooms import ROOMS, ROOT, product_files

HOUSE = ROOT / "tests" / "house.toml"
STATED = tomllib.loads(HOUSE.read_text("utf-8"))
ANEW = "state it by `.venv/bin/python tests/test_house.py`, and say why in a comment beside it"
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
SLACK = 1.03
"""What may be stated above what there is, so that not every commit has to lower a number."""


def lines(files) -> int:
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


@cache
def functions() -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    trees = [ast.parse(file.read_text("utf-8")) for file in product_files()]
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def own_imports() -> set[ast.ImportFrom]:
    """Imports of our own modules in functions, which load a heavy library or close a circle."""
    inside = {node for function in functions() for node in ast.walk(function)}
    return {
        node
        for node in inside
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("branchwise")
    }


def written(*patterns: str) -> list[Path]:
    return [file for pattern in patterns for file in ROOT.glob(pattern)]


def measured(part: str) -> dict[str, int]:
    if part in ROOMS:
        files = [*product_files(part)]
        return {"files": len(files), "lines": lines(files)}
    return {
        "longest_file": max(lines([file]) for file in product_files()),
        "longest_function": max((f.end_lineno or 0) - f.lineno + 1 for f in functions()),
        "imports_in_functions": len(own_imports()),
        "tests": lines(written("tests/**/*.py")),
        "docs": lines(written("*.md", "docs/**/*.md", "docs/contributing/*.diff")),
        "words_of_architecture": len((ROOT / "docs/architecture.md").read_text("utf-8").split()),
        "performance": lines(written("docs/performance.md")),
    }


@pytest.mark.slow
@pytest.mark.parametrize("part", ["all", *ROOMS])
def test_the_house_is_as_large_as_stated(part):
    stated, there = STATED[part], measured(part)
    assert stated.keys() == there.keys()
    for what, size in there.items():
        assert size <= stated[what], f"{part}: {what} grew to {size} from {stated[what]}; {ANEW}"
        lower = f"{part}: {what} fell to {size} from {stated[what]}; {ANEW}"
        assert stated[what] <= max(size * SLACK, size + 2), lower


def state_anew() -> None:
    """Write the numbers as they are; comments stay."""
    lines_anew, there = [], {}
    for line in HOUSE.read_text("utf-8").splitlines(keepends=True):
        if part := re.match(r"\[(\w+)\]", line):
            there = measured(part[1])
        elif name := re.match(r"\w+(?= = )", line):
            line = re.sub(r"\d+", str(there[name[0]]), line, count=1)
        lines_anew.append(line)
    HOUSE.write_text("".join(lines_anew), "utf-8")


if __name__ == "__main__":
    state_anew()
