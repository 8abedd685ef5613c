"""Gold answers beside predicted ones, as a widget."""

from collections.abc import Sequence

from textual.app import App, ComposeResult

from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.ui.trace_app.answers_view import AnswersView
from branchwise.ui.traces.trace import AnswerLine, BranchLines
from support.ui.trace_app.screen_text import check_frame, place_of, screen_lines, screen_text
from support.ui.trace_app.waiting import driven

LOST = AnswerLine(
    "Val Kilmer", "missing", "lost in extraction · step 3 [s1]", (EvidencePlace(3, 2, "s1"),)
)
NEVER = AnswerLine("Jon Voight", "missing", "never retrieved")
MOVED = AnswerLine("Fay Wray", "wrong_branch", "under 'Heat'", step=8)
HEAT = BranchLines(
    "Heat (1995 film)",
    ("Heat", "the film Heat"),
    (AnswerLine("Al Pacino", "right"), LOST, NEVER),
    (AnswerLine("Al Pacino", "right"), AnswerLine("Fay Wray", "wrong_branch", "of 'King Kong'")),
)
KONG = BranchLines("King Kong", (), (MOVED,), ())
ALONE = BranchLines(None, ("Alien",), (), (AnswerLine("Ripley", "wrong", "nowhere"),))


class Answers(App[None]):
    """Answers alone on the screen; keeps what was asked to be jumped to."""

    CSS = "AnswersView { height: 1fr; }"

    def __init__(self, branches: Sequence[BranchLines]) -> None:
        super().__init__()
        self.branches = branches
        self.view = AnswersView()
        self.jumps: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self.call_after_refresh(self.view.show, self.branches)

    def on_answers_view_jump(self, event: AnswersView.Jump) -> None:
        self.jumps.append(event.answer.text)


async def test_where_there_is_room_gold_and_predicted_stand_side_by_side() -> None:
    async with driven(Answers([HEAT, KONG, ALONE])) as (app, _pilot):
        lines = [line.strip() for line in screen_lines(app)]
        assert lines[0] == "Heat (1995 film)"
        assert lines[1:3] == ["= Heat", "= the film Heat"]
        assert lines[3].split("  ")[0] == "gold 3"
        assert lines[3].endswith("predicted 2")
        assert lines[4].startswith("✓ Al Pacino")
        assert lines[4].endswith("✓ Al Pacino")
        assert lines[5].startswith("○ Val Kilmer")
        assert lines[5].endswith("↔ Fay Wray")
        assert "predicted: Alien" in lines
        check_frame(app)


async def test_enter_or_a_click_on_an_answer_asks_for_its_place() -> None:
    async with driven(Answers([HEAT])) as (app, pilot):
        await pilot.press("down", "down", "enter")
        assert app.jumps == ["Val Kilmer"]
        await pilot.click(offset=place_of(app, "never retrieved"))
        await pilot.click(offset=place_of(app, "Fay Wray"))
        assert app.jumps == ["Val Kilmer", "Jon Voight", "Fay Wray"]
        await pilot.click(offset=place_of(app, "gold 3"))
        assert len(app.jumps) == 3


async def test_the_next_lost_one_is_of_gold_and_goes_round() -> None:
    async with driven(Answers([HEAT, KONG, ALONE])) as (app, _pilot):
        found = [app.view.next_lost(1) for _ in range(4)]
        assert found == [LOST, NEVER, MOVED, LOST]
        assert app.view.next_lost(-1) == MOVED


async def test_the_answer_under_the_cursor_is_brought_into_view() -> None:
    many = tuple(AnswerLine(f"answer {n}", "missing", "never retrieved") for n in range(12))
    async with driven(Answers([BranchLines("Heat", (), many, ())]), (60, 6)) as (app, pilot):
        assert "answer 9" not in screen_text(app)
        await pilot.press(*["down"] * 10)
        assert "answer 9" in screen_text(app)
        await pilot.press(*["up"] * 9)
        assert "answer 0" in screen_text(app)


async def test_no_answers_at_all_is_said() -> None:
    async with driven(Answers([]), (60, 5)) as (app, pilot):
        await pilot.press("down", "enter")
        assert "no answers" in screen_text(app)
        assert app.jumps == []


async def test_a_long_name_is_cut_and_hostile_text_stays_in_its_column() -> None:
    odd = AnswerLine("漢" * 500 + "\u202e", "wrong", "[bold]x[/] " * 40)
    app = Answers([BranchLines("n" * 5_000, ("k" * 5_000,), (odd,), (odd, odd))])
    async with app.run_test(size=(81, 40)) as pilot:
        await pilot.pause()
        check_frame(app)
        assert "[bold]x[/]" in screen_text(app)
