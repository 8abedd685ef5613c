"""The end of the demo: what to type next."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from branchwise.commands.demo_recorded import QUESTION, RecordedPart
from branchwise.report.terminal.console import console


class DemoResults(NamedTuple):
    """What the demo made: the run on films, the study's page, the comparison of recorded runs."""

    run: Path
    study: Path
    recorded: RecordedPart


def show_next(made: DemoResults, asked: str) -> None:
    """Print commands that go on from the demo; `asked`: a question about its world."""
    console().print("\nNext:", style="bold")
    for line in _lines(made, asked):
        console().print(f"  {line}", markup=False, soft_wrap=True)


def _lines(made: DemoResults, asked: str) -> Iterator[str]:
    program, runs = _program(), made.recorded.runs
    base, kg = (_short(runs / name) for name in ("base", "kg"))
    world = made.study.parent.parent
    yield f"{_opening(made.recorded.page)}    # part 4 as a page"
    yield f"{program} errors {base}    # each lost answer"
    yield f"{program} trace {base} {kg} --question {QUESTION}"
    yield f"{program} ask {quote(asked)} --kg {_short(world)}"
    yield f"{program} trace {_short(made.run)}"
    yield f"{program} report {_short(made.study.parent)}    # part 3"
    yield f"{program} ablate {_short(world / 'study.yaml')} --dry-run    # with your model in it"
    yield f"How part 4 was recorded, with caveats: {_short(runs / 'README.md')}"


def _program() -> str:
    """What to type for this program: its name, or its path if the name is not found."""
    started = Path(sys.argv[0])
    found = shutil.which("branchwise")
    if found and Path(found).resolve() == started.resolve():
        return "branchwise"
    return os.path.relpath(started) if started.name == "branchwise" else "python -m branchwise"


def _opening(page: Path) -> str:
    """What opens a page here in a browser."""
    known = ("open",) if sys.platform == "darwin" else ("xdg-open", "wslview")
    for program in filter(shutil.which, known):
        return f"{program} {_short(page)}"
    return f"python3 -m webbrowser {page.resolve().as_uri()}"


def _short(path: Path) -> str:
    """A path as it is typed, from the current folder where that is shorter."""
    return quote(min(str(path), os.path.relpath(path), key=len))
