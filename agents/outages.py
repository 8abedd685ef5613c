"""Servers that are gone: requests wait for them instead of failing one by one.

A request that finds no connection, or a gateway's 502, closes its server's gate, as do requests of
two questions that get no answer; any answer opens it. While it is closed one request at a time goes
and sees, and the others wait in order.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from branchwise.base.backoff import Sign, backoff, host_of
from branchwise.base.numbers import duration
from branchwise.base.text import counted

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
ReadSign = Callable[[Exception], Sign | None]
"""What a request's failure says of its server; None: nothing."""

PATIENCE = 120.0
"""Seconds without an answer after which a pass ends."""
SHOWN_AFTER = 2.0
"""Seconds after which an outage is told: many are over before."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


class PassEndedError(Exception):
    """Ends the whole pass, as no item's failure: all that are left would end the same way."""


class ServerGoneError(PassEndedError):
    """A server gave no answer for as long as it was waited for."""


def _no_answer(server: str, seconds: float) -> str:
    return f"no answer from {host_of(server) or server} for {duration(seconds)}"


class Outage(NamedTuple):
    """A server that is gone: for how many seconds, how many wait for it, what was said last."""

    server: str
    seconds: float
    waiting: int
    reason: str

    def line(self, noun: str = "question") -> str:
        """ "no answer from localhost:8000 for 30 s, 16 questions wait"; `noun`: what waits."""
        what = _no_answer(self.server, self.seconds)
        wait = f", {counted(self.waiting, noun)} wait{'s' if self.waiting == 1 else ''}"
        return what + (wait if self.waiting else "")


class ServerWatch:
    """Whether one server answers, and who may ask it while it does not.

    `since`: when the first of those requests failed that no answer has followed. For one event
    loop at a time; `sleep` and `clock` are in seconds.
    """

    def __init__(
        self, server: str, patience: float, sleep: Sleep, clock: Callable[[], float]
    ) -> None:
        self.server, self.patience = server, patience
        self._sleep, self._clock = sleep, clock
        self.since: float | None = None
        self.reason = ""
        self._is_closed = self._probing = False
        self._failures, self._next_probe, self._gone_before = 0, 0.0, 0.0
        self._lost: set[int] = set()
        self._waiting = Counter[int]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turnstile: asyncio.Lock
        self._changed: asyncio.Event

    @property
    def gone_seconds(self) -> float:
        """For how long it has been gone, all in all."""
        now = self._clock() - self.since if self._is_closed and self.since is not None else 0.0
        return self._gone_before + now

    @property
    def outage(self) -> Outage | None:
        """What is to be told of it; None while it answers."""
        if not self._is_closed or self.since is None:
            return None
        return Outage(self.server, self._clock() - self.since, len(self._waiting), self.reason)

    async def asked(
        self,
        request: Callable[[], Awaitable[T]],
        *,
        of: object,
        sign: ReadSign,
        on_wait: Callable[[float], None],
    ) -> T:
        """The result of `request`, which waits while the server is gone.

        One that goes to see whether it is back, and gets no answer, waits on behind the others; any
        other failure is raised. `of`: the question that asks, by which those who wait are counted;
        `on_wait` gets the seconds of each wait, and of each such look, which are not its own.
        Raises ServerGoneError if there was no answer for the whole patience.
        """
        with self._waiting_as(id(of)) as waits:
            while True:
                is_probe = await self._turn(waits, on_wait)
                began = self._clock()
                try:
                    result = await request()
                except Exception as error:
                    heard = sign(error)
                    self._note(heard, str(error), id(of))
                    if not (is_probe and heard in ("gone", "lost")):
                        raise
                    on_wait(self._clock() - began)
                else:
                    self._note("answered")
                    return result
                finally:
                    if is_probe:
                        self._probing = False
                        self._wake()

    @contextmanager
    def _waiting_as(self, question: int) -> Iterator[Callable[[], None]]:
        """Counts the question among those that wait, from the call that it gives on."""
        counted = False

        def wait() -> None:
            nonlocal counted
            self._waiting[question] += not counted
            counted = True

        try:
            yield wait
        finally:
            if counted:
                self._waiting[question] -= 1
                if not self._waiting[question]:
                    del self._waiting[question]

    async def _turn(self, waits: Callable[[], None], on_wait: Callable[[float], None]) -> bool:
        """Wait until a request may go; returns whether it goes to see if the server is back."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # No request of an ended one is on its way.
            self._loop, self._probing = loop, False
            self._turnstile, self._changed = asyncio.Lock(), asyncio.Event()
            self._waiting.clear()
        if not self._is_closed:
            return False
        waits()
        is_probe, began = False, self._clock()
        # The one that holds the turnstile looks next; the others queue for it in order.
        async with self._turnstile:
            while self._is_closed:
                if self._probing:
                    await self._changed.wait()
                elif self._clock() >= self._ends:
                    seconds = 0.0 if self.since is None else self._clock() - self.since
                    # A model's error begins with its name and address.
                    reason = self.reason.partition(f"@{self.server}: ")[2] or self.reason
                    raise ServerGoneError(f"{_no_answer(self.server, seconds)} ({reason})")
                elif (pause := min(self._next_probe, self._ends) - self._clock()) > 0:
                    await self._pause(pause)
                else:
                    self._probing = is_probe = True
                    break
        on_wait(self._clock() - began)
        return is_probe

    async def _pause(self, seconds: float) -> None:
        """Until then, or until something changes."""
        waits = map(asyncio.ensure_future, (self._sleep(seconds), self._changed.wait()))
        pending = set(waits)
        try:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in pending:
                wait.cancel()

    def _note(self, sign: Sign | None, reason: str = "", question: int = 0) -> None:
        if sign == "answered":
            self._gone_before = self.gone_seconds
            self.since, self._failures = None, 0
            self._lost.clear()
            self._set_closed(False)
        elif sign is not None and self.patience > 0:
            now = self._clock()
            self.since = now if self.since is None else self.since
            self.reason, self._failures = reason, self._failures + 1
            pause = backoff(self._failures, None, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
            self._next_probe = now + pause
            if sign == "lost":
                self._lost.add(question)
            # One question may be too much for the server; two that get no answer are not.
            self._set_closed(self._is_closed or sign == "gone" or len(self._lost) > 1)

    def _set_closed(self, is_closed: bool) -> None:
        if is_closed != self._is_closed:
            self._is_closed = is_closed
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def _ends(self) -> float:
        """When the patience is over, of the clock."""
        return self.patience + (self._clock() if self.since is None else self.since)


class Outages:
    """A watch for each server that is asked, by address: shared by all that ask there.

    `patience`: seconds without an answer after which the pass ends; 0: requests fail at once.
    `told`: by who told it, the servers that are gone for other processes of the pass.
    """

    def __init__(
        self,
        patience: float = PATIENCE,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not patience >= 0:
            raise ValueError(f"patience is at least 0 seconds, not {patience}")
        self.patience, self._sleep, self._clock = patience, sleep, clock
        self._watches: dict[str, ServerWatch] = {}
        self.told: dict[object, Sequence[Outage]] = {}

    def at(self, server: str) -> ServerWatch:
        """The one watch of this address."""
        if server not in self._watches:
            watch = ServerWatch(server, self.patience, self._sleep, self._clock)
            self._watches[server] = watch
        return self._watches[server]

    def now(self) -> list[Outage]:
        """The servers that are gone, without outages of a moment."""
        own = [watch.outage for watch in list(self._watches.values())]
        others = [outage for told in self.told.values() for outage in told]
        known: dict[str, Outage] = {}
        for outage in filter(None, (*own, *others)):
            if other := known.get(outage.server):
                waiting = other.waiting + outage.waiting
                outage = max(other, outage, key=lambda seen: seen.seconds)._replace(waiting=waiting)
            known[outage.server] = outage
        return [outage for outage in known.values() if outage.seconds >= SHOWN_AFTER]
