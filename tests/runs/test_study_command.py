"""`branchwise ablate` as a person types it, and what it shows while it goes."""

import json
import re
import shutil
import sys
from io import StringIO

import pytest

from branchwise.__main__ import main
from branchwise.agents.limits import Limits
from branchwise.agents.reply import ModelError
from branchwise.base.errors import InputError
from branchwise.commands import ablate as ablate_module
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.graphs.system import System
from branchwise.report.terminal import study_live
from branchwise.runs.costs.prices import Prices
from branchwise.runs.studies.systems import NamedSystem
from support.chat_server import fail
from support.runs.studies import reply

pytestmark = pytest.mark.slow

STUDY = """
name: small
questions: questions.jsonl
base:
  model: openai:scripted@{url}
  corpus: {corpus}
  k: 2
  max_tokens: 50
factors:
  expansion: [off, on]
  k: [2, 1]
prices: prices.yaml
"""
PRICES = "models: {openai:scripted: {input: 1000, output: 4000}}"
HOSTILE = "q\x1b[2J\u202e[red]"


@pytest.fixture
def type_in(monkeypatch, capfd):
    """Run the command line; return its exit code, standard output and standard error."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def call_main(*arguments):
        monkeypatch.setattr(sys, "argv", ["branchwise", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capfd.readouterr()
        return code, said.out, said.err

    return call_main


@pytest.fixture
def study(chat_server, corpus, question_file, tmp_path):
    chat_server.play(reply)
    question_file(6)
    (tmp_path / "prices.yaml").write_text(PRICES)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(url=chat_server.url, corpus=corpus))
    return path


def test_a_study_ends_with_tables_changes_and_what_to_type_next(type_in, study, tmp_path):
    code, said, progress = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 0
    lines = " ".join(said.split())
    # 4 of 6 questions are right, with readings 5, with one passage 3.
    assert "+expansion strict precision on all questions +.17 [" in lines
    assert "k=1 strict precision on all questions -.17 [" in lines
    assert "p = 1 after Holm, n = 6)" in lines
    assert f"branchwise report {tmp_path}/S --html {tmp_path}/S/report.html" in said
    assert "base: 6/6 done, P .67 R .67 EM .67, " in progress
    assert "18 of 18 items, " in progress
    code, again, _ = type_in("ablate", study, "--out", tmp_path / "S")
    assert (code, again) == (0, said)


def test_a_dry_run_asks_nobody_and_makes_nothing(type_in, study, chat_server, tmp_path):
    code, said, _ = type_in("ablate", study, "--out", tmp_path / "S", "--dry-run")
    assert code == 0
    assert "3 systems" in said
    assert chat_server.requests == []
    assert not (tmp_path / "S").exists()


def test_a_report_knows_the_prices_that_the_study_went_by(type_in, study, tmp_path):
    def costs():
        code, said, _ = type_in("report", tmp_path / "S", "--json")
        assert code == 0
        return [system["costs"]["cost"] for system in json.loads(said)]

    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    first = costs()
    assert all(cost > 0 for cost in first)
    dear = tmp_path / "dear.yaml"
    dear.write_text(PRICES.replace("1000", "2000").replace("4000", "8000"))
    assert type_in("ablate", study, "--out", tmp_path / "S", "--prices", dear)[0] == 0
    dear.unlink()
    assert costs() == pytest.approx([2 * cost for cost in first])
    study.write_text(study.read_text().replace("prices: prices.yaml", ""))
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    assert costs() == pytest.approx([2 * cost for cost in first]), "once given they stay"


def test_a_page_can_be_printed(type_in, study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    before = set(tmp_path.iterdir())
    code, said, _ = type_in("report", tmp_path / "S", "--html", "-")
    assert code == 0
    assert said.startswith("<!doctype html>")
    assert said.rstrip().endswith("</html>")
    assert set(tmp_path.iterdir()) == before


def test_without_a_folder_the_study_has_its_own(type_in, study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert type_in("ablate", study)[0] == 0
    assert (tmp_path / "studies" / "small" / "study.json").exists()


def test_a_study_out_of_money_says_how_to_go_on(type_in, study, tmp_path):
    out = tmp_path / "S"
    code, said, complaint = type_in("ablate", study, "--out", out, "--max-cost", "20")
    assert code == 1
    assert said == ""
    assert "Stopped: the next call can cost up to $" in complaint
    assert "of --max-cost 20 are spent" in complaint
    assert f"branchwise ablate {study} --out {out} --max-cost HIGHER" in complaint
    assert type_in("ablate", study, "--out", out, "--max-cost", "500")[0] == 0


def test_the_command_that_continues_keeps_the_limits_that_were_given(
    type_in, study, chat_server, tmp_path
):
    chat_server.play(lambda body: fail(401, "no such key"))
    limits = ("--max-cost", "400.5", "--concurrency", "3", "--max-requests", "2")
    _, _, complaint = type_in("ablate", study, "--out", tmp_path / "S", *limits)
    again = f"branchwise ablate {study} --out {tmp_path}/S --concurrency 3 --max-requests 2"
    assert f"{again} --max-cost 400.5\n" in complaint
    chat_server.play(reply)
    _, _, complaint = type_in("ablate", study, "--out", tmp_path / "S", *limits[2:], "--max-cost=1")
    assert f"{again} --max-cost HIGHER\n" in complaint


def test_a_refused_key_ends_the_study_with_exit_code_1(type_in, study, chat_server, tmp_path):
    chat_server.play(lambda body: fail(401, "no such key"))
    code, _, complaint = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 1
    # All systems ask at the same time; whose refusal comes first is the one that is told.
    assert re.search(r"Stopped: system '(base|\+expansion|k=1)': openai:scripted@", complaint)
    assert f"branchwise ablate {study} --out {tmp_path}/S\n" in complaint


def test_failed_items_are_named_and_may_be_run_again(type_in, study, chat_server, tmp_path):
    chat_server.play(lambda body: fail(400, "no") if "0003" in json.dumps(body) else reply(body))
    code, _, complaint = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 1
    assert "failed: base: q3: bad_request: " in complaint
    assert "3 of 18 items failed and count 0:\n  3 x bad_request: " in complaint
    assert "--retry-failed" in complaint
    chat_server.play(reply)
    code, _, complaint = type_in("ablate", study, "--out", tmp_path / "S", "--retry-failed")
    assert code == 0
    assert "items failed" not in complaint


def test_another_study_in_the_folder_is_one_line_and_exit_code_2(type_in, study, tmp_path):
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    study.write_text(study.read_text().replace("k: [2, 1]", "k: [2, 3]"))
    code, _, complaint = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 2
    last = complaint.strip().splitlines()[-1]
    assert "contains another study: systems only there: k=1; systems only here: k=3" in last


@pytest.mark.parametrize("change", ["swap", "copy", "file"])
def test_a_run_that_is_not_the_one_of_its_system_is_read_by_no_command(
    type_in, study, tmp_path, change
):
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    one, two, *_ = runs = sorted((tmp_path / "S" / "runs").iterdir())
    match change:
        case "swap":
            for source, target in ((one, tmp_path / "x"), (two, one), (tmp_path / "x", two)):
                source.rename(target)
        case "copy":
            shutil.rmtree(one)
            shutil.copytree(two, one)
        case "file":
            shutil.copyfile(two / "run.sqlite", one / "run.sqlite")
    for command in (
        ("report", tmp_path / "S"),
        ("report", *runs),
        ("report", tmp_path / "S", "--html", tmp_path / "x.html"),
        ("score", one),
        ("trace", one, "--print"),
        ("errors", one),
        ("export", one),
        ("resume", one),
        ("recover", tmp_path / "S", "--out", tmp_path / "N"),
        ("ablate", study, "--out", tmp_path / "S"),
    ):
        code, _, err = type_in(*command)
        assert code == 2, command
        assert re.search(r"the run is of the system '.+', and the study has '.+' here", err)
        assert err.count("\n") == 1
    assert type_in("verify", tmp_path / "S")[0] == 1


def test_more_systems_than_open_files_are_refused(monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    ablate_module._check_open_files(20)
    with pytest.raises(InputError, match="40 systems need 344 open files"):
        ablate_module._check_open_files(40)


class Ended:
    """A run without items that have ended."""

    task = "branches"

    def progress(self):
        return {"total": 3}

    def items(self):
        return ()


QUESTION = Question(
    id=HOSTILE,
    question="Who?",
    branches=(Branch(name="default", answers=(Answer(text="right"),)),),
)


def record(answer, error=None):
    usage = {"calls": 2, "input": 1_000, "output": 50, "cached": 0, "reasoning": 0, "seconds": 1.0}
    prediction = {"answers": {"default": [answer]}} if error is None else {}
    return {"prediction": prediction, "evidence": [], "usage": {"agent": usage}, "error": error}


@pytest.fixture
def shown_on(monkeypatch):
    """A display of named systems on a terminal of this size, or on none."""
    from rich.console import Console

    def make(names, *, terminal, limits=None):
        console = Console(
            stderr=True, force_terminal=terminal, width=80, height=24, highlight=False
        )
        monkeypatch.setattr(study_live, "progress_console", lambda: console)
        live = study_live.StudyLive(Prices.load(), limits or Limits(), max_cost=2.0)
        system = System(model="openai:gpt-6-luna")
        watching = [live.begins(NamedSystem(n, n, system, {}, "m", n, n), Ended()) for n in names]
        return live, watching

    return make


def rendered(live):
    """What a terminal would show, without its control codes."""
    from rich.console import Console

    page = StringIO()
    Console(file=page, width=80, highlight=False).print(live.view())
    return page.getvalue()


def test_a_terminal_has_a_line_for_each_system(shown_on):
    live, (base, other) = shown_on(["base", "other"], terminal=True)
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


def test_more_systems_than_a_terminal_has_rows_for_are_counted(shown_on):
    live, _ = shown_on([f"s{n}" for n in range(40)], terminal=True)
    with live:
        lines = rendered(live).splitlines()
    assert len(lines) <= 23
    assert "… and 23 more systems" in lines


def test_long_names_leave_room_for_the_numbers(shown_on):
    names = [f"tools: {'+something_long ' * 5}{n}" for n in range(2)]
    live, (first, _) = shown_on(names, terminal=True)
    with live:
        first.ended(QUESTION, record("right"))
        shown = rendered(live)
    assert all(len(line) <= 80 for line in shown.splitlines())
    row = next(line for line in shown.splitlines() if "1/3" in line)
    assert row.startswith("tools: ")
    assert "long 0 " in row
    assert ".00013" in row


def test_plain_lines_hold_nothing_that_steers_a_terminal(shown_on, capfd):
    live, (one,) = shown_on([f"[red]{HOSTILE}"], terminal=False)
    with live:
        one.ended(QUESTION, record("", error="server: \x9b31m no"))
    said = capfd.readouterr().err
    assert "[red]q" in said
    assert "1/3 done, P .00 R .00 EM .00, 1,050 tokens, .00013 USD, 1 failed" in said
    assert all(line.isprintable() for line in said.splitlines())


async def test_a_server_that_refused_requests_is_named(shown_on):
    limits = Limits(8)
    with pytest.raises(ModelError):
        async with limits.at("http://localhost:8000/v1").slot():
            raise ModelError("rate_limit", "429", retryable=True, retry_after=50.0)
    live, _ = shown_on(["base"], terminal=True, limits=limits)
    with live:
        shown = " ".join(rendered(live).split())
    assert "localhost:8000/v1: 1 refused (429), 1 requests at a time, waits 50 s" in shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0:00"), (7, "0:07"), (760, "12:40"), (11_100, "3:05:00"), (200_000, "2.3 d")],
)
def test_time_left_is_read_as_a_clock(seconds, shown):
    assert study_live.clock(seconds) == shown
