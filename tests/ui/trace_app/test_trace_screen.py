"""One question's trace: walked, jumped through, copied, paged, exported, followed."""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from branchwise.agents.journal import CallKey
from branchwise.runs.store import RunStore
from branchwise.runs.store.run_store import ItemJournal
from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.trace_app.terminal import pager_command
from branchwise.ui.trace_app.trace_screen import TraceScreen
from branchwise.ui.traces.runs import RunView
from support.ui.hostile_trace import hostile_run
from support.ui.trace_app.film_runs import outcome
from support.ui.trace_app.lost_run import (
    EXTRACTION,
    QUERY,
    QUESTION,
    SEARCH,
    SECOND,
    events,
    lost_run,
    new_run,
)
from support.ui.trace_app.screen_text import (
    check_frame,
    check_snapshot,
    place_of,
    screen_lines,
    screen_text,
    style_of,
)
from support.ui.trace_app.waiting import driven, resized

Size = tuple[int, int]
SMALL: Size = (80, 24)
LARGE: Size = (200, 60)


@pytest.fixture
def lost(tmp_path: Path, open_run: Callable[[Path], RunView]) -> RunView:
    return open_run(lost_run(tmp_path / "lost"))


@pytest.fixture
def hostile(tmp_path: Path, open_run: Callable[[Path], RunView]) -> RunView:
    return open_run(hostile_run(tmp_path / "hostile"))


@pytest.fixture
def huge(tmp_path: Path, open_run: Callable[[Path], RunView]) -> RunView:
    """Such a run with a passage of a million characters."""
    return open_run(hostile_run(tmp_path / "huge", line=1_000_000))


def at(run: RunView, question: str = "heat", step: int | None = None) -> TraceApp:
    return TraceApp([run], start=OpenQuestion(question, step=step))


def trace_screen(app: TraceApp) -> TraceScreen:
    screen = app.screen
    assert isinstance(screen, TraceScreen)
    return screen


async def test_a_trace_opens_at_its_answer(lost: RunView, size: Size) -> None:
    async with driven(at(lost), size) as (app, _pilot):
        check_frame(app)
        check_snapshot(app, "trace")


async def test_a_step_that_is_not_there_is_said(lost: RunView) -> None:
    async with driven(at(lost, step=99)) as (app, _pilot):
        assert trace_screen(app).step == 0
        assert "no step 99" in screen_text(app)


async def test_steps_are_walked_by_keys_and_mouse(lost: RunView, size: Size) -> None:
    async with driven(at(lost), size) as (app, pilot):
        await pilot.press("home", "down", "j")
        assert trace_screen(app).step == SEARCH
        assert "[p0] Heat, part p0" in screen_text(app)
        await pilot.press("end")
        assert trace_screen(app).step == 8
        await pilot.press("k", "up", "up", "up")
        assert trace_screen(app).step == EXTRACTION
        await pilot.click(offset=place_of(app, "wikisparql"))
        assert trace_screen(app).step == QUERY
        check_frame(app)


async def test_reasoning_is_folded_until_it_is_asked_for(lost: RunView, size: Size) -> None:
    async with driven(at(lost, step=1), size) as (app, pilot):
        assert "I look for the cast" not in screen_text(app)
        await pilot.press("space")
        assert "I look for the cast" in screen_text(app)
        await pilot.press("space", "r")
        assert "I look for the cast" in screen_text(app)
        await pilot.press("r")
        assert "I look for the cast" not in screen_text(app)


async def test_passages_are_gone_through_from_the_steps(lost: RunView) -> None:
    async with driven(at(lost, step=SEARCH)) as (app, pilot):
        await pilot.press("J", "J", "J")
        top = screen_lines(app)[2].split("│")[1]
        assert top.strip().startswith("▾ [p2]")
        await pilot.press("K")
        assert "[p1]" in screen_lines(app)[2]


async def test_one_key_leads_to_each_loss_in_turn(lost: RunView, size: Size) -> None:
    async with driven(at(lost), size) as (app, pilot):
        await pilot.press("m")
        assert trace_screen(app).step == QUERY
        row = place_of(app, "wd:Q2   Ashley Judd")
        assert style_of(app, "Ashley Judd: left out by the agent").bold
        assert row
        await pilot.press("m")
        assert "Jon Voight: never retrieved" in screen_text(app)
        assert trace_screen(app).step == QUERY
        await pilot.press("m")
        assert trace_screen(app).step == SEARCH
        assert "Robert De Niro is Neil." in screen_text(app)
        assert style_of(app, "Robert De Niro is Neil.").underline
        await pilot.press("m")
        assert trace_screen(app).step == SECOND
        assert "Val Kilmer robs." in screen_text(app)
        await pilot.press("M")
        assert trace_screen(app).step == SEARCH
        check_frame(app)


async def test_answers_take_the_place_of_the_step_where_it_is_narrow(lost: RunView) -> None:
    async with driven(at(lost)) as (app, pilot):
        assert trace_screen(app).step == 8
        await pilot.press("a")
        check_snapshot(app, "trace-answers")
        await pilot.click(offset=place_of(app, "Robert De Niro"))
        assert trace_screen(app).step == SEARCH
        assert "Robert De Niro is Neil." in screen_text(app)
        assert "James Woods" not in screen_text(app)


async def test_the_step_alone_has_the_whole_width(lost: RunView, size: Size) -> None:
    async with driven(at(lost, step=SEARCH), size) as (app, pilot):
        await pilot.press("z")
        assert "wikisparql" not in screen_text(app)
        assert "James Woods" not in screen_text(app)
        assert screen_lines(app)[2].strip().startswith("step 2")
        check_frame(app)
        await pilot.press("z")
        assert "wikisparql" in screen_text(app)


async def test_next_and_before_follow_the_list(lost: RunView) -> None:
    async with driven(at(lost)) as (app, pilot):
        await pilot.press("n")
        assert "Who is in King Kong?" in screen_text(app)
        assert "nothing recorded yet" in screen_text(app)
        await pilot.press("n")
        assert "Who is in King Kong?" in screen_text(app)
        await pilot.press("p")
        assert QUESTION in screen_text(app)


async def test_a_pending_item_takes_every_key(lost: RunView, size: Size) -> None:
    async with driven(at(lost, "kong"), size) as (app, pilot):
        await pilot.press("m")
        assert "answers are not judged" in screen_text(app)
        for key in ("M", "a", "down", "enter", "space", "r", "J", "K", "y", "o", "z", "end"):
            await pilot.press(key)
            check_frame(app)


async def test_a_failed_item_shows_its_error_above_and_leads_to_it(base: RunView) -> None:
    async with driven(at(base, "jaws")) as (app, pilot):
        assert "✗ the server said 500 [bold]five hundred[/bold]" in screen_text(app)
        await pilot.press("m")
        assert trace_screen(app).step == 1


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pager that keeps what it got; its path has a blank."""
    kept = tmp_path / "what it got.txt"
    script = tmp_path / "my pager.py"
    script.write_text("import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())")
    words = [sys.executable, str(script), str(kept)]
    monkeypatch.setenv("PAGER", shlex.join(words))
    return kept


def _kept(pager: Path) -> str:
    return pager.read_text("utf-8")


async def test_the_part_under_the_cursor_is_opened_in_the_pager(lost: RunView, pager: Path) -> None:
    async with driven(at(lost, step=SEARCH)) as (_app, pilot):
        await pilot.press("m", "m", "m", "o")
        got = _kept(pager)
        assert "[p12]" in got
        assert got.rstrip().endswith("Robert De Niro is Neil.")
        assert "[p13]" not in got


async def test_a_huge_passage_reaches_the_pager_whole_and_harmless(
    huge: RunView, pager: Path
) -> None:
    async with driven(at(huge, "hostile")) as (_app, pilot):
        await pilot.press("m", "m", "o")
        got = _kept(pager)
        assert len(got) > 1_000_000
        assert got.replace("\n", " ").isprintable()


@pytest.mark.parametrize(
    ("command", "said"),
    [("/nowhere/pager", "does not start"), ("less 'x", "is not a command"), ("false", "")],
)
async def test_a_pager_that_fails_is_one_line(
    lost: RunView, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    monkeypatch.setenv("PAGER", command)
    async with driven(at(lost, step=SEARCH), notifications=True) as (app, pilot):
        await pilot.press("J", "o")
        await pilot.pause()
        messages = [notification.message for notification in app._notifications]
        assert [said in message for message in messages] == ([True] if said else [])
        assert trace_screen(app).step == SEARCH


def _written(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir() and "lost" not in path.parts]


def test_less_never_passes_raw_control_characters() -> None:
    assert pager_command({}) == ["less", "-+r"]
    assert pager_command({"PAGER": "/usr/bin/less -r -X"}) == ["/usr/bin/less", "-r", "-X", "-+r"]
    assert pager_command({"PAGER": "'my pager' 'a b'"}) == ["my pager", "a b"]
    assert pager_command({"PAGER": "$(reboot); x"}) == ["$(reboot);", "x"]


async def _export_to(pilot: Pilot[None], path: str) -> None:
    await pilot.press("e")
    pilot.app.screen.query_one(Input).value = path
    await pilot.press("enter")
    await pilot.pause()


async def test_a_trace_is_exported_and_nothing_is_replaced_unasked(
    lost: RunView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with driven(at(lost)) as (app, pilot):
        await pilot.press("e")
        await pilot.pause()
        assert "lost-heat.md" in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        written = (tmp_path / "lost-heat.md").read_text()
        assert "Robert De Niro" in written
        assert "SELECT ?actor ?name" in written
        mine = tmp_path / "mine.md"
        mine.write_text("mine")
        await _export_to(pilot, str(mine))
        assert "already exists" in screen_text(app)
        assert mine.read_text() == "mine"
        await pilot.press("escape")
        assert mine.read_text() == "mine"
        await _export_to(pilot, str(mine))
        await pilot.press("enter")
        await pilot.pause()
        assert mine.read_text() == written


@pytest.mark.parametrize("name", ["", "  ", "folder", "/dev/null/x.md", "x" * 5_000])
async def test_a_name_that_cannot_be_written_is_one_line(
    lost: RunView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    async with driven(at(lost)) as (app, pilot):
        await _export_to(pilot, name)
        assert not isinstance(app.screen, TraceScreen)
        check_frame(app)
        assert not _written(tmp_path)


async def _write(journal: ItemJournal, written: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """As an agent does: events travel with the response that comes after them."""
    for kind, data in written:
        journal.event(kind, data)
    await journal.keep(journal.recall(CallKey("model", "agent", str(written))), {})


async def test_a_run_that_is_written_is_followed(
    tmp_path: Path, open_run: Callable[[Path], RunView]
) -> None:
    new_run(tmp_path / "live")
    written = events()
    with RunStore(tmp_path / "live") as store:
        journal = store.begin(next(iter(store.pending())))
        await _write(journal, written[:2])
        async with driven(at(open_run(tmp_path / "live"), step=1)) as (app, pilot):
            assert trace_screen(app).step == 1
            await _write(journal, written[2:4])
            await pilot.press("ctrl+r")
            await pilot.pause()
            assert trace_screen(app).step == SECOND, "whoever is at the end goes along"
            await pilot.press("up", "J")
            await _write(journal, written[4:])
            await journal.finish("done", outcome({"default": ["Al Pacino"]}, tokens=77))
            await pilot.press("ctrl+r")
            await pilot.pause()
            assert trace_screen(app).step == SEARCH, "whoever reads stays"
            assert "[p0]" in screen_lines(app)[2]
            assert "77 tokens" in screen_text(app)
            assert "answer 1 branch" in screen_text(app)


async def test_nothing_hostile_leaves_its_place(hostile: RunView, size: Size) -> None:
    async with driven(at(hostile, "hostile"), size) as (app, pilot):
        check_frame(app)
        await pilot.press("r")
        for _ in range(len(trace_screen(app).trace.steps)):
            await pilot.press("down", "J")
            check_frame(app)
        for key in ("z", "z", "m", "a", "m", "M", "a", "n", "n", "p"):
            await pilot.press(key)
            check_frame(app)
        assert "[bold red]" in screen_text(app)


async def test_a_resize_keeps_the_step_and_the_frame(lost: RunView) -> None:
    async with driven(at(lost, step=SEARCH)) as (app, pilot):
        await pilot.press("J", "J", "J", "J")
        for width, height in ((200, 60), (40, 12), (139, 30), (140, 30), (20, 6), (80, 24)):
            await resized(pilot, width, height)
            await pilot.pause()
            check_frame(app)
            assert trace_screen(app).step == SEARCH
        assert "[p3]" in screen_lines(app)[2]


async def test_escape_closes_answers_that_stand_in_the_steps_place(lost: RunView) -> None:
    async with driven(at(lost)) as (app, pilot):
        await pilot.press("a", "escape")
        assert not trace_screen(app).has_class("-answers")
        await pilot.press("a", "q")
        assert not isinstance(app.screen, TraceScreen)


async def test_the_answers_outlive_a_window_that_becomes_narrow_or_wide(lost: RunView) -> None:
    app = at(lost, step=SEARCH)
    woods, passage = "✗ James Woods", "[p0] Heat, part p0"

    async with app.run_test(size=LARGE) as pilot:

        async def screen_at(size: Size) -> str:
            await resized(pilot, *size)
            await pilot.pause()
            check_frame(app)
            return screen_text(app)

        await pilot.pause()
        await pilot.press("a")
        text = await screen_at(SMALL)
        assert passage in text, "hidden where it is wide: the step is shown where it is narrow"
        assert woods not in text
        await pilot.press("down", "up")
        assert trace_screen(app).step == SEARCH, "the keys still go to the steps"
        assert woods not in await screen_at(LARGE), "hidden until they are asked for"
        await screen_at(SMALL)
        await pilot.press("a")
        assert woods in screen_text(app)
        assert woods in await screen_at(LARGE), (
            "asked for where it is narrow: shown where it is wide"
        )
        await pilot.press("down")
        assert woods in await screen_at(SMALL), "whoever walks the answers goes on with them"
        await pilot.press("a")
        assert passage in screen_text(app)
        assert woods not in screen_text(app)
