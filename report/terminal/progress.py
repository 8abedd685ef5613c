"""How far a command is: a view that a terminal draws anew, in a notebook one line that changes,
lines now and then elsewhere."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from branchwise.agents.outages import Outages
from branchwise.base.numbers import UNKNOWN, number, short_count, usd
from branchwise.base.text import counted, cut_within, printable
from branchwise.report.terminal.cells import plain
from branchwise.report.terminal.console import progress_console
from branchwise.report.terminal.outage_lines import OutagePrinter, outage_line

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from branchwise.agents.restraints import Limits
    from branchwise.corpora.questions import Question
    from branchwise.runs.costs.prices import Prices
    from branchwise.runs.store import RunReader
    from branchwise.runs.studies.systems import NamedSystem
    from branchwise.runs.studies.tally import Tally


SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_UPDATES = 0.25
"""Of the line in a notebook."""
_MOST_REASON = 300
_BAR_WIDTH = 40
_MOST_PLAIN = 8
"""Systems that have a plain line each; where there are more, one line is for all."""
_LEAST_NAME = 8
_ROWS_BESIDE = 7
"""Rows of a terminal that the systems leave to headings, to the lines below, and to a prompt."""


class _Display(ABC):
    """A view on a terminal, lines elsewhere; either says which server is gone, and what waits."""

    def __init__(self, outages: Outages | None = None, waiting: str = "question") -> None:
        self._outages, self._waiting = outages, waiting
        self._console = progress_console()
        self._is_drawn = self._console.is_terminal
        self._cell: NotebookLine | None = None
        if self._console.is_jupyter and not self._console.quiet:
            self._cell = NotebookLine()
        self._shown = ExitStack()
        self._start_clock()

    def __enter__(self) -> Self:
        if self._is_drawn:
            from rich.live import Live

            live = Live(
                console=self._console,
                get_renderable=self.view,
                refresh_per_second=4,
                redirect_stdout=False,  # which strikes out keys (report/terminal/console.py)
            )
            self._shown.enter_context(live)
        else:
            self._shown.enter_context(OutagePrinter(self._outages, self._print, self._waiting))
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def view(self) -> "Group":
        from rich.console import Group
        from rich.text import Text

        parts = self._parts()
        if outages := self._outages:
            for outage in outages.now():
                line = outage_line(outage, outages.patience, self._waiting)
                parts.append(Text(line, "yellow", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    @abstractmethod
    def _parts(self) -> "list[RenderableType]":
        """What is shown above the servers that are gone."""

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    def _tell(self, *lines: str) -> None:
        """How far it is, where no view is drawn."""
        if self._cell:
            self._cell.show("\n".join(lines))
        else:
            for line in lines:
                self._print(line)

    def _print_failure(self, names: str, record: Mapping[str, Any]) -> None:
        # In a notebook the line that changes counts them.
        if record["error"] and not self._cell:
            self._print(printable(f"failed: {names}: {record['error']}"[:_MOST_REASON]))

    def _start_clock(self) -> None:
        self._began = self._printed = time.monotonic()

    def _is_time_for_lines(self) -> bool:
        now = time.monotonic()
        between = SECONDS_BETWEEN_UPDATES if self._cell else SECONDS_BETWEEN_LINES
        if now - self._printed < between:
            return False
        self._printed = now
        return True

    def _pace(self, here: int, waiting: int) -> tuple[str, ...]:
        """Rate and time left, where `here` have ended since the clock was started."""
        seconds = time.monotonic() - self._began
        rate = here / seconds if seconds > 0 else 0.0
        per, unit = (rate, "second") if rate >= 0.1 or not here else (60 * rate, "minute")
        pace = f"{per:,.{0 if per >= 100 else 1}f} a {unit}"
        return (pace, f"{self._left(here, waiting)} left") if waiting > 0 else (pace,)

    def _left(self, here: int, waiting: int) -> str:
        if waiting <= 0:
            return "0:00"
        return clock((time.monotonic() - self._began) * waiting / here) if here else UNKNOWN


class NotebookLine:
    """Text below a cell that is replaced by the next, without widgets; safe on any thread."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        from IPython.display import display

        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(shown, raw=True)


class ProgressBar(_Display):
    """Work of one kind, such as indexing passages; called as a `base.progress.Progress`.

    Lines are printed of requests to servers (`asks`) only where they take long, and their rate
    counts from the start; of other work from the first units: loading an encoder takes long.
    """

    def __init__(
        self,
        work: str,
        unit: str = "passages",
        *,
        asks: bool = False,
        outages: Outages | None = None,
    ) -> None:
        super().__init__(outages, "request")
        self._work, self._unit, self._asks = work, unit, asks
        self._done = self._total = 0
        self._before = 0 if asks else None

    def __call__(self, done: int, total: int) -> None:
        if self._before is None and 0 < done != total:
            self._before, self._began = done, time.monotonic()
        self._done, self._total = done, total
        is_last = done == total and not self._asks
        is_due = is_last or ((done or self._asks) and self._is_time_for_lines())
        if is_due and not self._is_drawn:
            self._tell(f"{self._work}: {', '.join(self._numbers())}")

    def _parts(self) -> "list[RenderableType]":
        loading = "" if self._done or self._asks else " (loading)"
        return [_row(self._work + loading, self._done, self._total or None, *self._numbers())]

    def _numbers(self) -> tuple[str, ...]:
        """Count, rate and time left; before the first units the time so far."""
        count = f"{self._done}/{self._total}" if self._total else f"{self._done}"
        pace: tuple[str, ...] = ()
        if here := self._done - (self._before or 0):
            pace = self._pace(here, self._total - self._done)
        elif not self._done:
            pace = (f"{time.monotonic() - self._began:.0f} s",)
        return f"{count} {self._unit}", *pace


class RunProgress(_Display):
    """An observer of a run (`runs.runner.Observer`) of `total` items, `ended` of them before."""

    def __init__(self, total: int, ended: int = 0, outages: Outages | None = None) -> None:
        super().__init__(outages)
        self._stage, self._is_open = "starting", False
        self._total, self._ended, self._before, self._failed = total, ended, ended, 0

    def opens(self, stage: str) -> None:
        """Say what is opened; the questions are counted when all is."""
        self._stage, self._is_open = printable(stage) or "answering", not stage
        if self._cell:
            self._tell(f"{self._stage} …")
        if self._is_open:
            self._start_clock()

    def ended(self, question: "Question", record: dict[str, Any]) -> None:
        self._ended += 1
        self._failed += bool(record["error"])
        self._print_failure(question.id, record)
        is_due = self._ended >= self._total or self._is_time_for_lines()
        if is_due and not self._is_drawn:
            failed = [f"{self._failed} failed"] if self._failed and self._cell else []
            self._tell(", ".join([*self._numbers(), *failed]))

    def _parts(self) -> "list[RenderableType]":
        if not self._is_open:
            return [_row(self._stage, 0, None)]
        failed = f"{self._failed} failed" if self._failed else ""
        return [_row(self._stage, self._ended, self._total, *self._numbers(), failed=failed)]

    def _numbers(self) -> tuple[str, ...]:
        pace = self._pace(self._ended - self._before, self._total - self._ended)
        return f"{self._ended}/{self._total} ended", *pace


class ScoringProgress:
    """What scoring does: a bar at a time. `asked`: whether any model had to be asked."""

    def __init__(self, outages: Outages | None = None) -> None:
        self._outages, self._shown = outages, ExitStack()
        self._work, self.asked = "", False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def requests(self, role: str, done: int, total: int) -> None:
        self.asked = True
        self._show(f"asking the {role}", "requests", done, total)

    def passages(self, done: int, total: int) -> None:
        self._show("looking for answers in the corpus", "passages", done, total)

    def _show(self, work: str, unit: str, done: int, total: int) -> None:
        if work != self._work:
            self._shown.close()
            self._work = work
            bar = ProgressBar(work, unit, asks=unit == "requests", outages=self._outages)
            self._bar = self._shown.enter_context(bar)
        self._bar(done, total)


class StudyProgress(_Display):
    """An observer of a study (`runs.studies.running.StudyObserver`). `max_cost` in USD is shown
    beside what was spent; `limits` where a server has refused requests."""

    def __init__(
        self,
        prices: "Prices",
        limits: "Limits",
        outages: Outages | None = None,
        *,
        max_cost: float | None = None,
        retry_failed: bool = False,
    ) -> None:
        super().__init__(outages)
        self._prices, self._limits = prices, limits
        self._max_cost, self._retry_failed = max_cost, retry_failed
        self._tallies: list[Tally] = []

    def __exit__(self, *ended: object) -> None:
        super().__exit__(*ended)
        if not self._is_drawn and self._tallies:
            self._print_lines()

    def begins(self, system: "NamedSystem", run: "RunReader") -> "_SystemProgress":
        """A system's run is open: count what has ended before, and watch the rest."""
        # What a tally counts by, scores and tasks, is more than a bar needs.
        from branchwise.runs.studies.tally import Tally

        tally = Tally.of(system, run, self._prices, retry_failed=self._retry_failed)
        self._tallies.append(tally)
        self._start_clock()
        return _SystemProgress(self, tally)

    def ended(self, tally: "Tally", question: "Question", record: dict[str, Any]) -> None:
        tally.ended(question, record)
        self._print_failure(f"{tally.name}: {question.id}", record)
        if not self._is_drawn and self._is_time_for_lines():
            self._print_lines()

    def _parts(self) -> "list[RenderableType]":
        """As many systems as a terminal has rows for, and a line for all."""
        shown = self._tallies[: max(1, self._console.size.height - _ROWS_BESIDE)]
        if not shown:
            return [plain("opening what the systems search", "dim")]
        lines = [self._summary(), *self._slowed()]
        if more := len(self._tallies) - len(shown):
            lines.insert(0, f"… and {counted(more, 'more system')}")
        return [self._table(shown), plain("\n".join(lines), "dim")]

    def _table(self, tallies: "list[Tally]") -> "Table":
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
            name = plain(cut_within(printable(tally.name), room))
            table.add_row(name, *map(plain, cells, styled))
        return table

    def _cells(self, tally: "Tally") -> list[str]:
        return [
            f"{tally.ended_items}/{tally.total}",
            *(number(mean) for mean in tally.means),
            short_count(tally.tokens),
            usd(tally.cost),
            str(tally.failed),
            self._left(tally.here, tally.total - tally.ended_items),
        ]

    def _summary(self) -> str:
        counts = [(tally.ended_items, tally.total, tally.here) for tally in self._tallies]
        done, total, here = map(sum, zip(*counts, strict=True))
        parts = [f"{done} of {counted(total, 'item')}", *self._pace(here, total - done)]
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

    def _print_lines(self) -> None:
        systems = self._tallies if len(self._tallies) <= _MOST_PLAIN else []
        self._tell(*map(self._line, systems), self._summary(), *self._slowed())

    def _line(self, tally: "Tally") -> str:
        done, *means, tokens, cost, failed, left = self._cells(tally)
        scores = " ".join(map(" ".join, zip(_headings(tally), means, strict=True)))
        failures = f", {failed} failed" if tally.failed else ""
        return (
            f"{printable(tally.name)}: {done} done, {scores}, "
            f"{tokens} tokens, {cost} USD{failures}, {left} left"
        )


class _SystemProgress:
    def __init__(self, display: StudyProgress, tally: "Tally") -> None:
        self._display, self._tally = display, tally

    def opens(self, stage: str) -> None:
        """Its study has opened everything before."""

    def ended(self, question: "Question", record: dict[str, Any]) -> None:
        self._display.ended(self._tally, question, record)


def _row(work: str, done: int, total: int | None, *numbers: str, failed: str = "") -> "Table":
    """A bar, which only pulses without a total; `numbers`: count, rate, time left."""
    from rich.progress_bar import ProgressBar as DrawnBar
    from rich.table import Table

    bar = DrawnBar(total, done, width=_BAR_WIDTH, pulse=total is None)
    row = Table.grid(padding=(0, 1, 0, 0))
    texts = map(plain, numbers, ("green", "", "cyan"))
    cells: list[RenderableType] = [plain(work), bar, *texts, plain(failed, "red")]
    for cell in cells:
        row.add_column(no_wrap=cell is not bar)  # which a narrow terminal shortens
    row.add_row(*cells)
    return row


def _headings(tally: "Tally") -> list[str]:
    """What the metrics are called in a row: the last line of a heading."""
    return [column.heading.split("\n")[-1] for column in tally.columns]


def clock(seconds: float) -> str:
    """ "0:07", "12:40", "3:05:00"; days beyond that."""
    whole = round(seconds)
    if whole >= 86_400:
        return f"{whole / 86_400:.1f} d"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
