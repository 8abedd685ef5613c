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


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("task", 8),
        ("event", 3),
        ("setting", 3),
        ("retriever", 3),
        ("metric", 2),
        ("table", 3),
        ("plugin-kind", 4),
        ("form", 4),
    ],
)
def test_an_example_of_a_contribution_still_applies(name, most):
    diff = ROOT / "docs" / "contributing" / f"{name}.diff"
    assert diff.read_text("utf-8").count("\ndiff --git") + 1 <= most
    subprocess.run(["git", "apply", "--check", str(diff)], cwd=ROOT, check=True)
