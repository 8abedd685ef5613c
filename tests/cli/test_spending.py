"""`--max-cost` and `--prices` of runs, questions and scores, as they are typed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.chat_server import Body, ChatServer, say

pytestmark = pytest.mark.slow

TypeIn = Callable[..., tuple[int, str, str]]
ANSWER = json.dumps({"reasoning": "r", "answers": {"Heat film": ["Mann"]}})
QUESTION = {"question": "Who directed Heat?", "answers": {"Heat (1995 film)": ["Michael Mann"]}}
USD = 1.1
"""Of a call: 1,000 tokens at 1,000 USD a million and 50 at 2,000."""
PRICES = {"models": {"openai:scripted": {"input": 1000, "output": 2000}}}


@pytest.fixture
def model(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    usage = {"prompt_tokens": 1000, "completion_tokens": 50}

    def script(body: Body) -> Any:
        judges = "answers" not in str(body["messages"][0])
        return say("nothing" if judges else ANSWER, usage=usage)

    chat_server.play(script)
    return f"openai:scripted@{chat_server.url}"


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(PRICES))
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{n}", **QUESTION}) + "\n" for n in range(6)))
    return path


def costs(type_in: TypeIn, run: Path) -> float | None:
    code, said, _ = type_in("report", run, "--json")
    assert code == 0
    cost: float | None = json.loads(said)[0]["costs"]["cost"]
    return cost


def test_a_run_stops_before_its_cost_is_passed_and_goes_on_with_more(
    type_in, model, prices, questions, chat_server, tmp_path
):
    named = ("--questions", questions, "--model", model, "--out", tmp_path / "R")
    bounded = (*named, "--max-tokens", 50, "--prices", prices, "--concurrency", 1)
    code, _, err = type_in("run", *named, "--max-cost", 3)
    assert code == 2
    assert "--max-cost: no price is known for openai:scripted@" in err
    code, _, err = type_in("run", *named, "--max-cost", 3, "--prices", prices)
    assert code == 2
    assert "has no limit of output tokens; set --max-tokens, or leave out --max-cost" in err
    assert (chat_server.requests, (tmp_path / "R").exists()) == ([], False)
    code, _, err = type_in("run", *bounded, "--max-cost", 5)
    assert code == 1
    asked = len(chat_server.requests)
    assert 0 < asked < 6
    assert "the next call can cost up to $" in err
    assert err.endswith(f"  branchwise resume {tmp_path / 'R'} --max-cost HIGHER\n")
    for again in ((), ("--max-cost", 5)):  # the limit stays with the run, and what was spent counts
        code, _, err = type_in("resume", tmp_path / "R", *again)
        assert (code, len(chat_server.requests)) == (1, asked)
        assert err.endswith(" --max-cost HIGHER\n")
    # The prices are the run's own by now.
    code, _, _ = type_in("resume", tmp_path / "R", "--max-cost", 50)
    assert (code, len(chat_server.requests), chat_server.repeats) == (0, 6, 5)
    assert costs(type_in, tmp_path / "R") == pytest.approx(6 * USD)


def test_the_limit_of_a_pilot_holds_for_its_run(
    type_in, model, prices, questions, chat_server, tmp_path
):
    run = tmp_path / "R"
    named = ("--questions", questions, "--model", model, "--out", run, "--concurrency", 1)
    bounded = (*named, "--max-tokens", 50, "--prices", prices)
    assert type_in("run", *bounded, "--max-cost", 5, "--pilot", 1)[0] == 0
    code, _, err = type_in("resume", run)
    asked = len(chat_server.requests)
    assert (code, asked * USD < 5) == (1, True)
    assert "of --max-cost 5 are spent" in err
    assert type_in("recover", run, "--out", tmp_path / "saved")[0] == 0
    assert type_in("resume", tmp_path / "saved")[0] == 1
    (run / "max-cost").write_text("much")
    code, _, err = type_in("resume", run)
    assert (code, len(chat_server.requests)) == (2, asked)
    assert "max-cost: is not an amount in USD; give the limit again with --max-cost" in err


def test_prices_once_given_stay_with_a_run(type_in, model, prices, questions, tmp_path):
    run = tmp_path / "R"
    assert type_in("run", "--questions", questions, "--model", model, "--out", run)[0] == 0
    assert costs(type_in, run) is None
    assert type_in("resume", run, "--prices", prices)[0] == 0
    prices.unlink()
    assert costs(type_in, run) == pytest.approx(6 * USD)
    saved = tmp_path / "saved"
    assert type_in("recover", run, "--out", saved)[0] == 0
    assert costs(type_in, saved) == pytest.approx(6 * USD)
    fork = tmp_path / "F"
    named = ("--question", "q1", "--step", "1", "--out", fork, "--print")
    assert type_in("fork", run, *named)[0] == 0
    assert costs(type_in, fork) == pytest.approx(USD)


def test_a_study_keeps_them_for_each_of_its_runs(type_in, model, prices, questions, tmp_path):
    study = tmp_path / "s.yaml"
    base = {"model": model}
    text = {"name": "s", "questions": "q.jsonl", "base": base, "factors": {"seed": [1, 2]}}
    study.write_text(yaml.safe_dump(text))
    folder = tmp_path / "S"
    assert type_in("ablate", study, "--out", folder, "--prices", prices)[0] == 0
    prices.unlink()
    assert costs(type_in, folder / "runs" / "base") == pytest.approx(6 * USD)
    assert type_in("ablate", study, "--out", folder)[0] == 0
    assert costs(type_in, folder) == pytest.approx(6 * USD)


def test_a_question_is_not_asked_beyond_its_cost(type_in, model, prices, chat_server):
    asked = ("ask", "Who?", "--model", model, "--prices", prices, "--max-tokens", 50)
    code, _, err = type_in(*asked, "--max-cost", 0.01)
    assert (code, chat_server.requests) == (1, [])
    assert "branchwise: the next call can cost up to $" in err
    assert type_in(*asked, "--max-cost", 50)[0] == 0
    code, _, err = type_in("ask", "Who?", "--model", model, "--max-cost", 1)
    assert code == 2
    assert "no price is known" in err


def test_scoring_stops_before_its_cost_is_passed_and_keeps_what_was_answered(
    type_in, model, prices, questions, chat_server, tmp_path
):
    run = tmp_path / "R"
    rows = [json.loads(line) for line in questions.read_text().splitlines()]
    for n, row in enumerate(rows):
        row["question"] += f" ({n})"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = ("--questions", questions, "--model", model, "--out", run, "--prices", prices)
    assert type_in("run", *named)[0] == 0
    judged = ("score", run, "--judge-entities", "--concurrency", 1)
    code, _, err = type_in(*judged, "--max-cost", 10)
    assert code == 2
    assert "(the judge); set --role judge.max_tokens, or leave out --max-cost" in err
    before = len(chat_server.requests)
    bounded = (*judged, "--role", "judge.max_tokens=50")
    code, _, err = type_in(*bounded, "--max-cost", 6)
    assert code == 1
    asked = len(chat_server.requests) - before
    assert "the next call can cost up to $" in err
    assert "finished work is kept; continue with: branchwise score" in err
    assert 0 < asked < 6
    code, _, _ = type_in(*bounded, "--max-cost", 60)
    assert len(chat_server.requests) - before >= 6


@pytest.mark.parametrize("amount", ["nan", "inf", "-inf", "-1"])
@pytest.mark.parametrize(
    "command", ["run --questions q", "resume R", "ablate s.yaml", "ask Who?", "score R"]
)
def test_a_limit_that_would_limit_nothing_is_refused(type_in, command, amount):
    code, _, err = type_in(*command.split(), "--max-cost", amount)
    assert code == 2
    assert "Invalid value for '--max-cost'" in err
