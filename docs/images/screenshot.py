"""Draws trace.svg: `python docs/images/screenshot.py runs/demo/run` after `make demo`."""

import asyncio
import sys
from pathlib import Path

from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.traces.runs import open_runs

QUESTION, SIZE = "ghostbusters-team", (166, 34)
TARGET = Path(__file__).with_name("trace.svg")


async def draw(run: Path) -> None:
    app = TraceApp(open_runs([run]), start=OpenQuestion(QUESTION))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(1.0)
        await pilot.press("m")
        await pilot.pause(0.5)
        TARGET.write_text(app.export_screenshot(title="branchwise trace"), encoding="utf-8")


asyncio.run(draw(Path(sys.argv[1])))
