"""A study's progress: a line for each system on a terminal, plain lines elsewhere."""

import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from branchwise.agents.limits import Limits
from branchwise.agents.outages import Outages
from branchwise.base.numbers import UNKNOWN, number, short_count, usd
from branchwise.base.text import counted, printable
from branchwise.report.terminal.cells import plain
from branchwise.report.terminal.console import progress_console
from branchwise.report.terminal.outage_lines import OutagePrinter, outage_lines
from branchwise.runs.costs.prices import Prices
from branchwise.runs.store import RunReader
from branchwise.runs.studies.systems import NamedSystem
from branchwise.runs.studies.tally import Tally

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live
    from rich.table import Table

    from branchwise.corpora.questions import Question

SECONDS_BETWEEN_LINES = 10.0
_MOST_PLAIN = 8
"""Systems that have a plain line each; where there are more, one line is for all."""
_LEAST_NAME = 8
_ROWS_BESIDE = 7
"""Rows of a terminal that the systems leave to headings, to the lines below, and to a prompt."""


class StudyLive:
    """An observer of a study (`eval.studies.running.StudyObserver`).

    `max_cost` in USD is shown beside what was spent; `limits` where a server has refused requests,
    `outages` where one is gone.
    """

    def __init__(
        self,
        prices: Prices,
        limits: Limits,
        outages: Outages | None = None,
        *,
        max_cost: float | None = None,
        retry_failed: bool = False,
    ) -> None:
        self._prices, self._limits, self._outages = prices, limits, outages
        self._max_cost, self._retry_failed = max_cost, retry_failed
        self._tallies: list[Tally] = []
        self._console = progress_console()
        self._live: Live | None = None
        self._shown = ExitStack()
        self._began = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                get_renderable=self.view,
                refresh_per_second=4,
                redirect_stdout=False,  # which strikes out keys (report/terminal/console.py)
            )
            self._shown.enter_context(self._live)
        else:
            self._shown.enter_context(OutagePrinter(self._outages, self._print))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._shown.close()
        if not self._live and self._tallies:
            self._print_lines()

    def begins(self, system: NamedSystem, run: RunReader) -> "_System":
        """A system's run is open: count what has ended before, and watch the rest."""
        tally = Tally.of(system, run, self._prices, retry_failed=self._retry_failed)
        self._tallies.append(tally)
        self._began = self._printed = time.monotonic()
        return _System(self, tally)

    def ended(self, tally: Tally, question: "Question", record: dict[str, Any]) -> None:
        """An item of a system ended; where it failed, say why."""
        tally.ended(question, record)
        if record["error"]:
            line = f"failed: {tally.name}: {question.id}: {record['error']}"
            self._print(printable(line[:300]))
        if self._live is None and self._is_time_for_lines():
            self._print_lines()

    def view(self) -> "Group":
        """What a terminal shows: as many systems as it has rows for, and a line for all."""
        from rich.console import Group

        rows = max(1, self._console.size.height - _ROWS_BESIDE)
        shown = self._tallies[:rows]
        if not shown:
            return Group(plain("opening what the systems search", "dim"))
        lines = [self._summary(), *self._slowed()]
        if more := len(self._tallies) - len(shown):
            lines.insert(0, f"… and {counted(more, 'more system')}")
        gone = [plain(line, "yellow") for line in outage_lines(self._outages)]
        return Group(self._table(shown), plain("\n".join(lines), "dim"), *gone)

    def _table(self, tallies: list[Tally]) -> "Table":
        from rich import box
        from rich.table import Table

        titles = ("done", *_headings(tallies[0]), "tokens", "USD", "failed", "left")
        rows = [self._cells(tally) for tally in tallies]
        widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
        # The names get what the numbers leave: rich would cut both.
        room = max(_LEAST_NAME, self._console.size.width - sum(widths) - 2 * len(widths) - 2)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("system", no_wrap=True)
        for title, width in zip(titles, widths, strict=True):
            table.add_column(title, justify="right", no_wrap=True, min_width=width)
        for tally, cells in zip(tallies, rows, strict=True):
            styled = ("bold red" if t == "failed" and tally.failed else "" for t in titles)
            name = plain(_within(printable(tally.name), room))
            table.add_row(name, *map(plain, cells, styled))
        return table

    def _cells(self, tally: Tally) -> list[str]:
        return [
            f"{tally.ended_items}/{tally.total}",
            *(number(mean) for mean in tally.means),
            short_count(tally.tokens),
            usd(tally.cost),
            str(tally.failed),
            self._left([tally]),
        ]

    def _summary(self) -> str:
        done = sum(tally.ended_items for tally in self._tallies)
        total = sum(tally.total for tally in self._tallies)
        parts = [f"{done} of {counted(total, 'item')}", f"{self._rate():.1f} a second"]
        parts.append(f"{self._left(self._tallies)} left")
        if self._max_cost is not None:
            spent = [tally.cost for tally in self._tallies]
            known = None if None in spent else sum(cost for cost in spent if cost is not None)
            parts.append(f"{usd(known)} of {usd(self._max_cost)} USD")
        return ", ".join(parts)

    def _slowed(self) -> list[str]:
        """The servers that have refused requests, and how many they get at a time now."""
        lines = []
        for address, limiter in self._limits.known().items():
            if limiter.refusals:
                held = f", waits {limiter.held:.0f} s as it asked" if limiter.held >= 1 else ""
                limit = f"{limiter.limit} requests at a time{held}"
                lines.append(printable(f"{address}: {limiter.refusals} refused (429), {limit}"))
        return lines

    def _rate(self) -> float:
        seconds = time.monotonic() - self._began
        return sum(tally.here for tally in self._tallies) / seconds if seconds > 0 else 0.0

    def _left(self, tallies: list[Tally]) -> str:
        """Time until these are through, as they have gone so far."""
        here = sum(tally.here for tally in tallies)
        waiting = sum(tally.total - tally.ended_items for tally in tallies)
        if not waiting:
            return "0:00"
        if not here:
            return UNKNOWN
        return clock((time.monotonic() - self._began) * waiting / here)

    def _is_time_for_lines(self) -> bool:
        now = time.monotonic()
        if now - self._printed < SECONDS_BETWEEN_LINES:
            return False
        self._printed = now
        return True

    def _print_lines(self) -> None:
        lines = [self._line(tally) for tally in self._tallies]
        if len(lines) > _MOST_PLAIN:
            lines = []
        for line in [*lines, self._summary(), *self._slowed()]:
            self._print(line)

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    def _line(self, tally: Tally) -> str:
        pairs = zip(_headings(tally), tally.means, strict=True)
        means = (f"{heading} {number(mean)}" for heading, mean in pairs)
        failed = f", {tally.failed} failed" if tally.failed else ""
        return (
            f"{printable(tally.name)}: {tally.ended_items}/{tally.total} done, {' '.join(means)}, "
            f"{short_count(tally.tokens)} tokens, {usd(tally.cost)} USD{failed}, "
            f"{self._left([tally])} left"
        )


class _System:
    """One system's observer: it tells the whole display."""

    def __init__(self, live: StudyLive, tally: Tally) -> None:
        self._live, self._tally = live, tally

    def opens(self, what: str) -> None:
        """Its study has opened everything before."""

    def ended(self, question: "Question", record: dict[str, Any]) -> None:
        self._live.ended(self._tally, question, record)


def _headings(tally: Tally) -> list[str]:
    """What the metrics are called in a row: the last line of a heading."""
    return [column.heading.split("\n")[-1] for column in tally.columns]


def _within(name: str, room: int) -> str:
    """Both ends of a name that is too long: systems often differ at its end."""
    if len(name) <= room:
        return name
    end = room // 2
    return f"{name[: room - 1 - end]}…{name[-end:]}"


def clock(seconds: float) -> str:
    """ "0:07", "12:40", "3:05:00"; days beyond that."""
    whole = round(seconds)
    if whole >= 86_400:
        return f"{whole / 86_400:.1f} d"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
