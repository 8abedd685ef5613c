"""Two runs on one question side by side, driven by Textual's pilot."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchwise.runs.store import RunSpec, RunStore, create_run
from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.trace_app.compare_screen import CompareScreen
from branchwise.ui.trace_app.pairs import AnswerPairs, StepPairs
from branchwise.ui.trace_app.step_view import StepView
from branchwise.ui.traces.runs import RunView
from support.ui.hostile_trace import hostile_run
from support.ui.trace_app import film_runs
from support.ui.trace_app.screen_text import check_frame, check_snapshot, screen_lines, screen_text
from support.ui.trace_app.waiting import driven, resized, until

Size = tuple[int, int]


def comparing(*runs: RunView, question: str = "heat") -> TraceApp:
    return TraceApp(list(runs), start=OpenQuestion(question, compare=True))


def steps_of(app: TraceApp) -> StepPairs:
    return app.screen.query_one(StepPairs)


def one_question(path: Path, id: str) -> Path:
    """A run of one of the questions, of which nothing has begun."""
    chosen = [question for question in film_runs.questions() if question.id == id]
    create_run(path, RunSpec("branches", "one", "d", {"model": "offline"}, {}, "s", 1, "0"), chosen)
    return path


@pytest.fixture
def hostile(tmp_path: Path, open_run: Callable[[Path], RunView]) -> RunView:
    """A run whose every text attacks, its name and folder, too."""
    return open_run(hostile_run(tmp_path / "[bold]a[-] \x1b[31m\u202ex"))


async def settled(pilot: Pilot[None]) -> None:
    """All that follows from the last key is on the screen."""
    for _ in range(3):
        await pilot.pause()


async def test_both_runs_stand_side_by_side(base: RunView, other: RunView, size: Size) -> None:
    async with driven(comparing(base, other), size) as (app, pilot):
        await settled(pilot)
        check_frame(app)
        check_snapshot(app, "compare")


async def test_a_wide_screen_shows_the_step_of_both(base: RunView, other: RunView) -> None:
    async with driven(comparing(base, other), (200, 60)) as (app, pilot):
        await settled(pilot)
        assert [view.display for view in app.screen.query(StepView)] == [True, True]
        assert sum("Al Pacino" in line for line in screen_lines(app)) == 1
        await resized(pilot, 80, 24)
        await settled(pilot)
        assert [view.display for view in app.screen.query(StepView)] == [True, False]
        check_frame(app)
        await resized(pilot, 200, 60)
        await settled(pilot)
        assert "Robert De Niro" in screen_text(app)


async def test_keys_and_clicks_walk_over_the_rows(base: RunView, other: RunView) -> None:
    async with driven(comparing(base, other), notifications=True) as (app, pilot):
        await settled(pilot)
        walked = []
        for key in ("home", "down", "j", "down", "down", "down", "up", "k", "end", "home", "d"):
            await pilot.press(key)
            walked.append(steps_of(app).row)
        assert walked == [0, 1, 2, 3, 4, 4, 3, 2, 4, 0, 4]
        await pilot.press("d")
        await settled(pilot)
        assert "no further step differs" in screen_text(app)
        await pilot.press("home")
        await pilot.click(StepPairs, offset=(60, 1))
        await settled(pilot)
        assert (steps_of(app).row, steps_of(app).side) == (1, 1)


async def test_answers_say_which_run_alone_has_one(
    base: RunView, other: RunView, size: Size
) -> None:
    async with driven(comparing(base, other), size) as (app, pilot):
        await settled(pilot)
        await pilot.press("a")
        await settled(pilot)
        text = screen_text(app)
        assert "< only base: 0" in text
        assert "> only other: 1" in text
        line = next(line for line in text.splitlines() if "Robert De Niro" in line)
        assert line.index("○ Robert De Niro") < line.index(">") < line.index("✓ Robert De Niro")
        check_frame(app)
        check_snapshot(app, "compare-answers")
        await pilot.press("a")
        await settled(pilot)
        assert "here they part" in screen_text(app)


async def test_an_answer_leads_to_the_step_where_it_was_to_be_seen(
    base: RunView, other: RunView
) -> None:
    async with driven(comparing(base, other)) as (app, pilot):
        await settled(pilot)
        await pilot.press("a", "down")
        answer = app.screen.query_one(AnswerPairs).answer
        assert answer is not None
        assert answer.text == "Robert De Niro"
        await pilot.press("enter")
        await settled(pilot)
        step = steps_of(app).step
        assert step is not None
        assert (step.kind, step.seq) == ("tool", 2)
        assert "Al Pacino and Robert De Niro play in Heat" in screen_text(app)


async def test_n_and_p_go_through_the_list_as_it_is_arranged(base: RunView, other: RunView) -> None:
    async with driven(TraceApp([base, other])) as (app, pilot):
        await pilot.press("s", "S", "c")  # by id, backwards; the cursor stays on its question
        await settled(pilot)
        assert isinstance(app.screen, CompareScreen)
        shown = [base.line(app.screen.rows[0]).id]
        for key in ("n", "n", "p"):
            await pilot.press(key)
            await settled(pilot)
            shown.append(base.line(app.screen.rows[0]).id)
            assert other.line(app.screen.rows[1]).id == shown[-1]
        before = sorted(film_runs.GOLD, reverse=True)
        start = before.index(shown[0])
        assert shown == [before[start], before[start + 1], before[start + 2], before[start + 1]]


async def test_n_skips_what_the_other_run_lacks(
    base: RunView, tmp_path: Path, open_run: Callable[[Path], RunView]
) -> None:
    few = open_run(one_question(tmp_path / "few", "heat"))
    async with driven(comparing(base, few), notifications=True) as (app, pilot):
        await settled(pilot)
        await pilot.press("n")
        await settled(pilot)
        assert "no further question is in both runs" in screen_text(app)
        assert isinstance(app.screen, CompareScreen)
        assert base.line(app.screen.rows[0]).id == "heat"


async def test_a_run_that_is_written_is_followed(
    base: RunView, tmp_path: Path, open_run: Callable[[Path], RunView]
) -> None:
    path = tmp_path / "new"
    film_runs.new_run(path, {"model": "offline", "tools": ["local_retriever"]})
    new = open_run(path)
    app = TraceApp([base, new], live=True, start=OpenQuestion("heat", compare=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        steps = steps_of(app)
        assert steps.side == 1
        assert steps.step is None
        assert "pending" in screen_text(app)
        with RunStore(path) as store:
            heat = next(item for item in store.pending() if item.question.id == "heat")
            journal = await film_runs.begin(store, heat)
            app.action_reload()
            await settled(pilot)
            assert steps.step is not None
            assert steps.step.kind == "start"
            for kind, data in film_runs.events("heat", film_runs.BASE["heat"])[1:]:
                journal.event(kind, data)
            answers = film_runs.BASE["heat"]
            await journal.finish("done", film_runs.outcome(answers, tokens=7))
        app.action_reload()
        await settled(pilot)
        assert steps.step is not None
        assert steps.step.kind == "answer"
        assert "here they part" not in screen_text(app)
        assert "7 tokens" in screen_text(app)


async def test_hostile_texts_break_no_frame_and_act_as_nothing(
    hostile: RunView, size: Size
) -> None:
    async with driven(TraceApp([hostile]), size, notifications=True) as (app, pilot):
        app.push_screen(CompareScreen(hostile, 0, hostile, 0))
        await settled(pilot)
        assert "[bold]a[-]" in screen_text(app)
        steps = steps_of(app)
        await pilot.press("home", "r")
        for _ in steps.compared.pairs:
            await pilot.press("down")
            check_frame(app)
        assert steps.compared.parted is None
        await pilot.press("a")
        await settled(pilot)
        check_frame(app)
        for _ in range(8):
            await pilot.press("down", "tab")
            check_frame(app)
        await pilot.press("enter", "n")
        await settled(pilot)
        check_frame(app)
        assert app.is_running


async def test_a_hostile_step_can_be_forked_from_a_dialog_that_keeps_its_frame(
    hostile: RunView, size: Size
) -> None:
    app = TraceApp([hostile], start=OpenQuestion("hostile", step=5))
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("f")
        await until(pilot, lambda: bool(app.screen.query("#fork-folder")))
        await settled(pilot)
        check_frame(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one("#fork-note").has_class("-wrong"))
        check_frame(app)
