"""A run's progress: a bar with rate and time left on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from branchwise.corpora.text import printable
from branchwise.ui.console import error_console

if TYPE_CHECKING:
    from rich.progress import Progress

    from branchwise.corpora.questions import Question

SECONDS_BETWEEN_LINES = 10.0


class RunProgress:
    """An observer of a run (`eval.runner.Observer`) of `total` items, `ended` of them before."""

    def __init__(self, total: int, ended: int = 0) -> None:
        self._total, self._ended, self._failed = total, ended, 0
        self._before = ended
        self._console = error_console()
        self._bar: Progress | None = None
        self._began = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar = _bar(self._console)
            self._bar.start()
            self._task = self._bar.add_task(
                "answering", total=self._total, completed=self._before, failed="", rate=""
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def ended(self, question: "Question", record: dict[str, Any]) -> None:
        """Count an item that ended; where it failed, say why."""
        self._ended += 1
        if record["error"]:
            self._failed += 1
            line = f"failed: {question.id}: {record['error']}"
            self._console.print(printable(line[:300]), markup=False, soft_wrap=True)
        if self._bar:
            failed = f"{self._failed} failed" if self._failed else ""
            self._bar.update(self._task, completed=self._ended, failed=failed, rate=self._rate())
        elif self._is_time_for_a_line():
            self._console.print(f"{self._ended}/{self._total} ended, {self._rate()}")

    def _rate(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{(self._ended - self._before) / seconds:.1f} a second" if seconds > 0 else ""

    def _is_time_for_a_line(self) -> bool:
        now = time.monotonic()
        if self._ended < self._total and now - self._printed < SECONDS_BETWEEN_LINES:
            return False
        self._printed = now
        return True


def _bar(console: Any) -> "Progress":
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failed]}"),
        console=console,
    )
