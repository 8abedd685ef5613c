"""Plug-ins that are called from synchronous code, one call at a time: retrievers and metrics."""

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from branchwise.corpora.plugins.calling import PluginFailure
from branchwise.corpora.plugins.faults import fault_line
from branchwise.corpora.plugins.printed import catch_output

MAX_HUNG = 4
"""Calls that never ended: with as many a plug-in is not called any more. Each may hold a model."""

Made = TypeVar("Made")
_Job = Callable[[], object]


class DaemonThread:
    """Runs what it is given, in order, and never holds the end of the process.

    It begins with its first job, and ends when this object is let go of.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock, self._begun = threading.Lock(), False

    def submit(self, job: _Job) -> None:
        """Run it after those before it. What it raises is lost."""
        with self._lock:
            if not self._begun:
                # The thread knows the queue alone: else this object would never be let go of.
                threading.Thread(
                    target=_serve, args=(self._jobs,), name=self._name, daemon=True
                ).start()
                weakref.finalize(self, self._jobs.put, None).atexit = False
                self._begun = True
        self._jobs.put(job)


def _serve(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        with contextlib.suppress(BaseException):
            job()
        del job


class _Outcome(NamedTuple):
    value: Any = None
    error: BaseException | None = None


class Worker(Generic[Made]):
    """One plug-in on a thread of its own: made there by `make`, and called there.

    So what it makes may belong to one thread, as SQLite's connections do. A call that takes too
    long is given up, and the next one is made anew on another thread: the old one may still be at
    work in what was made before. What a call prints goes to standard error, bounded.
    """

    def __init__(self, name: str, make: Callable[[], Made], seconds: float) -> None:
        """`seconds`: how long `make` may take."""
        self.name, self._make, self._seconds = name, make, seconds
        self._thread: DaemonThread | None = None
        self._made: Made | None = None
        self._hung: list[Future[_Outcome]] = []
        self._lock = threading.Lock()

    @property
    def hung(self) -> int:
        """How many calls were given up and have not ended yet."""
        return sum(not future.done() for future in self._hung)

    def begin(self) -> Made:
        """What was made, making it where it is not yet. Raises PluginFailure."""
        with self._lock:
            return self._ready()

    def call(self, function: Callable[[Made], Any], seconds: float) -> Any:
        """What `function` gives for what was made; callers wait for each other.

        Raises PluginFailure: it raised anything (SystemExit, too), took longer than `seconds`, or
        is called no more.
        """
        with self._lock:
            made = self._ready()
            return self._run(lambda: function(made), seconds)

    def _ready(self) -> Made:
        if self._thread is None or self._made is None:
            if self.hung >= MAX_HUNG:
                raise PluginFailure(
                    self.name, f"not called: {MAX_HUNG} earlier calls have never ended"
                )
            self._thread = DaemonThread(f"plug-in {self.name}")
            self._made = self._run(self._make, self._seconds)
        return self._made

    def _run(self, job: Callable[[], Any], seconds: float) -> Any:
        assert self._thread is not None
        outcome: Future[_Outcome] = Future()
        self._thread.submit(lambda: outcome.set_result(_outcome(job)))
        try:
            ended = outcome.result(seconds)
        except TimeoutError:
            self._give_up(outcome)
            late = f"no result within {seconds:g} seconds (abandoned)"
            raise PluginFailure(self.name, late) from None
        except BaseException:
            self._give_up(outcome)
            raise
        if ended.error is not None:
            raise PluginFailure(self.name, fault_line(ended.error), ended.error)
        return ended.value

    def _give_up(self, outcome: "Future[_Outcome]") -> None:
        self._thread = self._made = None
        self._hung = [*(future for future in self._hung if not future.done()), outcome]


def _outcome(job: Callable[[], Any]) -> _Outcome:
    with catch_output() as printed:
        try:
            outcome = _Outcome(job())
        except BaseException as error:  # noqa: BLE001 - SystemExit, too: it must not end the thread
            outcome = _Outcome(error=error)
    if (said := printed.end()) and sys.stderr:
        sys.stderr.write(said if said.endswith("\n") else f"{said}\n")
    return outcome
