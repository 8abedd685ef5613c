"""The list of questions, driven by Textual's pilot."""

from pathlib import Path

import pytest
from textual.app import App

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.tasks import TASKS
from branchwise.runs.store import RunSpec, create_run
from branchwise.ui.trace_app.app import TraceApp
from branchwise.ui.trace_app.question_list import QuestionList, columns_at
from branchwise.ui.trace_app.trace_screen import TraceScreen
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import RunView
from support.ui.trace_app.film_runs import questions
from support.ui.trace_app.question_list import bar, listed, under_cursor
from support.ui.trace_app.screen_text import (
    check_frame,
    check_snapshot,
    place_of,
    screen_lines,
    screen_text,
)
from support.ui.trace_app.waiting import driven, means_shown, resized


async def test_a_run_opens_as_a_list(base: RunView, size: tuple[int, int]) -> None:
    async with driven(TraceApp([base]), size) as (app, pilot):
        await means_shown(pilot)
        check_snapshot(app, "questions")
        check_frame(app)


async def test_several_runs_stand_above_the_list(
    base: RunView, other: RunView, size: tuple[int, int]
) -> None:
    async with driven(TraceApp([base, other]), size) as (app, pilot):
        await means_shown(pilot)
        check_snapshot(app, "questions-two-runs")


async def test_keys_move_the_cursor(base: RunView) -> None:
    walks = (
        ("down down", "alien"), ("j j k", "heat"), ("end", "tron"), ("G up", "brazil"),
        ("end home", "kong"), ("pagedown", "tron"), ("end pageup", "kong"), ("up", "kong"),
    )  # fmt: skip
    async with driven(TraceApp([base])) as (app, pilot):
        for keys, id in walks:
            await pilot.press("g", *keys.split())
            assert under_cursor(app) == id
            assert id in screen_lines(app)[place_of(app, "›")[1]].lower()


async def test_enter_and_a_double_click_open_a_trace_and_escape_goes_back(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        await pilot.press("down", "enter")
        assert isinstance(app.screen, TraceScreen)
        await pilot.press("escape")
        assert under_cursor(app) == "heat"
        await pilot.click(offset=place_of(app, "Alien"))
        assert under_cursor(app) == "alien"
        await pilot.double_click(offset=place_of(app, "Alien"))
        assert isinstance(app.screen, TraceScreen)
        await pilot.press("q")
        assert under_cursor(app) == "alien"
        await pilot.press("q")
    assert app.return_code == 0


async def test_sorting_goes_through_the_columns_and_back(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        await pilot.press("down", "s")
        assert listed(app) == ["alien", "brazil", "heat", "jaws", "kong", "tron"]
        assert bar(app) == "6 questions · by id, from A"
        assert under_cursor(app) == "heat"
        await pilot.press("S")
        assert listed(app) == ["tron", "kong", "jaws", "heat", "brazil", "alien"]
        assert "id▾" in screen_text(app)
        await pilot.press("s", "s", "s")
        # Precision 0, .5, 1, 1; what has none comes last; equal ones in the run's order.
        assert listed(app) == ["jaws", "alien", "kong", "heat", "brazil", "tron"]
        await pilot.press("S")
        assert listed(app) == ["kong", "heat", "alien", "jaws", "brazil", "tron"]
        assert bar(app) == "6 questions · by P, highest first"


async def test_a_narrow_list_leaves_its_room_to_the_question(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        assert "Who plays Vincent and Neil in Heat?" in screen_text(app)
        assert not {"tokens", "id"} & set(screen_lines(app)[2].split())
        await pilot.press("s")  # what it is sorted by is there
        assert "id▴" in screen_lines(app)[2]
        assert "alien" in screen_text(app)


async def test_a_click_on_a_head_sorts_and_another_one_reverses(base: RunView) -> None:
    async with driven(TraceApp([base]), (120, 24)) as (app, pilot):
        await pilot.click(offset=place_of(app, "tokens"))
        assert listed(app)[:4] == ["jaws", "kong", "heat", "alien"]
        await pilot.click(offset=place_of(app, "token▴"))
        assert listed(app)[:4] == ["alien", "heat", "kong", "jaws"]


async def test_words_filter_while_they_are_typed_and_escape_takes_them_back(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        await pilot.press("slash", *"directed")
        assert listed(app) == ["alien", "jaws", "brazil", "tron"]
        await pilot.press("space", *"tr", "enter")
        assert listed(app) == ["tron"]
        assert bar(app) == "1 of 6 questions: “directed tr” · in the run's order"
        await pilot.press("slash")
        await pilot.pause()
        keys = screen_lines(app)[-1]
        assert "Keep the matches" in keys
        assert "Show all" in keys
        await pilot.press("escape")
        assert len(listed(app)) == 6
        await pilot.press("escape")
        assert app.is_running
        assert "Show all" not in screen_lines(app)[-1]
        assert isinstance(app.focused, QuestionList)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "never retrieved +2"),
        (120, "never retrieved, retrieved but lost +1"),
        (166, "never retrieved, branch never retrieved"),
        (200, "never retrieved, retrieved but lost, branch never retrieved"),
    ],
)
def test_labels_take_the_room_that_there_is(width: int, shown: str) -> None:
    labels = ("incomplete_extraction", "incorrect_reasoning", "missing_branch")
    line = ItemLine(1, "q", 0, "Who?", True, "done", labels=labels[::2] if width == 166 else labels)
    column = next(c for c in columns_at(width, ("P", "R", "EM")) if c.sort == "labels")
    assert column.cell(line) == shown
    assert len(shown) <= column.width


async def test_nothing_left_says_so_and_how_to_clear(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        await pilot.press("slash", *"zzz", "enter")
        assert "No question matches these filters." in screen_text(app)
        assert "Press x to clear them." in screen_text(app)
        await pilot.press("enter", "down", "pagedown", "end")
        assert under_cursor(app) is None
        await pilot.press("x")
        assert under_cursor(app) == "kong"


async def test_subset_label_and_status_filter(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        await pilot.press("b")
        assert listed(app) == ["kong"]
        await pilot.press("b")
        assert listed(app) == ["heat", "alien", "jaws", "brazil", "tron"]
        await pilot.press("b", "l", "down", "enter")
        assert listed(app) == ["heat"]
        assert "with retrieved but lost" in bar(app)
        await pilot.press("x", "t")
        await means_shown(pilot)
        check_snapshot(app, "picker")
        await pilot.press("down", "down", "enter")
        assert listed(app) == ["jaws"]
        assert bar(app).startswith("1 of 6 questions: failed")
        await pilot.press("t", "home", "enter")
        assert len(listed(app)) == 6
        await pilot.press("t", "escape")
        assert len(listed(app)) == 6


async def test_the_list_follows_the_chosen_run(base: RunView, other: RunView) -> None:
    async with driven(TraceApp([base, other])) as (app, pilot):
        await pilot.press("down", "down", "tab")
        assert app.questions.run is other
        assert under_cursor(app) == "alien"
        assert screen_lines(app)[1].startswith("›other")
        await pilot.press("left_square_bracket")
        assert app.questions.run is base
        await pilot.click(offset=place_of(app, "gpt-6-luna"))
        assert app.questions.run is other
        await pilot.press("right_square_bracket")
        assert app.questions.run is base


@pytest.mark.parametrize("task", sorted({*TASKS} - {"branches"}))
async def test_runs_of_two_tasks_have_each_their_own_headings(
    base: RunView, tmp_path: Path, task: str
) -> None:
    spec = RunSpec(task, "films", "d", {"model": "offline"}, {}, "s", 1, "0")
    create_run(tmp_path / "second", spec, questions())
    second = RunView.open(tmp_path / "second")
    async with driven(TraceApp([base, second])) as (app, pilot):
        above = screen_lines(app)[:2]
        assert f"{base.heads[0]} " in above[0]
        assert f"{second.heads[0]} " in above[1]
        await pilot.press("tab")
        check_frame(app)
    second.close()


async def test_differing_questions_are_those_that_ended_otherwise(
    base: RunView, other: RunView
) -> None:
    async with driven(TraceApp([base, other])) as (app, pilot):
        await pilot.press("d")
        # kong ended alike, tron is pending in both.
        assert listed(app) == ["heat", "alien", "jaws", "brazil"]
        assert "different in other" in bar(app)
        await pilot.press("d")
        assert len(listed(app)) == 6


async def test_one_run_offers_nothing_that_needs_two(base: RunView) -> None:
    async with driven(TraceApp([base])) as (app, pilot):
        await pilot.press("d", "c", "tab")
        assert len(app.screen_stack) == 1
        assert "Differs" not in screen_text(app)


async def test_a_long_list_scrolls_and_reads_no_more_than_it_shows(tmp_path: Path) -> None:
    read = set()

    class Counting(RunView):
        def line(self, row: int) -> ItemLine:
            read.add(row)
            return super().line(row)

    class Lone(App[None]):
        def compose(self):
            yield QuestionList(run)

    branch = Branch(name="default", answers=(Answer(text="x"),))
    many = [Question(id=f"q{n}", question=f"Who? {n}", branches=(branch,)) for n in range(3600)]
    create_run(tmp_path / "R", RunSpec("branches", "q", "d", {}, {}, "s", 1, "0"), many)
    run = Counting.open(tmp_path / "R")
    async with driven(Lone()) as (app, pilot):
        found = app.query_one(QuestionList)
        found.focus()
        found.show(run, range(run.count))
        await pilot.press("end")
        assert "Who? 3599" in screen_lines(app)[-1]
        assert screen_lines(app)[-1].startswith("›")
        await pilot.press("pageup")
        assert found.cursor == 3599 - 23
        assert screen_lines(app)[0].startswith("›")
        assert read <= {*range(24), *range(3599 - 24 - 23, 3600)}
    run.close()


async def test_resizing_keeps_the_cursor_on_the_screen(base: RunView) -> None:
    async with driven(TraceApp([base]), (200, 60)) as (app, pilot):
        await pilot.press("end")
        await resized(pilot, 60, 9)
        assert "›" in screen_text(app)
        assert "Tron" in screen_text(app)
        check_frame(app)
        await resized(pilot, 20, 4)
        check_frame(app)
        await resized(pilot, 80, 24)
        assert place_of(app, "›")[1] == place_of(app, "Tron")[1]


async def test_a_run_without_questions_says_so(tmp_path: Path) -> None:
    create_run(tmp_path / "R", RunSpec("branches", "q", "d", {}, {}, "s", 1, "0"), [])
    run = RunView.open(tmp_path / "R")
    async with driven(TraceApp([run])) as (app, pilot):
        assert "This run has no questions." in screen_text(app)
        await pilot.press("down", "enter", "end", "s", "b", "l", "escape")
        assert len(app.screen_stack) == 1
    run.close()
