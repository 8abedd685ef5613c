"""How large the house may be: `tests/house.toml` states it, and only falls.

A number rises in a feature's own commit, by what the feature takes, with a line that says why. One
that is far above what there is has to be lowered.
"""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

from support.rooms import ROOMS, ROOT, product_files

STATED = tomllib.loads((ROOT / "tests" / "house.toml").read_text("utf-8"))
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


@pytest.mark.parametrize("part", ["all", *ROOMS])
def test_the_house_is_as_large_as_stated(part):
    stated, there = STATED[part], measured(part)
    assert stated.keys() == there.keys()
    for what, size in there.items():
        assert size <= stated[what], f"{part}: {what} grew to {size}; {stated[what]} is stated"
        assert stated[what] <= max(size * SLACK, size + 2), f"{part}: lower {what} to {size}"
