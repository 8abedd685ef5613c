"""What the documents point at is there."""

import re
import subprocess
from pathlib import Path

import click
import pytest
import typer.main

from branchwise.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*/*.md")])

ANEW = """What it builds on has changed. Commit your own change, then make the example anew:
  git worktree add --detach ../anew && cd ../anew
  git apply --3way docs/contributing/{name}.diff  # and mend what it marks
  git add --all && git diff --cached -U1 > {diff}
  cd - && git worktree remove --force ../anew
"""
"""One line of context: fewer changes meet it."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_options_exist(page):
    group = typer.main.get_command(app)
    blocks = "\n".join(re.findall(r"```\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    for line in re.findall(r"^branchwise (.*(?:\\\n.*)*)", blocks, re.MULTILINE):
        words = line.split("#")[0].split()
        command = group
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), words.pop(0))
            assert command, line
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_modules_that_a_page_names_exist(page):
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text(encoding="utf-8"))
    ours = set(named) - {"codes/ambigqa_evaluate_script.py"}  # of AmbigQA's repository
    assert {path for path in ours if not (ROOT / path).is_file()} == set()


def test_paths_that_the_map_names_exist():
    for line in (ROOT / "docs" / "architecture.md").read_text("utf-8").splitlines():
        room = re.match(r"\| `([a-z]+/)` \|", line)
        folder = ROOT / room[1] if room else ROOT
        for name in re.findall(r"`([a-z_./*]+)`", line.removeprefix(room[0] if room else "")):
            if "/" in name or name.endswith(".py"):
                there = [*folder.glob(name), *folder.glob(f"{name}/**/*")]
                assert any(path.is_file() and path.suffix != ".pyc" for path in there), name


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("task", 9),
        ("event", 3),
        ("setting", 1),
        ("retriever", 2),
        ("metric", 1),
        ("table", 2),
        ("plugin-kind", 3),
        ("form", 2),
    ],
)
def test_an_example_of_a_contribution_still_applies(name, most):
    diff = ROOT / "docs" / "contributing" / f"{name}.diff"
    changed = re.findall(r"^diff --git a/(\S+)", diff.read_text("utf-8"), re.MULTILINE)
    assert len([path for path in changed if not path.startswith(("tests/", "examples/"))]) <= most
    check = ["git", "apply", "--check", str(diff)]
    applied = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert applied.returncode == 0, applied.stderr + ANEW.format(name=name, diff=diff)
