"""Reading runs in the app: errors become rows, and a thread reads ahead in the background."""

import sqlite3
from collections.abc import Callable
from threading import Event, Thread

from branchwise.base.errors import InputError
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import PAGE, RunView

READ_ERRORS = (InputError, sqlite3.Error, OSError)


def safe_line(run: RunView, row: int) -> ItemLine:
    """The row's line; where it cannot be read, a line that says why."""
    try:
        return run.line(row)
    except READ_ERRORS as error:
        said = str(error)
        return ItemLine(row, "?", 0, said, ambiguous=False, status="failed", error=said)


WORK_SECONDS, REST_SECONDS = 0.03, 0.03
"""A key press waits for the interpreter's lock while this thread works, so it rests in between."""

Known = Callable[[RunView, frozenset[int]], None]
"""Called with the rows of a run about which more is known; with none once all rows were read."""


class Filling:
    """Reads in the background what the list of questions will need: all rows, so that the first
    sort or filter waits for nothing, then the error labels that were not saved.

    One thread serves all runs, starting with the one on the screen. It does not keep the process
    alive.
    """

    def __init__(
        self, runs: list[RunView], known: Known, failed: Callable[[Exception], None]
    ) -> None:
        self._runs, self._known, self._failed = runs, known, failed
        self._wanted, self._stopped = Event(), Event()
        self._first: RunView | None = None
        self._thread: Thread | None = None

    def want(self, run: RunView) -> None:
        """Read this run before the others: it is on the screen now, or has changed."""
        self._first = run
        self._wanted.set()
        if self._thread is None:
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Start nothing more; work in progress is not waited for."""
        self._stopped.set()
        self._wanted.set()

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._wanted.wait()
            self._wanted.clear()
            first = self._first
            for run in sorted(self._runs, key=lambda run: run is not first):
                try:
                    if not self._fill(run):
                        break
                except Exception as error:  # noqa: BLE001 - a row without labels must not end the app
                    self._tell(error)

    def _tell(self, error: Exception) -> None:
        """Report an error, unless the app has ended and closed the runs that this thread reads."""
        if not self._stopped.is_set():
            self._failed(error)

    def _fill(self, run: RunView) -> bool:
        """Whether the run was read to its end, without another run being wanted meanwhile."""
        for row in range(0, run.count, PAGE):
            if self._wanted.is_set():
                return False
            run.line(row)
            self._stopped.wait(REST_SECONDS / 10)
        self._known(run, frozenset())
        while rows := run.label_some(WORK_SECONDS):
            self._known(run, rows)
            if self._wanted.is_set():
                return False
            self._stopped.wait(REST_SECONDS)
        return True
