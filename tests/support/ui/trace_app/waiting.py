"""Waiting in tests for what a thread or a timer of the app brings: no longer than needed."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from textual.app import App
from textual.geometry import Size
from textual.pilot import Pilot

from support.ui.trace_app.screen_text import screen_text

PATIENCE = 300.0
"""Seconds until what is waited for will not come."""


AnyApp = TypeVar("AnyApp", bound=App[Any])


@asynccontextmanager
async def driven(
    app: AnyApp, size: tuple[int, int] = (80, 24), **more: Any
) -> AsyncIterator[tuple[AnyApp, Pilot[Any]]]:
    """The app at work in a terminal of that size, its first screen drawn."""
    async with app.run_test(size=size, **more) as pilot:
        await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[Any], happened: Callable[[], bool]) -> None:
    """Let the app work until something has happened; fail with the screen if it does not."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"it did not happen; the screen:\n{screen_text(pilot.app)}"
        await pilot.pause(0.01)


async def means_shown(pilot: Pilot[Any]) -> None:
    """Wait until the runs' mean scores are there: they are worked out in the background."""
    await until(pilot, lambda: "P    –" not in screen_text(pilot.app))


async def resized(pilot: Pilot[Any], width: int, height: int) -> None:
    """Resize the terminal, and wait until every widget has been drawn at its new size."""
    await pilot.resize_terminal(width, height)
    await until(pilot, lambda: pilot.app.screen.size == Size(width, height))
    # The widgets have been told by now. What they put off at that is done before this is.
    await pilot.pause()
    drawn = asyncio.Event()
    pilot.app.screen.call_after_refresh(drawn.set)
    await drawn.wait()
    await pilot.pause()
