"""A run's progress: a bar with rate and time left on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from branchwise.base.text import printable
from branchwise.report.terminal.console import progress_console
from branchwise.report.terminal.outage_lines import OutagePrinter, outage_lines

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

    from branchwise.agents.outages import Outages
    from branchwise.corpora.questions import Question

SECONDS_BETWEEN_LINES = 10.0


class RunProgress:
    """An observer of a run (`eval.runner.Observer`) of `total` items, `ended` of them before.

    `outages`: the servers that are watched, to say which of them the run waits for.
    """

    def __init__(self, total: int, ended: int = 0, outages: "Outages | None" = None) -> None:
        self._total, self._ended, self._failed = total, ended, 0
        self._before, self._outages = ended, outages
        self._console = progress_console()
        self._bar: Progress | None = None
        self._shown = ExitStack()
        self._began = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar = _bar(self._console, lambda: outage_lines(self._outages))
            self._task = self._bar.add_task("starting", total=None, failed="", rate="", count="")
            self._shown.enter_context(self._bar)
        else:
            self._shown.enter_context(OutagePrinter(self._outages, self._print))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._shown.close()

    def opens(self, what: str) -> None:
        """Say what is opened; the questions are counted when all is."""
        if not what:
            self._began = time.monotonic()
        if self._bar and what:
            self._bar.update(self._task, description=printable(what))
        elif self._bar:
            self._bar.update(
                self._task,
                description="answering",
                total=self._total,
                completed=self._before,
                count=self._count(),
            )

    def ended(self, question: "Question", record: dict[str, Any]) -> None:
        """Count an item that ended; where it failed, say why."""
        self._ended += 1
        if record["error"]:
            self._failed += 1
            self._print(printable(f"failed: {question.id}: {record['error']}"[:300]))
        if self._bar:
            failed = f"{self._failed} failed" if self._failed else ""
            self._bar.update(
                self._task,
                completed=self._ended,
                failed=failed,
                rate=self._rate(),
                count=self._count(),
            )
        elif self._is_time_for_a_line():
            self._print(f"{self._count()} ended, {self._rate()}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    def _count(self) -> str:
        return f"{self._ended}/{self._total}"

    def _rate(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{(self._ended - self._before) / seconds:.1f} a second" if seconds > 0 else ""

    def _is_time_for_a_line(self) -> bool:
        now = time.monotonic()
        if self._ended < self._total and now - self._printed < SECONDS_BETWEEN_LINES:
            return False
        self._printed = now
        return True


def _bar(console: Any, below: Callable[[], Iterable[str]]) -> "Progress":
    """A bar; `below` are the lines under it whenever it is drawn."""
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Bar(Progress):
        def get_renderables(self) -> "Iterator[RenderableType]":
            yield from super().get_renderables()
            yield from (Text(line, "yellow", no_wrap=True, overflow="ellipsis") for line in below())

    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", style="green"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failed]}"),
        console=console,
        redirect_stdout=False,  # which strikes out keys (report/terminal/console.py)
    )
