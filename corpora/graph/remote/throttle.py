"""How often a host is asked, over all agents of the process: one throttle per host."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CONCURRENT = 5
"""Requests at a time: what Wikidata's query service allows one client."""

_throttles: dict[str, "HostThrottle"] = {}
_registry = threading.Lock()


class NoTurnError(Exception):
    """No turn is free before the deadline. `seconds`: how long the host must be left alone.

    0 where the host asked for nothing, and other requests take all of its places.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no turn for another {seconds:.1f} s")
        self.seconds = seconds


class HostThrottle:
    """At most `concurrent` requests at a time, `interval` seconds between the starts of two.

    Times are those of `time.monotonic`. Waiting threads sleep until something changes.
    """

    def __init__(self, concurrent: int = CONCURRENT, interval: float = 0.0) -> None:
        self._changed = threading.Condition()
        self._concurrent, self._interval = concurrent, interval
        self._running = 0
        self._next_start = 0.0
        self._held_until = 0.0

    def tighten(self, concurrent: int, interval: float) -> None:
        """Keep the stricter of these limits and those that hold already."""
        with self._changed:
            self._concurrent = min(self._concurrent, concurrent)
            self._interval = max(self._interval, interval)

    def hold(self, seconds: float) -> None:
        """Send this host nothing for so long; requests that cannot wait that long fail at once."""
        with self._changed:
            self._held_until = max(self._held_until, time.monotonic() + seconds)
            self._changed.notify_all()

    @contextmanager
    def turn(self, deadline: float, not_before: float = 0.0) -> Iterator[None]:
        """Wait for a place, kept for the body. Raises NoTurnError, early where it is sure."""
        with self._changed:
            self._wait(deadline, not_before)
            self._running += 1
            self._next_start = time.monotonic() + self._interval
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _wait(self, deadline: float, not_before: float) -> None:
        while True:
            now = time.monotonic()
            held = max(self._held_until, not_before)
            if held > deadline:
                raise NoTurnError(held - now)
            full = self._running >= self._concurrent
            start = max(held, self._next_start)
            if not full and start <= now:
                return
            if now >= deadline:
                raise NoTurnError(0.0)
            self._changed.wait((deadline if full else min(start, deadline)) - now)


def shared_throttle(host: str, concurrent: int = CONCURRENT, interval: float = 0.0) -> HostThrottle:
    """The one throttle of a host ("query.wikidata.org", with the port where one is named)."""
    with _registry:
        throttle = _throttles.setdefault(host.casefold(), HostThrottle(concurrent, interval))
    throttle.tighten(concurrent, interval)
    return throttle
