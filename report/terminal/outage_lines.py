"""What is said of a server that is gone, while questions wait for it."""

import threading
from collections.abc import Callable

from branchwise.agents.outages import Outage, Outages
from branchwise.base.backoff import host_of
from branchwise.base.numbers import duration
from branchwise.base.text import printable

SECONDS_BETWEEN_NOTICES = 30.0


class OutagePrinter:
    """Prints a line when a server is gone, every half minute, and when it is back; in a `with`
    block it looks every second, on a thread: no question may end meanwhile. `noun`: what waits."""

    def __init__(
        self, outages: Outages | None, print_line: Callable[[str], None], noun: str = "question"
    ) -> None:
        self._outages, self._print, self._noun = outages, print_line, noun
        self._seconds: dict[str, float] = {}
        self._printed: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> "OutagePrinter":
        if self._outages:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        assert self._outages is not None
        now = {outage.server: outage for outage in self._outages.now()}
        for server in [second for second in self._seconds if second not in now]:
            gone = duration(self._seconds.pop(server))
            self._printed.pop(server, None)
            self._print(printable(f"{host_of(server) or server} answers again, after {gone}"))
        for server, outage in now.items():
            self._seconds[server] = outage.seconds
            printed = self._printed.get(server)
            if printed is None or outage.seconds - printed >= SECONDS_BETWEEN_NOTICES:
                self._printed[server] = outage.seconds
                self._print(outage_line(outage, self._outages.patience, self._noun))

    def _look_on(self) -> None:
        while not self._ended.wait(1.0):
            self.look()


def outage_line(outage: Outage, patience: float, noun: str) -> str:
    return printable(f"{outage.line(noun)}; stops after {duration(patience)}")
