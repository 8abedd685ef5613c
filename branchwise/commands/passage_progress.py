"""Progress of work over passages: a bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from branchwise.base.progress import Progress
from branchwise.report.terminal.console import progress_console

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def showing(what: str, unit: str = "passages") -> Iterator[Progress]:
    """A progress callback that shows count, rate and time left on standard error."""
    screen = progress_console()
    if screen.is_terminal:
        with _bar(screen, unit) as bar:
            task = bar.add_task(f"{what} (loading)", total=None)
            yield lambda done, total: bar.update(
                task, description=what if done else None, completed=done, total=total or None
            )
    else:
        yield _Lines(what, unit, screen)


class _Lines:
    """Prints a line now and then, and one at the end.

    The rate excludes the time before the first passages: loading an encoder takes longer than a
    small corpus."""

    def __init__(self, what: str, unit: str, screen: Any) -> None:
        self._what, self._unit, self._screen = what, unit, screen
        self._began = self._printed = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._first is None and done and done != total:
            self._first, self._began = done, now
        if done != total and (not done or now - self._printed < SECONDS_BETWEEN_LINES):
            return
        self._printed, seconds = now, max(now - self._began, 1e-9)
        of = f"/{total}" if total else ""
        rate = (done - (self._first or 0)) / seconds
        left = f", {(total - done) / rate:.0f} s left" if rate and total > done else ""
        line = f"{self._what}: {done}{of} {self._unit}, {rate:.0f} a second{left}"
        self._screen.print(line, markup=False)


def _bar(screen: Any, unit: str) -> Any:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:.0f} {unit} a second" if speed else "")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=screen,
        redirect_stdout=False,  # which strikes out keys (report/terminal/console.py)
    )
