"""What a person sees while a server is gone: on a bar, and as lines."""

import io

import pytest
from rich.console import Console

from branchwise.agents.outages import Outage, Outages
from branchwise.report.terminal import progress
from branchwise.report.terminal.outage_lines import OutagePrinter, outage_lines

SERVER = "http://127.0.0.1:8000/v1"


class Gone(Outages):
    """Outages that a test sets."""

    def __init__(self) -> None:
        super().__init__(120.0)
        self.found: list[Outage] = []

    def now(self) -> list[Outage]:
        return self.found


def test_a_line_says_who_waits_for_whom_and_until_when() -> None:
    gone = Gone()
    assert outage_lines(gone) == outage_lines(None) == []
    gone.found = [Outage(SERVER, 30.4, 16, "no connection"), Outage("http://\x1b[2J/", 3.0, 0, "")]
    assert outage_lines(gone) == [
        "no answer from 127.0.0.1:8000 for 30 s, 16 questions wait; stops after 2 min",
        "no answer from http://\N{REPLACEMENT CHARACTER}[2J/ for 3 s; stops after 2 min",
    ]


def test_plain_lines_come_at_first_every_half_minute_and_when_it_is_back() -> None:
    gone, lines = Gone(), list[str]()
    printer = OutagePrinter(gone, lines.append, "request")
    for seconds in (2.0, 3.0, 31.0, 32.0, 33.0, 62.0):
        gone.found = [Outage(SERVER, seconds, 1, "")]
        printer.look()
    gone.found = []
    printer.look()
    printer.look()
    assert lines == [
        "no answer from 127.0.0.1:8000 for 2 s, 1 request waits; stops after 2 min",
        "no answer from 127.0.0.1:8000 for 32 s, 1 request waits; stops after 2 min",
        "no answer from 127.0.0.1:8000 for 62 s, 1 request waits; stops after 2 min",
        "127.0.0.1:8000 answers again, after 62 s",
    ]


def test_a_bar_says_what_is_opened_and_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=90)
    monkeypatch.setattr(progress, "progress_console", lambda: console)
    gone = Gone()
    with progress.RunProgress(3, outages=gone) as shown:
        shown.opens("opening corpus C[old]")
        assert shown._bar is not None
        shown._bar.refresh()
        shown.opens("")
        gone.found = [Outage(SERVER, 30.0, 2, "")]
        shown._bar.refresh()
    said = screen.getvalue()
    assert "opening corpus C[old]" in said
    assert said.index("opening corpus") < said.index("answering") < said.index("no answer from")
    assert "no answer from 127.0.0.1:8000 for 30 s, 2 questions wait; stops after 2 min" in said
    assert "0/3" in said
