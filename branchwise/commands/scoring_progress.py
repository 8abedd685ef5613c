"""Progress of scoring, if it takes long: models are asked, or a corpus is read."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from branchwise.agents.outages import Outages
from branchwise.base.progress import Progress
from branchwise.base.text import counted
from branchwise.commands.passage_progress import showing
from branchwise.report.terminal.console import error_console, progress_console
from branchwise.report.terminal.outage_lines import OutagePrinter

SECONDS_BETWEEN_LINES = 10.0


class ScoringProgress:
    """Shows one kind of work at a time, from its first report on.

    `asked`: whether any model had to be asked.
    """

    def __init__(self) -> None:
        self._shown = ExitStack()
        self._what = ""
        self.asked = False

    def requests(self, role: str, done: int, total: int) -> None:
        """Report how many of a role's requests have ended."""
        self.asked = True
        what = f"asking the {role}"
        if what != self._what:
            self._begin(what, _requests(what))
        self._update(done, total)

    def passages(self, done: int, total: int) -> None:
        """Report how many passages of the corpus have been read."""
        what = "looking for answers in the corpus"
        if what != self._what:
            self._begin(what, showing(what))
        self._update(done, total)

    def close(self) -> None:
        """End the display."""
        self._shown.close()
        self._what = ""

    def _begin(self, what: str, shown: Any) -> None:
        self.close()
        self._what = what
        self._update: Progress = self._shown.enter_context(shown)


@contextmanager
def scoring_progress(outages: Outages | None = None) -> Iterator[ScoringProgress]:
    """Progress that ends with the block; says which of the watched servers is waited for."""

    def print_line(line: str) -> None:
        error_console().print(line, markup=False, soft_wrap=True)

    progress = ScoringProgress()
    with OutagePrinter(outages, print_line, "request"):
        try:
            yield progress
        finally:
            progress.close()


@contextmanager
def _requests(what: str) -> Iterator[Progress]:
    """Shows count and seconds, from the first request on: a bar on a terminal, lines elsewhere."""
    screen = progress_console()
    if not screen.is_terminal:
        yield _Lines(what, screen)
        return
    with _bar(screen) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    """Prints a line now and then; none if all replies were kept or came at once."""

    def __init__(self, what: str, screen: Any) -> None:
        self._what, self._screen = what, screen
        self._began = self._printed = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._printed < SECONDS_BETWEEN_LINES:
            return
        self._printed = now
        line = f"{self._what}: {done} of {counted(total, 'request')}, {now - self._began:.0f} s"
        self._screen.print(line, markup=False, soft_wrap=True)


def _bar(screen: Any) -> Any:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("requests"),
        TimeElapsedColumn(),
        console=screen,
        redirect_stdout=False,  # which strikes out keys (report/terminal/console.py)
    )
