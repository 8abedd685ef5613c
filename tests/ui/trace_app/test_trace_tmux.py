"""The real program from its start to its end, as a person at a terminal uses it."""

import asyncio
from pathlib import Path

import pytest

from branchwise.runs.store import RunStore
from support.needs import needs_program
from support.ui.trace_app.film_runs import other_run, outcome
from support.ui.trace_app.lost_run import lost_run
from support.ui.trace_app.tmux import Tmux

pytestmark = [needs_program("tmux"), pytest.mark.usefixtures("terminal")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lost_run(tmp_path / "lost")
    other_run(tmp_path / "other")
    return tmp_path


def test_runs_are_listed_walked_compared_and_followed(folder: Path) -> None:
    with Tmux(folder, "trace", folder / "lost", folder / "other", "--live") as tmux:
        tmux.wait_for("2 questions · in the run's order", "lost", "1/2", "other", "3/6", "q Quit")
        _arrange(tmux)
        _walk(tmux)
        _compare(tmux)
        _follow(tmux, folder / "lost")
        tmux.keys("q")
        tmux.wait_for("ended with 0")


def _arrange(tmux: Tmux) -> None:
    """Sort, filter, and undo both; what is typed at once goes where it belongs."""
    tmux.keys("s")
    tmux.wait_for("by id")
    tmux.keys("/heat")
    assert "Who is in Kin" not in tmux.wait_for("1 of 2 questions: “heat”")
    tmux.keys("Enter", "x")
    tmux.wait_for("2 questions · in the run's order", "Who is in Kin")
    tmux.keys("/heat", "Enter", "x")
    tmux.wait_for("2 questions · in the run's order", "Who is in Kin")


def _walk(tmux: Tmux) -> None:
    """A trace, its keys, the step at which an answer was lost, both sizes."""
    tmux.keys("Enter")
    tmux.wait_for(": answer", "turn 1: 2 calls", "m Missing")
    tmux.keys("?")
    tmux.wait_for("To where the next missing answer was lost")
    # Not "m" at once: behind an escape it would be alt+m.
    tmux.keys("Escape")
    tmux.wait_for(": answer", "m Missing")
    tmux.keys("m")
    tmux.wait_for("Ashley Judd: left out by the agent", "step 6: tool", "wd:Q2   Ashley Judd")
    tmux.keys("a")
    tmux.wait_for("✓ Al Pacino", "○ Robert De Niro")
    tmux.keys("a")
    tmux.wait_for("step 6: tool")
    tmux.resize(200, 60)
    tmux.wait_for("step 6: tool", "wd:Q2   Ashley Judd", "never retrieved", "gold 5")


def _compare(tmux: Tmux) -> None:
    """The same question in the other run, and back to the list."""
    tmux.keys("c")
    tmux.wait_for("›lost", "other", "here they part")
    tmux.keys("q")
    tmux.wait_for("m Missing")
    tmux.keys("q")
    tmux.wait_for("q Quit")


def _follow(tmux: Tmux, run: Path) -> None:
    """What another process writes is shown without a key."""
    with RunStore(run) as store:
        journal = store.begin(next(iter(store.pending())))
        journal.event("start", {"system": "", "content": "Who?", "artifact": {"passages": []}})
        asyncio.run(journal.finish("done", outcome({"default": ["Fay Wray"]}, tokens=10)))
    tmux.wait_for("2/2", "1.00 1.00 1.00")
    tmux.keys("Down", "Enter")
    tmux.wait_for("lost  done", "question Who?")
    tmux.keys("q")
    tmux.wait_for("q Quit")
