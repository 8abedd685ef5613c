"""Computes where answers were lost in the background, while the screen already shows the trace."""

from collections.abc import Callable
from functools import partial
from threading import BoundedSemaphore, Event, Lock, Thread

from textual.app import App

from branchwise.ui.trace_app.background import in_app
from branchwise.ui.traces.reading import judged
from branchwise.ui.traces.trace import Trace

WORKING = "working out where answers were lost …"
AT_ONCE_SECONDS = 0.05
"""How long a screen waits for the errors: most traces take less, and the screen need not change."""
_ROOM = BoundedSemaphore(2)
"""Every busy thread competes with key presses for the interpreter."""


class Judging:
    """Judges traces for a screen, which wants only the one that it requested last."""

    def __init__(self, app: App[None], failed: Callable[[Exception], None]) -> None:
        self._app, self._failed = app, failed
        self._wanted: Trace | None = None
        self._before: Trace | None = None

    def begin(self, trace: Trace, then: Callable[[Trace], None]) -> Trace:
        """The trace with its errors where these are there at once, else as it is.

        Then `then` is called in the app with the judged one, unless something else was wanted
        meanwhile. The same item read again, with nothing new in it, is not judged again.
        """
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
        found = work.at_once(AT_ONCE_SECONDS)
        return trace if found is None else self._keep(found)

    def _keep(self, found: Trace) -> Trace:
        self._wanted, self._before = None, found
        return found

    def _work(self, work: "_Work", then: Callable[[Trace], None]) -> None:
        with _ROOM:
            if self._wanted is not work.trace:
                return
            try:
                found = judged(work.trace)
            except Exception as error:  # noqa: BLE001 - the app shows any error and goes on
                in_app(self._app, partial(self._break, work.trace, error))
                return
        if work.is_late(found):
            in_app(self._app, partial(self._bring, work.trace, found, then))

    def _break(self, asked: Trace, error: Exception) -> None:
        if self._wanted is asked:
            self._wanted = None
            self._failed(error)

    def _bring(self, asked: Trace, found: Trace, then: Callable[[Trace], None]) -> None:
        if self._wanted is asked:
            then(self._keep(found))


class _Work:
    """A trace being judged on a thread: in time to be waited for, or later."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._lock, self._done = Lock(), Event()
        self._found: Trace | None = None
        self._late = False

    def at_once(self, seconds: float) -> Trace | None:
        """The result, if it comes within `seconds`; called once, by the waiting screen."""
        self._done.wait(seconds)
        with self._lock:
            self._late = self._found is None
            return self._found

    def is_late(self, found: Trace) -> bool:
        """Whether the screen has stopped waiting; called once, by the thread."""
        with self._lock:
            self._found = found
            self._done.set()
            return self._late


def _same(a: Trace, b: Trace) -> bool:
    """Whether the errors of one are those of the other."""
    if b.unjudged is None or a.line.number != b.line.number:
        return False
    return len(a.events) == len(b.events) and a.outcome == b.outcome
