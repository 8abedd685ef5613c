"""Errors that nobody kept are worked out beside the trace, which is shown at once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.ui.trace_app import background
from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.trace_app.background import WORKING
from branchwise.ui.trace_app.compare_screen import CompareScreen
from branchwise.ui.trace_app.trace_screen import TraceScreen
from branchwise.ui.traces.answers import judged
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Trace
from support.ui.trace_app.lost_run import EXTRACTION, QUERY, lost_run
from support.ui.trace_app.screen_text import check_frame, screen_text
from support.ui.trace_app.waiting import driven, until

LARGE = (200, 60)


class Gate:
    """Lets the real judging go on when the test says so."""

    def __init__(self) -> None:
        self.open, self.begun = Event(), 0

    def judged(self, trace: Trace, errors: ItemErrors | None = None) -> Trace:
        if errors is not None:
            return judged(trace, errors)
        self.begun += 1
        assert self.open.wait(60)
        return judged(trace)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """No screen waits, and nothing is judged before the gate is open."""
    made = Gate()
    monkeypatch.setattr(background, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(background, "judged", made.judged)
    yield made
    made.open.set()


@pytest.fixture
def lost(tmp_path: Path, open_run: Callable[[Path], RunView]) -> RunView:
    return open_run(lost_run(tmp_path / "lost"))


def shown(app: TraceApp) -> TraceScreen:
    assert isinstance(app.screen, TraceScreen)
    return app.screen


async def test_steps_are_there_first_and_the_selection_stays(
    lost: RunView, gate: Gate, size: tuple[int, int]
) -> None:
    async with driven(TraceApp([lost], start=OpenQuestion("heat")), size) as (app, pilot):
        await until(pilot, lambda: WORKING in screen_text(app))
        assert "wikisparql" in screen_text(app)
        await pilot.press("home", *["down"] * 6)
        assert shown(app).step == QUERY
        await pilot.press("a", *(["a"] if size == LARGE else []), "down")
        assert "· Al Pacino" in screen_text(app), "answers are not judged it yet"
        check_frame(app)
        gate.open.set()
        await until(pilot, lambda: WORKING not in screen_text(app))
        text = screen_text(app)
        assert "✓ Al Pacino" in text
        assert "○ Jon Voight" in text
        assert "✗ James Woods" in text
        assert shown(app).step == QUERY


async def test_a_loss_that_was_asked_for_too_early_is_gone_to_later(
    lost: RunView, gate: Gate
) -> None:
    async with driven(TraceApp([lost], start=OpenQuestion("heat")), LARGE) as (app, pilot):
        await until(pilot, lambda: WORKING in screen_text(app))
        await pilot.press("m")
        assert shown(app).step == 8
        gate.open.set()
        await until(pilot, lambda: shown(app).step == QUERY)
        assert "Ashley Judd: left out by the agent" in screen_text(app)


async def test_whoever_has_gone_on_is_not_taken_back(lost: RunView, gate: Gate) -> None:
    async with driven(TraceApp([lost], start=OpenQuestion("heat")), LARGE) as (app, pilot):
        await until(pilot, lambda: WORKING in screen_text(app))
        await pilot.press("m", "home", "down", "down", "down", "down")
        assert shown(app).step == EXTRACTION
        gate.open.set()
        await until(pilot, lambda: WORKING not in screen_text(app))
        assert shown(app).step == EXTRACTION


async def test_another_question_is_not_given_the_errors_of_the_first(
    base: RunView, gate: Gate
) -> None:
    async with driven(TraceApp([base], start=OpenQuestion("heat")), LARGE) as (app, pilot):
        await until(pilot, lambda: gate.begun == 1)
        await pilot.press("n")
        await until(pilot, lambda: gate.begun == 2)
        gate.open.set()
        await until(pilot, lambda: WORKING not in screen_text(app))
        trace = shown(app).trace
        assert trace is not None
        assert trace.errors is not None
        assert trace.errors.id == trace.line.id == "alien"
        assert "✗ James Cameron" in screen_text(app)


async def test_what_cannot_be_judged_is_one_line(
    lost: RunView, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(trace: Trace) -> Trace:
        raise ValueError("no [bold]way\nto judge")

    monkeypatch.setattr(background, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(background, "judged", broken)
    app = TraceApp([lost], start=OpenQuestion("heat"))
    async with app.run_test(size=LARGE, notifications=True) as pilot:
        await until(pilot, lambda: "no [bold]way to judge" in screen_text(app))
        assert WORKING not in screen_text(app)
        assert "· Al Pacino" in screen_text(app)
        await pilot.press("down", "m")
        assert "these answers are not judged" in screen_text(app)


async def test_two_runs_are_judged_beside_their_comparison(
    base: RunView, other: RunView, gate: Gate
) -> None:
    app = TraceApp([base, other], start=OpenQuestion("heat", compare=True))
    async with app.run_test(size=LARGE, notifications=True) as pilot:
        await until(pilot, lambda: WORKING in screen_text(app))
        assert isinstance(app.screen, CompareScreen)
        await pilot.press("a")
        assert "○ Robert De Niro" not in screen_text(app)
        gate.open.set()
        await until(pilot, lambda: "○ Robert De Niro" in screen_text(app))
        check_frame(app)
