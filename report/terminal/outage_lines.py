"""Which servers are gone, said while a command waits for them."""

import threading
from collections.abc import Callable

from branchwise.agents.outages import Outage, Outages
from branchwise.base.backoff import host_of
from branchwise.base.numbers import duration
from branchwise.base.text import printable

SECONDS_BETWEEN_LINES = 30.0


def outage_lines(outages: Outages | None, noun: str = "question") -> list[str]:
    """A line for each server that is gone now, for a display that is drawn again and again.

    `noun`: what waits.
    """
    return [_line(one, outages.patience, noun) for one in outages.now()] if outages else []


def _line(outage: Outage, patience: float, noun: str) -> str:
    return printable(f"{outage.line(noun)}; stops after {duration(patience)}")


class OutagePrinter:
    """Prints a line when a server is gone, every half minute, and when it is back.

    In a `with` block it looks every second, on a thread of its own: no question may end meanwhile.
    `noun`: what waits.
    """

    def __init__(
        self,
        outages: Outages | None,
        print_line: Callable[[str], None],
        noun: str = "question",
    ) -> None:
        self._outages, self._print, self._noun = outages, print_line, noun
        self._told: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "OutagePrinter":
        if self._outages:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        """Print what is new."""
        assert self._outages is not None
        now = {one.server: one for one in self._outages.now()}
        for server in [one for one in self._last if one not in now]:
            gone = duration(self._last.pop(server))
            self._told.pop(server, None)
            self._print(printable(f"{host_of(server) or server} answers again, after {gone}"))
        for server, one in now.items():
            self._last[server] = one.seconds
            told = self._told.get(server)
            if told is None or one.seconds - told >= SECONDS_BETWEEN_LINES:
                self._told[server] = one.seconds
                self._print(_line(one, self._outages.patience, self._noun))

    def _look(self) -> None:
        while not self._ended.wait(1.0):
            self.look()
