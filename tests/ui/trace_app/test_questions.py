"""The list of questions, driven by Textual's pilot."""

from screen_text import check_snapshot, screen_text

from branchwise.ui.trace_app.app import TraceApp
from branchwise.ui.traces.runs import RunView


async def test_a_run_opens_as_a_list(base: RunView, size: tuple[int, int]) -> None:
    app = TraceApp([base])
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        print(screen_text(app))
        check_snapshot(app, "questions")


async def test_several_runs_stand_above_the_list(
    base: RunView, other: RunView, size: tuple[int, int]
) -> None:
    app = TraceApp([base, other])
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        check_snapshot(app, "questions-two-runs")
