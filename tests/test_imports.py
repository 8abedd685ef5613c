"""What may be imported, and when; that imports go down is lint's (pyproject's import contract)."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from support.rooms import PROJECT, ROOMS, ROOT, product_files

HEAVY = {
    "anthropic", "faiss", "google", "httpx", "langchain_anthropic", "langchain_core",
    "langchain_google_genai", "langchain_mistralai", "langchain_openai", "langgraph", "matplotlib",
    "mcp", "numpy", "openai", "pydantic", "scipy", "sentence_transformers", "starlette", "torch",
    "transformers", "uvicorn",
}  # fmt: skip


@cache
def imported_modules(file: Path) -> set[str]:
    """Every module that a file imports anywhere, type-checking imports included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_every_package_at_the_root_is_a_room():
    packages = {home.parent.name for home in ROOT.glob("*/__init__.py")}
    assert packages - {"examples"} == {*ROOMS}


LOADED = """
import sys
from branchwise.__main__ import main
try:
    main()
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("arguments", "needed"), [(["--help"], set()), (["run", "--help"], {"pydantic"})]
)
def test_help_loads_no_heavy_library(arguments, needed):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True
    )
    modules = done.stderr.split()
    assert "branchwise.cli" in modules
    assert not (HEAVY - needed) & {name.split(".")[0] for name in modules}
    assert not {"branchwise.api", "branchwise.commands.running", "branchwise.runs.store"} & {
        *modules
    }


@pytest.mark.slow
def test_every_package_that_is_imported_is_required_by_name():
    project = PROJECT["project"]
    extras = [line for extra in project["optional-dependencies"].values() for line in extra]
    required = {distribution_name(line) for line in (*project["dependencies"], *extras)}
    used = {name.split(".")[0] for file in product_files() for name in imported_modules(file)}
    owners = packages_distributions()
    for module in used - sys.stdlib_module_names - {"branchwise"}:
        named = {distribution_name(name) for name in owners.get(module, ())}
        assert not named or named & required, f"{module} is of {named}: name it in pyproject.toml"


def distribution_name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-").replace(".", "-")


def test_the_offline_reader_shares_no_code_with_what_makes_questions():
    for file in (ROOT / "agents" / "offline").glob("*.py"):
        own = {m for m in imported_modules(file) if m.startswith("branchwise.")}
        assert all(m.startswith("branchwise.agents.offline") for m in own), file
