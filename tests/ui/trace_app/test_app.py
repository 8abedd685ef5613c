"""What holds for all screens: help, palette, live runs, faults, the end."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.binding import Binding

from branchwise.base.errors import InputError
from branchwise.runs.store import RunStore
from branchwise.ui.trace_app import app as app_module
from branchwise.ui.trace_app.app import TraceApp
from branchwise.ui.trace_app.background import run_aside
from branchwise.ui.trace_app.compare_screen import CompareScreen
from branchwise.ui.trace_app.trace_screen import TraceScreen
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import RunView
from support.ui.hostile_trace import hostile_run
from support.ui.trace_app.film_runs import GOLD, base_run, begin, fail, finish, new_run
from support.ui.trace_app.question_list import AGAIN, listed, under_cursor
from support.ui.trace_app.screen_text import check_frame, check_snapshot, screen_lines, screen_text
from support.ui.trace_app.waiting import driven, means_shown, resized, until


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[RunView]:
    """A run of which nothing has begun."""
    new_run(tmp_path / "fresh", {"model": "offline"})
    run = RunView.open(tmp_path / "fresh")
    yield run
    run.close()


@pytest.fixture
def unlabelled(tmp_path: Path) -> Iterator[RunView]:
    """A run of which nobody has worked out where answers were lost."""
    run = RunView.open(base_run(tmp_path / "base"))
    yield run
    run.close()


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[RunView]:
    """A run whose every text attacks."""
    run = RunView.open(hostile_run(tmp_path / "hostile"))
    yield run
    run.close()


def row_of(app: TraceApp, word: str) -> str:
    """The line of the screen on which the question that ends with a word stands."""
    return next(line for line in screen_lines(app) if f" {word}?" in line.lower())


async def test_help_lists_every_key_of_the_screen(base: RunView, other: RunView) -> None:
    async with driven(TraceApp([base, other]), (80, 40)) as (app, pilot):
        described = {
            binding.tooltip
            for _, binding, _, _ in app.screen.active_bindings.values()
            if binding.tooltip
        }
        assert len(described) > 20
        await pilot.press("question_mark")
        await pilot.pause()
        shown = screen_text(app)
        assert [tooltip for tooltip in described if tooltip not in shown] == []
        await means_shown(pilot)
        check_snapshot(app, "help")
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 1


async def test_help_is_wrapped_where_it_is_narrow(base: RunView) -> None:
    async with driven(TraceApp([base]), (40, 100)) as (app, pilot):
        described = [b.tooltip for _, b, _, _ in app.screen.active_bindings.values() if b.tooltip]
        await pilot.press("question_mark")
        await pilot.pause()
        words = " ".join(screen_text(app).replace("│", " ").split())
        assert max(map(len, described)) > 30
        # A key stands before what it does, not within.
        assert [tooltip for tooltip in described if tooltip not in words] == []
        check_frame(app)
        await resized(pilot, 100, 60)
        await pilot.pause()
        assert [tooltip for tooltip in described if tooltip not in screen_text(app)] == []


def test_every_key_in_the_footer_is_explained() -> None:
    screens = [TraceApp, app_module.QuestionsScreen, TraceScreen, CompareScreen]
    bindings = [b for screen in screens for b in screen.BINDINGS if isinstance(b, Binding)]
    assert [b.description for b in bindings if b.show and not b.tooltip] == []


async def test_the_palette_does_what_keys_do(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        await pilot.press("ctrl+p", *"subset")
        await until(pilot, lambda: "unambiguous questions" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1 and listed(app) == ["kong"])


async def test_labels_that_nobody_saved_fill_themselves_in(unlabelled: RunView) -> None:
    async with driven(TraceApp([unlabelled])) as (app, pilot):
        await until(pilot, lambda: "retrieved but lost" in row_of(app, "heat"))
        await until(pilot, lambda: "unsupported" in row_of(app, "alien"))


async def test_a_live_run_fills_in_and_the_cursor_stays(
    fresh: RunView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "FOLLOW_SECONDS", 0.02)
    async with driven(TraceApp([fresh], live=True)) as (app, pilot):
        await pilot.press("down", "down")
        with RunStore(fresh.path) as store:
            pending = {item.question.id: item for item in store.pending()}
            await begin(store, pending["heat"])
            await until(pilot, lambda: "»" in row_of(app, "heat"))
            await finish(store, pending["kong"], GOLD["kong"][1])
            await until(pilot, lambda: "1.00 1.00 1.00" in row_of(app, "kong"))
            await fail(store, pending["jaws"], "no [bold]answer")
            await until(pilot, lambda: "failed" in row_of(app, "jaws"))
            await until(pilot, lambda: "2/6 (1 failed)" in screen_lines(app)[0])
        assert under_cursor(app) == "alien"


async def test_a_run_that_is_not_followed_is_read_again_on_demand(fresh: RunView) -> None:
    async with driven(TraceApp([fresh])) as (app, pilot):
        await until(pilot, lambda: "Kong" in screen_text(app))
        with RunStore(fresh.path) as store:
            first = next(iter(store.pending()))
            await finish(store, first, GOLD["kong"][1])
        assert "0/6" in screen_lines(app)[0]
        assert screen_lines(app)[1].rstrip().endswith(AGAIN)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "1/6" in screen_lines(app)[0])
        await until(pilot, lambda: "1.00 1.00 1.00" in row_of(app, "kong"))


async def test_a_question_that_the_other_run_lacks_is_one_line(
    base: RunView, hostile: RunView
) -> None:
    async with driven(TraceApp([base, hostile]), notifications=True) as (app, pilot):
        await pilot.press("c")
        await until(pilot, lambda: "has no question 'kong'" in screen_text(app))
        assert len(app.screen_stack) == 1


async def test_hostile_texts_stay_in_their_cells(hostile: RunView, size: tuple[int, int]) -> None:
    async with driven(TraceApp([hostile]), size, notifications=True) as (app, pilot):
        check_frame(app)
        await pilot.press("s", "s", "t")
        check_frame(app)
        await pilot.press("escape", "slash", *"[bold]", "enter")
        check_frame(app)
        assert "“[bold]”" in screen_text(app)
        app.fail(InputError("what \x1b[31m[bold]happened[/bold]\n\nhere"))
        await until(pilot, lambda: "[bold]happened[/bold]" in screen_text(app))
        check_frame(app)


async def test_a_row_that_cannot_be_read_says_so_and_the_others_are_shown(
    base: RunView, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = RunView.line

    def line(self: RunView, row: int) -> ItemLine:
        if row == 1:
            raise InputError("a record of the run is damaged")
        return read(self, row)

    monkeypatch.setattr(RunView, "line", line)
    app = TraceApp([base])
    async with app.run_test(size=(200, 60)):
        assert "a record of the run is damaged" in screen_text(app)
        assert "Who directed Alien?" in screen_text(app)


async def test_work_aside_brings_its_result_or_one_line(base: RunView) -> None:
    app = TraceApp([base])
    results: list[int] = []

    def broken() -> int:
        raise ValueError("broken [bold]in\ntwo")

    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        run_aside(app, lambda: 7, results.append, app.fail)
        await until(pilot, lambda: results == [7])
        run_aside(app, broken, results.append, app.fail)
        await until(pilot, lambda: "broken [bold]in two" in screen_text(app))
        assert results == [7]


QUITS_AT_ONCE = """
import sys
from pathlib import Path
from threading import Event
from branchwise.ui.trace_app.app import TraceApp
from branchwise.ui.trace_app.background import run_aside
from branchwise.ui.traces.runs import RunView

begun = Event()

def label_some(self, seconds):
    begun.set()
    Event().wait()

RunView.label_some = label_some
run = RunView.open(Path(sys.argv[1]))
app = TraceApp([run])

async def drive(pilot):
    run_aside(app, Event().wait, print, app.fail)
    while not begun.is_set():
        await pilot.pause(0.01)
    await pilot.press("q")

app.run(headless=True, auto_pilot=drive)
print("ended", len(run.lines()))
"""


@pytest.mark.usefixtures("process")
def test_the_app_ends_at_once_while_threads_are_at_work(tmp_path: Path) -> None:
    path = base_run(tmp_path / "base")
    command = [sys.executable, "-c", QUITS_AT_ONCE, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout.strip()[-7:]) == (0, "ended 6"), ended.stderr
