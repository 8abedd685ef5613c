"""Runs that are open, and what tests of the app share."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchwise.ui.trace_app import background
from branchwise.ui.traces.runs import RunView
from support.ui.trace_app.film_runs import base_run, other_run
from support.ui.trace_app.waiting import PATIENCE

SIZES = [(80, 24), (200, 60)]


@pytest.fixture(params=SIZES, ids=["80x24", "200x60"])
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    """The two sizes that everything has to work at."""
    return request.param


@pytest.fixture
def open_run() -> Iterator[Callable[[Path], RunView]]:
    """Open a run with its labels worked out, so that no thread decides what a screen shows."""
    opened: list[RunView] = []

    def open_labelled(path: Path) -> RunView:
        view = RunView.open(path)
        opened.append(view)
        while view.label_some(10):
            pass
        return view

    yield open_labelled
    for view in opened:
        view.close()


@pytest.fixture
def base(tmp_path: Path, open_run: Callable[[Path], RunView]) -> RunView:
    """`film_runs.base_run`, open."""
    return open_run(base_run(tmp_path / "base"))


@pytest.fixture
def other(tmp_path: Path, open_run: Callable[[Path], RunView]) -> RunView:
    """`film_runs.other_run`, open."""
    return open_run(other_run(tmp_path / "other"))


@pytest.fixture(autouse=True)
def _judged_at_once(monkeypatch: pytest.MonkeyPatch, terminal: None) -> None:
    """Where answers were lost is waited for, so that no thread decides what a screen shows."""
    monkeypatch.setattr(background, "AT_ONCE_SECONDS", 60.0)


@pytest.fixture(autouse=True)
def _patient_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual gives a screen thirty seconds, which a hostile one needs on a busy machine."""
    patient = functools.partialmethod(Pilot._wait_for_screen, timeout=PATIENCE)
    monkeypatch.setattr(Pilot, "_wait_for_screen", patient)
