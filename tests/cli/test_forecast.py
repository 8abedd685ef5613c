"""What a run or study is expected to cost, before it is asked: dry runs and pilots."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from support.chat_server import ChatServer, say
from support.corpora.small import FILMS, bm25_corpus

TypeIn = Callable[..., tuple[int, str, str]]
PRICES = {"models": {"openai:scripted": {"input": 1000, "output": 2000}}}
QUESTIONS = 20


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "q.jsonl"
    rows = (
        {"id": f"q{n}", "question": f"Question {n}?", "answers": {"default": [*"xyz"[: 1 + n % 3]]}}
        for n in range(QUESTIONS)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(PRICES))
    return path


@pytest.fixture
def model(chat_server: ChatServer) -> str:
    """Each question costs 100 and 50 tokens: .1 + .1 USD."""
    usage = {"prompt_tokens": 100, "completion_tokens": 50}
    answer = json.dumps({"reasoning": "r", "answers": {"default": ["x"]}})
    chat_server.play(lambda body: say(answer, usage=usage))
    return f"openai:scripted@{chat_server.url}"


@pytest.fixture
def run(type_in: TypeIn, questions: Path, prices: Path, model: str, tmp_path: Path) -> TypeIn:
    def typed(*more: object, out: str = "R") -> tuple[int, str, str]:
        named = ("--questions", questions, "--model", model, "--out", tmp_path / out)
        return type_in("run", *named, "--max-tokens", 100, "--prices", prices, *more)

    return typed


def expected_row(said: str, name: str) -> list[str]:
    """The cells of a system in the table of what to expect."""
    table = said[said.index("Expected, from") : said.index("At most, by the settings")]
    (row,) = (line for line in table.splitlines() if line.startswith(name))
    return re.split(r"\s{1,}", row.strip())[1:]


@pytest.mark.slow
def test_a_pilot_says_what_to_expect_and_the_same_command_goes_on(run, chat_server, tmp_path):
    code, said, _ = run("--pilot", 5)
    assert code == 0
    assert len(chat_server.requests) == 5
    assert "1 system x 20 questions = 20 items" in said
    assert "Expected, from 5 answers" in said
    # 20 calls of 150 tokens for .2 USD each, all alike.
    assert expected_row(said, "R")[:7] == ["20", "0", "3,000", "4.00", "4.00", "to", "4.00"]
    assert f"branchwise resume {tmp_path / 'R'}" in said
    code, said, _ = run()
    assert code == 0
    assert (len(chat_server.requests), chat_server.repeats) == (QUESTIONS, 0)
    code, _, err = run()
    assert code == 2
    assert "the folder is not empty" in err


def test_the_pilot_of_another_run_is_not_continued(run: TypeIn, chat_server: ChatServer) -> None:
    run("--pilot", 3)
    asked = len(chat_server.requests)
    code, _, err = run("--temperature", 0)
    assert code == 2
    assert "the system is not the one that started this run" in err
    code, _, err = run("--limit", 4)
    assert code == 2
    assert "the pilot in this folder was of another run (changed: questions)" in err
    assert len(chat_server.requests) == asked


def test_a_dry_run_asks_nothing_and_goes_by_the_pilot_or_by_an_earlier_run(
    run: TypeIn, chat_server: ChatServer, tmp_path: Path
) -> None:
    code, said, _ = run("--dry-run")
    assert code == 0
    assert (chat_server.requests, (tmp_path / "R").exists()) == ([], False)
    assert "what to expect is not known" in said
    assert "At most, by the settings alone" in said
    run("--pilot", 4)
    code, said, _ = run("--dry-run")
    assert (code, len(chat_server.requests)) == (0, 4)
    assert expected_row(said, "R")[3] == "4.00"
    code, said, _ = run("--dry-run", "--epochs", 3, "--estimate-from", tmp_path / "R", out="S")
    assert code == 0
    assert expected_row(said, "S")[3] == "12.00"
    assert not (tmp_path / "S").exists()


@pytest.mark.slow
def test_what_the_real_command_refuses_the_dry_run_refuses(
    run: TypeIn, type_in: TypeIn, questions: Path, model: str, tmp_path: Path
) -> None:
    def dry(*more: object) -> tuple[int, str, str]:
        named = ("--questions", questions, "--model", model, "--dry-run")
        return type_in("run", *named, *more)

    for more, wrong in (
        (("--max-cost", 1), "--max-cost: no price is known for openai:scripted@"),
        (("--corpus", tmp_path / "none"), "none: "),
        (("--metric", "nothing.py:x"), "nothing.py"),
    ):
        code, _, err = dry(*more)
        assert code == 2
        assert wrong in err.splitlines()[-1]
        real = type_in("run", "--questions", questions, "--model", model, *more)
        assert real[2].splitlines()[-1] == err.splitlines()[-1]
    run("--pilot", 2)
    run()
    code, said, err = run("--dry-run")
    assert code == 2
    assert "At most" in said, "what can be said is said"
    assert "the folder is not empty" in err


def test_estimates_need_something_to_go_by(run: TypeIn, tmp_path: Path) -> None:
    run("--pilot", 2)
    for more, wrong in (
        (("--dry-run", "--estimate-from", tmp_path / "none"), "no such run"),
        (
            ("--dry-run", "--temperature", 0, "--estimate-from", tmp_path / "R"),
            "it has no answers of this system",
        ),
        (("--estimate-from", tmp_path / "R"), "--estimate-from: has no effect alone"),
        (("--pilot", 2, "--estimate-from", tmp_path / "R"), "stands beside --pilot"),
    ):
        code, _, err = run(*more, out="S")
        assert code == 2
        assert wrong in err


STUDY = """
name: s
questions: q.jsonl
base: {model: MODEL, max_tokens: 100}
factors: {seed: [1, 2]}
prices: mine.yaml
"""


@pytest.fixture
def study(questions: Path, prices: Path, model: str, tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(STUDY.replace("MODEL", model))
    return path


@pytest.mark.slow
def test_a_study_has_a_pilot_and_an_estimate_of_each_system_and_of_all(
    type_in: TypeIn, study: Path, chat_server: ChatServer, tmp_path: Path
) -> None:
    def typed(*more: object) -> tuple[int, str, str]:
        return type_in("ablate", study, "--out", tmp_path / "S", *more)

    assert "what to expect is not known" in typed("--dry-run")[1]
    assert not (tmp_path / "S").exists()
    code, said, _ = typed("--pilot", 5)
    assert code == 0
    assert len(chat_server.requests) == 2 * 5
    assert [expected_row(said, name)[3] for name in ("base", "seed=2", "all")] == [
        "4.00",
        "4.00",
        "8.00",
    ]
    both = [body["messages"][-1]["content"] for body in chat_server.requests]
    assert len(set(both)) == 5, "all systems answer the same questions"
    code, _, _ = typed()
    assert (code, len(chat_server.requests), chat_server.repeats) == (0, 2 * QUESTIONS, 0)
    code, said, _ = type_in("ablate", study, "--out", tmp_path / "T", "--dry-run",
                            "--estimate-from", tmp_path / "S")  # fmt: skip
    assert "Expected, from 20 answers" in said


def test_a_study_without_a_limit_of_output_is_refused_in_its_dry_run(type_in, study, tmp_path):
    study.write_text(study.read_text().replace(", max_tokens: 100", ""))
    for dry in (("--dry-run",), ()):
        code, _, err = type_in("ablate", study, "--out", tmp_path / "S", "--max-cost", 1, *dry)
        assert code == 2
        assert "has no limit of output tokens (system 'base'); set max_tokens" in err
    study.write_text(STUDY.replace("MODEL", "openai:m@http://127.0.0.1:9/v1"))
    for dry in (("--dry-run",), ()):
        code, _, err = type_in("ablate", study, "--out", tmp_path / "S", *dry)
        assert code == 2
        assert "nothing answers at http://127.0.0.1:9/v1" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "local_retriever", "arguments": {"query": "x"}}</tool_call>',
        'functions.local_retriever: {"name": "local_retriever", "arguments": {"query": "x"}}',
    ],
)
def test_a_pilot_says_that_tool_calls_came_as_text(run, chat_server, tmp_path, text):
    usage = {"prompt_tokens": 100, "completion_tokens": 50}
    chat_server.play(lambda body: say(text, usage=usage))
    (tmp_path / "C").mkdir()
    corpus = bm25_corpus(tmp_path / "C", FILMS)
    code, said, err = run("--corpus", corpus, "--pilot", 12)
    assert code == 1
    assert "Expected, from 12 answers" in said
    assert "12 of 20 items gave answers that could not be read and count 0:" in err
    assert "  12 x tool calls written as text: --tool-protocol text" in err


@pytest.mark.slow
def test_a_pilot_says_that_no_answer_could_be_read(run, type_in, chat_server, tmp_path):
    usage = {"prompt_tokens": 100, "completion_tokens": 50}
    chat_server.play(lambda body: say("I am not sure.", usage=usage))
    code, said, err = run("--pilot", 2)
    assert code == 1
    assert "Expected, from 2 answers" in said
    start = "2 of 20 items gave answers that could not be read and count 0:\n  2 x there is no JSON"
    assert start in err
    look = err.splitlines()[-1].split()
    assert look[:2] == ["branchwise", "trace"]
    code, shown, _ = type_in(*look[1:])
    assert (code, "I am not sure." in shown) == (0, True)
    assert type_in("resume", tmp_path / "R")[0] == 0, "the run itself is done"
