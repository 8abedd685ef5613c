"""What a person sees while a command goes: views on a terminal, plain lines elsewhere."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from branchwise.agents.outages import Outage, Outages
from branchwise.agents.reply import ModelError
from branchwise.agents.restraints import Limits
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.graphs.system import System
from branchwise.report.terminal import progress
from branchwise.report.terminal.progress import (
    OutagePrinter,
    ProgressBar,
    RunProgress,
    ScoringProgress,
    StudyProgress,
)
from branchwise.runs.costs.prices import Prices
from branchwise.runs.studies.systems import NamedSystem

SERVER = "http://127.0.0.1:8000/v1"
HOSTILE = "q\x1b[2J\u202e[red]"
QUESTION = Question(
    id=HOSTILE, question="Who?", branches=(Branch(name="default", answers=(Answer(text="right"),)),)
)


class Gone(Outages):
    """Outages that a test sets."""

    def __init__(self) -> None:
        super().__init__(120.0)
        self.found: list[Outage] = []

    def now(self) -> list[Outage]:
        return self.found


@pytest.fixture
def on_terminal(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=24, highlight=False)
    monkeypatch.setattr(progress, "progress_console", lambda: console)


@pytest.fixture
def in_pipe(monkeypatch, capfd):
    """The lines so far, of a clock that goes as the test sets it (`seconds`)."""
    console = Console(stderr=True, force_terminal=False, width=80)
    monkeypatch.setattr(progress, "progress_console", lambda: console)
    lines = SimpleNamespace(seconds=100.0, read=lambda: capfd.readouterr().err.splitlines())
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: lines.seconds))
    return lines


def rendered(display):
    """What a terminal would show, without its control codes."""
    page = io.StringIO()
    Console(file=page, width=80, highlight=False).print(display.view())
    return page.getvalue()


def test_a_bar_counts_from_the_first_passages_on(on_terminal):
    with ProgressBar("indexing C[old]") as bar:
        assert "indexing C[old] (loading)" in rendered(bar)
        bar(20, 60)
        bar(40, 60)
        shown = rendered(bar)
    assert "(loading)" not in shown
    assert "40/60 passages" in shown
    assert "a second" in shown
    assert "0:00 left" in shown


def test_in_a_pipe_a_bar_has_a_line_now_and_then_and_a_last_one(in_pipe):
    with ProgressBar("reading", "triples") as bar:
        for in_pipe.seconds, done in ((130.0, 0), (140.0, 10), (141.0, 20), (150.0, 50), (152, 60)):
            bar(done, 60)
    assert in_pipe.read() == [
        "reading: 10/60 triples",
        "reading: 50/60 triples, 4.0 a second, 0:02 left",
        "reading: 60/60 triples, 4.2 a second",
    ]


def test_requests_are_shown_before_any_is_answered_and_with_who_is_gone(on_terminal):
    gone = Gone()
    gone.found = [Outage(SERVER, 30.0, 2, "")]
    with ScoringProgress(gone) as scoring:
        assert not scoring.asked
        scoring.requests("matcher", 0, 14)
        assert scoring.asked
        shown = rendered(scoring._bar)
    assert "asking the matcher" in shown
    assert "0/14 requests" in shown
    assert "no answer from 127.0.0.1:8000 for 30 s, 2 requests wait; stops after 2 min" in shown


def test_in_a_pipe_requests_have_a_line_where_they_take_long(in_pipe):
    with ScoringProgress() as scoring:
        scoring.requests("matcher", 0, 1)
        scoring.requests("matcher", 1, 1)
        for in_pipe.seconds, done in ((100, 0), (109.9, 0), (110.0, 0), (119.9, 4), (120.0, 10)):
            scoring.requests("judge", done, 14)
    assert in_pipe.read() == [
        "asking the judge: 0/14 requests, 10 s",
        "asking the judge: 10/14 requests, 0.5 a second, 0:08 left",
    ]


def test_what_is_slow_is_told_by_the_minute(in_pipe):
    with ScoringProgress() as scoring:
        for in_pipe.seconds, done in ((0, 0), (240.0, 2)):
            scoring.requests("judge", done, 14)
    assert in_pipe.read() == ["asking the judge: 2/14 requests, 0.5 a minute, 24:00 left"]


def test_a_run_says_what_is_opened_and_what_is_waited_for(on_terminal):
    gone = Gone()
    with RunProgress(4, 1, gone) as run:
        run.opens("opening corpus C[old]")
        assert "opening corpus C[old]" in rendered(run)
        run.opens("")
        run.ended(QUESTION, {"error": "server: no"})
        gone.found = [Outage(SERVER, 30.4, 16, "no"), Outage("http://\x1b[2J/", 3.0, 0, "")]
        lines = rendered(run).splitlines()
    assert lines[0].startswith("answering")
    assert "2/4 ended" in lines[0]
    assert "1 failed" in lines[0]
    assert lines[-2:] == [
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


class Ended:
    """A run without items that have ended."""

    task = "branches"

    def progress(self):
        return {"total": 3}

    def items(self):
        return ()


def record(answer, error=None):
    usage = {"calls": 2, "input": 1_000, "output": 50, "cached": 0, "reasoning": 0, "seconds": 1.0}
    prediction = {"answers": {"default": [answer]}} if error is None else {}
    return {"prediction": prediction, "evidence": [], "usage": {"agent": usage}, "error": error}


def study(names, limits=None):
    """The display of a study of named systems, and the observer of each."""
    display = StudyProgress(Prices.load(), limits or Limits(), max_cost=2.0)
    system = System(model="openai:gpt-6-luna")
    begun = [display.begins(NamedSystem(n, n, system, {}, "m", n, n), Ended()) for n in names]
    return display, begun


def test_a_terminal_has_a_line_for_each_system(on_terminal):
    live, (base, other) = study(["base", "other"])
    with live:
        base.ended(QUESTION, record("right"))
        base.ended(QUESTION, record("wrong"))
        other.ended(QUESTION, record("", error="server: \x9b31m no"))
        lines = [line.split() for line in rendered(live).splitlines()]
    by_name = {line[0]: line[1:] for line in lines if line}
    assert by_name["system"] == ["done", "P", "R", "EM", "tokens", "USD", "failed", "left"]
    # 2 x 1,000 tokens at .10 USD and 2 x 50 at .50 USD a million.
    assert by_name["base"][:6] == ["2/3", ".50", ".50", ".50", "2,100", ".00025"]
    assert by_name["base"][6] == "0"
    assert by_name["other"][:4] == ["1/3", ".00", ".00", ".00"]
    assert by_name["other"][6] == "1"
    assert by_name["3"][:3] == ["of", "6", "items,"]


def test_more_systems_than_a_terminal_has_rows_for_are_counted(on_terminal):
    live, _ = study([f"s{n}" for n in range(40)])
    with live:
        lines = rendered(live).splitlines()
    assert len(lines) <= 23
    assert "… and 23 more systems" in lines


def test_long_names_leave_room_for_the_numbers(on_terminal):
    names = [f"tools: {'+something_long ' * 5}{n}" for n in range(2)]
    live, (first, _) = study(names)
    with live:
        first.ended(QUESTION, record("right"))
        shown = rendered(live)
    assert all(len(line) <= 80 for line in shown.splitlines())
    row = next(line for line in shown.splitlines() if "1/3" in line)
    assert row.startswith("tools: ")
    assert "long 0 " in row
    assert ".00013" in row


def test_plain_lines_hold_nothing_that_steers_a_terminal(in_pipe):
    live, (one,) = study([f"[red]{HOSTILE}"])
    with live:
        one.ended(QUESTION, record("", error="server: \x9b31m no"))
    said = "\n".join(in_pipe.read())
    assert "[red]q" in said
    assert "1/3 done, P .00 R .00 EM .00, 1,050 tokens, .00013 USD, 1 failed" in said
    assert all(line.isprintable() for line in said.splitlines())


async def test_a_server_that_refused_requests_is_named(on_terminal):
    limits = Limits(8)
    with pytest.raises(ModelError):
        async with limits.at("http://localhost:8000/v1").slot():
            raise ModelError("rate_limit", "429", retryable=True, retry_after=50.0)
    live, _ = study(["base"], limits=limits)
    with live:
        shown = " ".join(rendered(live).split())
    assert "localhost:8000/v1: 1 refused (429), 1 requests at a time, waits 50 s" in shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0:00"), (7, "0:07"), (760, "12:40"), (11_100, "3:05:00"), (200_000, "2.3 d")],
)
def test_time_left_is_read_as_a_clock(seconds, shown):
    assert progress.clock(seconds) == shown
