"""What the app does on threads that never hold up its end, and what its screens are told.

Textual's own thread workers do: the interpreter waits for an executor's threads.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore, Event, Lock, Thread
from typing import TYPE_CHECKING, TypeVar, cast

from textual.app import App
from textual.events import Callback
from textual.message import Message
from textual.screen import Screen

from branchwise.base.errors import InputError
from branchwise.ui.trace_app.drawing import drawn
from branchwise.ui.traces.answers import judged
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import PAGE, RunView
from branchwise.ui.traces.trace import Trace

if TYPE_CHECKING:
    from branchwise.ui.trace_app.app import TraceApp

T = TypeVar("T")
READ_ERRORS = (InputError, sqlite3.Error, OSError)
WORK_SECONDS, REST_SECONDS = 0.03, 0.03
"""A key press waits for the interpreter's lock while this thread works, so it rests in between."""
WORKING = "working out where answers were lost …"
AT_ONCE_SECONDS = 0.05
"""How long a screen waits for the errors: most traces take less, and the screen need not change."""
_ROOM = BoundedSemaphore(2)
"""Every busy thread competes with key presses for the interpreter."""


@dataclass
class RunChanged(Message, bubble=False):
    """These rows of a run have changed since they were read; none: only its summary has."""

    run: RunView
    rows: frozenset[int]


@dataclass
class RunAdded(Message, bubble=False):
    """A run, made by a fork, was added to the app."""


class RunScreen(Screen[None]):
    @property
    def trace_app(self) -> "TraceApp":
        return cast("TraceApp", self.app)

    def say(self, text: str) -> None:
        self.notify(drawn(text[:300]), markup=False, timeout=4)


def safe_line(run: RunView, row: int) -> ItemLine:
    """The row's line; where it cannot be read, a line that says why."""
    try:
        return run.line(row)
    except READ_ERRORS as error:
        why = str(error)
        return ItemLine(row, "?", 0, why, ambiguous=False, status="failed", error=why)


def run_aside(
    app: App[None],
    work: Callable[[], T],
    then: Callable[[T], None],
    failed: Callable[[Exception], None],
) -> None:
    """Call `work` on a thread, then `then` or `failed` in the app, if it has not ended."""

    def body() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - the app shows any error and goes on
            in_app(app, partial(failed, error))
        else:
            in_app(app, partial(then, result))

    Thread(target=body, daemon=True).start()


def in_app(app: App[None], callback: Callable[[], None]) -> None:
    """Have the app call this soon; may be called on any thread, also after the app has ended."""
    try:
        app.post_message(Callback(callback=callback))
    except RuntimeError:
        # The event loop is closed: the app has ended.
        return


class Filling:
    """Reads in the background what the list of questions will need, all rows and then the labels
    that were not saved, of the run on the screen first. `known` gets the rows of a run about
    which more is known; none once all rows were read."""

    def __init__(
        self,
        runs: list[RunView],
        known: Callable[[RunView, frozenset[int]], None],
        failed: Callable[[Exception], None],
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
                    # An app that has ended has closed the runs that this thread reads.
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


class Judging:
    """Works out where the trace that a screen requested last lost its answers."""

    def __init__(self, app: App[None], failed: Callable[[Exception], None]) -> None:
        self._app, self._failed = app, failed
        self._wanted: Trace | None = None
        self._before: Trace | None = None

    def begin(self, trace: Trace, then: Callable[[Trace], None]) -> Trace:
        """The trace with its errors where these are there at once, else as it is: then `then`
        gets the judged one in the app, unless something else was wanted meanwhile. An item read
        again, with nothing new in it, is not judged again."""
        if self._before is not None and _same(self._before, trace):
            self._wanted = None
            return judged(trace, self._before.errors)
        if self._wanted is not None and _same(self._wanted, trace):
            return trace
        self._wanted = None
        if trace.unjudged is None:
            return trace
        self._wanted = trace
        work = _Work(trace)
        Thread(target=self._work, args=(work, then), daemon=True).start()
        result = work.at_once(AT_ONCE_SECONDS)
        return trace if result is None else self._keep(result)

    def _keep(self, result: Trace) -> Trace:
        self._wanted, self._before = None, result
        return result

    def _work(self, work: "_Work", then: Callable[[Trace], None]) -> None:
        with _ROOM:
            if self._wanted is not work.trace:
                return
            try:
                result = judged(work.trace)
            except Exception as error:  # noqa: BLE001 - the app shows any error and goes on
                in_app(self._app, partial(self._end, work.trace, error, then))
                return
        if work.is_late(result):
            in_app(self._app, partial(self._end, work.trace, result, then))

    def _end(self, asked: Trace, result: Trace | Exception, then: Callable[[Trace], None]) -> None:
        if self._wanted is not asked:
            return
        if isinstance(result, Trace):
            then(self._keep(result))
        else:
            self._wanted = None
            self._failed(result)


class _Work:
    """A trace being judged on a thread: in time to be waited for, or later."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._lock, self._done = Lock(), Event()
        self._result: Trace | None = None
        self._late = False

    def at_once(self, seconds: float) -> Trace | None:
        """The result, if it comes within `seconds`; called once, by the waiting screen."""
        self._done.wait(seconds)
        with self._lock:
            self._late = self._result is None
            return self._result

    def is_late(self, result: Trace) -> bool:
        """Whether the screen has stopped waiting; called once, by the thread."""
        with self._lock:
            self._result = result
            self._done.set()
            return self._late


def _same(a: Trace, b: Trace) -> bool:
    """Whether the errors of one are those of the other."""
    if b.unjudged is None or a.line.number != b.line.number:
        return False
    return len(a.events) == len(b.events) and a.outcome == b.outcome
