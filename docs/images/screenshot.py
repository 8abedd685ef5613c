"""Draws trace.svg and report.png, of recorded runs: `python docs/images/screenshot.py`.

The report is photographed by Chromium.
"""

import asyncio
import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.traces.runs import open_runs

HERE = Path(__file__).parent
RUNS = HERE.parents[1] / "examples" / "recorded"
QUESTION, SIZE = "movie-558-0013", (166, 42)
PAGE_SIZE, COLOURS = (1100, 830), 48


async def draw_trace() -> None:
    app = TraceApp(open_runs([RUNS / "base"]), start=OpenQuestion(QUESTION))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(1.0)
        await pilot.press("m", "m")  # to the passage from which it left the second answer out
        await pilot.pause(0.5)
        picture = app.export_screenshot(title="branchwise trace")
        (HERE / "trace.svg").write_text(picture, encoding="utf-8")


def draw_report() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder, "report.html"), Path(folder, "report.png")
        runs = [str(RUNS / name) for name in ("base", "kg")]
        report = (sys.executable, "-m", "branchwise", "report", *runs, "--html", str(page))
        subprocess.run(report, check=True, capture_output=True)
        size = "--window-size={},{}".format(*PAGE_SIZE)
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size)
        browser = ("chromium", *flags, f"--screenshot={picture}", page.as_uri())
        subprocess.run(browser, check=True, capture_output=True)
        drawn = Image.open(io.BytesIO(picture.read_bytes())).convert("RGB")
    drawn.quantize(COLOURS).save(HERE / "report.png", optimize=True)


asyncio.run(draw_trace())
draw_report()
