"""Plug-ins that are made once and called from synchronous code, one call at a time."""

import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from branchwise.corpora.plugins.isolator import Isolator, PluginFailure, Read
from branchwise.corpora.plugins.threads import DaemonThread

MAX_HUNG = 4
"""Calls that never ended: after this many a plug-in is no longer called. Each may hold a model."""

_Made = TypeVar("_Made")


class PluginWorker(Generic[_Made]):
    """One plug-in on its own thread: made there by `make`, and called there.

    So the object may belong to one thread, as SQLite's connections do. A call that takes too long
    is abandoned, and the next one gets a new object on another thread, because the old object may
    still be in use. What a call prints goes to standard error.
    """

    def __init__(self, name: str, make: Callable[[], _Made], seconds: float) -> None:
        """`seconds`: time limit of `make`."""
        self._isolator = Isolator(name, MAX_HUNG)
        self._name, self._make, self._seconds = name, make, seconds
        self._thread: DaemonThread | None = None
        self._made: _Made | None = None
        self._lock = threading.Lock()

    def begin(self) -> _Made:
        """The object, made on first use. Raises PluginFailure."""
        with self._lock:
            return self._ready()

    def call(
        self,
        use: Callable[..., Any],
        arguments: Mapping[str, Any],
        *,
        seconds: float,
        read: Callable[[Any], Read],
    ) -> Read:
        """`read` of the result of `use`, called with the object and copies of the arguments.

        Callers wait for each other. Raises PluginFailure, as Isolator's calls do.
        """
        with self._lock:
            return self._run(partial(use, self._ready()), arguments, seconds, read)

    def _ready(self) -> _Made:
        if self._thread is None or self._made is None:
            self._thread = DaemonThread(f"plug-in {self._name}")
            self._made = self._run(self._make, {}, self._seconds, lambda made: made)
        return self._made

    def _run(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        seconds: float,
        read: Callable[[Any], Read],
    ) -> Read:
        assert self._thread is not None
        try:
            called = self._isolator.call_on(
                self._thread, function, arguments, seconds=seconds, read=read
            )
        except BaseException as error:
            if not isinstance(error, PluginFailure) or error.error is None:
                self._thread = self._made = None  # it is still running
            if isinstance(error, PluginFailure):
                _say(error.printed)
            raise
        _say(called.printed)
        return called.value


def _say(printed: str) -> None:
    if printed and sys.stderr:
        sys.stderr.write(printed if printed.endswith("\n") else f"{printed}\n")
