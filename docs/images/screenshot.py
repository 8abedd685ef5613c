"""Draws trace.svg, of a recorded run: `python docs/images/screenshot.py`."""

import asyncio
from pathlib import Path

from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.traces.runs import open_runs

RUN = Path(__file__).parents[2] / "examples" / "recorded" / "base"
QUESTION, SIZE = "movie-41-0009", (166, 42)
MISSING = 7
"""The place of "Wicker Inheritance" among the missing answers: the passage on it was read."""
TARGET = Path(__file__).with_name("trace.svg")


async def draw() -> None:
    app = TraceApp(open_runs([RUN]), start=OpenQuestion(QUESTION))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(1.0)
        await pilot.press(*"m" * MISSING)
        await pilot.pause(0.5)
        TARGET.write_text(app.export_screenshot(title="branchwise trace"), encoding="utf-8")


asyncio.run(draw())
