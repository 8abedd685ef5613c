"""A step in full, as a widget: layout, folds, marks, long texts, sizes."""

from collections.abc import Sequence

import pytest
from textual.app import App, ComposeResult

from branchwise.report.terminal.blocks import Block, Mark
from branchwise.ui.trace_app.step_view import MAX_LINES, MAX_SHOWN, StepView, lay_out
from support.ui.trace_app.screen_text import (
    check_frame,
    place_of,
    screen_lines,
    screen_text,
    style_of,
)
from support.ui.trace_app.waiting import driven


class OneStep(App[None]):
    """A step alone on the screen."""

    CSS = "StepView { height: 1fr; }"

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__()
        self.blocks = blocks
        self.view = StepView()

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self.call_after_refresh(self.view.show, self.blocks)


def passage(number: int, text: str = "words " * 60) -> Block:
    return Block("passage", text, title=f"[p{number}] Title {number}", passage=f"p{number}")


async def test_a_folded_part_shows_its_title_until_it_is_opened() -> None:
    blocks = [Block("text", "I think so.", title="reasoning", folded=True), Block("text", "Hello")]
    async with driven(OneStep(blocks), (40, 10)) as (app, pilot):
        assert "▸ reasoning" in screen_text(app)
        assert "I think so." not in screen_text(app)
        await pilot.press("enter")
        assert "▾ reasoning" in screen_text(app)
        assert "I think so." in screen_text(app)
        await pilot.press("space")
        assert "I think so." not in screen_text(app)
        await pilot.click(offset=place_of(app, "reasoning"))
        assert "I think so." in screen_text(app)


async def test_opened_folds_stay_open_in_the_next_step() -> None:
    first, second = (Block("text", text, title="reasoning", folded=True) for text in ("one", "two"))
    async with driven(OneStep([first]), (40, 10)) as (app, pilot):
        assert app.view.toggle_all()
        app.view.show([second])
        await pilot.pause()
        assert "two" in screen_text(app)
        assert not app.view.toggle_all()
        await pilot.pause()
        assert "two" not in screen_text(app)


async def test_gold_answers_are_marked_not_by_colour_alone() -> None:
    text = "Al Pacino plays."
    marks = (Mark(0, 9, "gold"), Mark(3, 16, "span"))
    async with driven(OneStep([Block("text", text, marks=marks)]), (40, 5)) as (app, _pilot):
        gold, both, span = (style_of(app, found) for found in ("Al ", "Pacino", "plays"))
        assert gold.bold
        assert gold.underline
        assert not gold.italic
        assert both.bold
        assert both.italic
        assert span.italic
        assert not span.bold
        assert gold.color != span.color


async def test_a_mark_over_a_line_break_goes_on_in_the_next_line() -> None:
    app = OneStep([Block("text", "one two three four", marks=(Mark(4, 13, "gold"),))])
    async with app.run_test(size=(13, 5)) as pilot:
        await pilot.pause()
        assert [line.strip() for line in screen_lines(app)[:3]] == ["one two", "three four", ""]
        assert style_of(app, "two").underline
        assert style_of(app, "three").underline
        assert not style_of(app, "four").underline


async def test_a_table_keeps_its_columns_and_is_scrolled_sideways() -> None:
    rows = "\n".join(f"{n:<30}{n}{'.' * 20}end" for n in range(3))
    app = OneStep([Block("table", rows), Block("text", "below")])
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        shown = screen_lines(app)
        assert [line[31] for line in shown[:3]] == ["0", "1", "2"]
        assert "end" not in screen_text(app)
        await pilot.press(*["right"] * 30)
        await pilot.pause()
        assert screen_text(app).count("end") == 3
        check_frame(app)


async def test_a_part_that_is_jumped_to_is_opened_with_the_answer_in_sight() -> None:
    long = "word " * 400 + "Robert De Niro"
    blocks = [*(passage(n) for n in range(5)), Block("passage", long, title="long", folded=True)]
    async with driven(OneStep(blocks), (60, 12)) as (app, pilot):
        app.view.show_block(5, long.index("Robert"))
        await pilot.pause()
        assert "Robert De Niro" in screen_text(app)
        assert style_of(app, "Robert").bgcolor != style_of(app, "word").bgcolor


@pytest.mark.parametrize("text", ["x" * 1_000_000, "漢字" * 500_000, "word " * 200_000])
async def test_of_a_huge_text_a_part_is_laid_out_and_the_rest_is_counted(text: str) -> None:
    app = OneStep([Block("passage", text, title="huge"), Block("text", "below", title="next")])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.view.scroll_end(animate=False)
        await pilot.pause()
        more = len(text) - min(MAX_SHOWN, app.view._layout.lines[-4].end)
        assert f"… {more:,} more characters: o shows all" in screen_text(app)
        assert "below" in screen_text(app)
        check_frame(app)


def test_lines_are_bounded_as_characters_are() -> None:
    layout = lay_out([Block("text", "a\n" * 50_000)], 80)
    assert len(layout.lines) == MAX_LINES + 1
    assert layout.lines[-1].role == "more"


async def test_an_empty_step_is_an_empty_screen() -> None:
    async with driven(OneStep([]), (30, 4)) as (app, pilot):
        await pilot.press("enter", "space", "down", "pagedown")
        app.view.go_to_next(1)
        app.view.toggle_all()
        await pilot.pause()
        assert screen_text(app).strip() == ""
