"""The recorded runs of a language model in the app: the list, a trace, the lost answer."""

from pathlib import Path

from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.traces.runs import open_runs
from support.ui.trace_app.screen_text import check_frame, screen_text
from support.ui.trace_app.waiting import means_shown, until

RECORDED = Path(__file__).parents[3] / "examples" / "recorded"
RUNS = [RECORDED / name for name in ("base", "expand", "kg")]


async def test_they_open_as_a_list(size: tuple[int, int]) -> None:
    runs = open_runs(RUNS)
    app = TraceApp(runs)
    async with app.run_test(size=size) as pilot:
        await means_shown(pilot)
        shown = screen_text(app)
        assert ".97" in shown
        assert ".88" in shown
        check_frame(app)
    for run in runs:
        run.close()


async def test_one_key_goes_from_a_missing_answer_to_where_it_was_lost(
    size: tuple[int, int],
) -> None:
    runs = open_runs(RUNS[:1])
    app = TraceApp(runs, start=OpenQuestion("music-91-0008"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "Lower Weirthwaite" in screen_text(app))
        await pilot.press("m")
        await until(pilot, lambda: "Granite Pavilion is a 2021 album" in screen_text(app))
        check_frame(app)
    for run in runs:
        run.close()
