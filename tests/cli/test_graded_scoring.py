"""Free text graded by a judge, from the command line, against the scripted server."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from branchwise.agents.prompt_files import Prompts
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.runs.store import open_run
from support.chat_server import Answer, Body, ChatServer, fail, refuse, say

pytestmark = pytest.mark.slow

PROMPTS = Prompts.load().texts
QUESTION: dict[str, Any] = {
    "id": "q1",
    "question": "Who is the president?",
    "ambiguous": True,
    "answers": {"of France": ["Emmanuel Macron."], "of Peru": ["Dina Boluarte."]},
}
SAID = {"conditions": [{"condition": "in Lima", "answer": "Boluarte."},
                       {"condition": "in Paris", "answer": "Macron."},
                       {"condition": "in Rome", "answer": "Nobody."}]}  # fmt: skip
ALIKE = {("in Lima", "of Peru"): "8", ("Boluarte.", "Dina Boluarte."): "9",
         ("in Paris", "of France"): "6", ("Macron.", "Emmanuel Macron."): "10"}  # fmt: skip


def graded(body: Body) -> Answer | None:
    """The judge's reply, with certainty; None to what is not asked of it."""
    system, user = (body["messages"][n]["content"] for n in (0, 1))
    if system not in (PROMPTS["grade_condition"], PROMPTS["grade_answer"]):
        return None
    gold, given = re.findall(r"^(?:Reference|Given) \w+: (.*)$", user, re.MULTILINE)
    grade = ALIKE.get((given, gold), "0")
    return say(grade, tokens=((grade, {grade: -0.1}),))


def scripted(body: Body) -> Answer:
    return graded(body) or say(json.dumps(SAID))


@pytest.fixture
def model(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    chat_server.play(scripted)
    return f"openai:scripted@{chat_server.url}"


@pytest.fixture
def answered(tmp_path: Path, type_in: Any, model: str) -> Path:
    questions, run = tmp_path / "q.jsonl", tmp_path / "R"
    questions.write_text(json.dumps(QUESTION))
    begin = ("run", "--questions", questions, "--task", "condambigqa", "--model", model)
    code, _, error = type_in(*begin, "--out", run)
    assert code == 0, error
    return run


def means(type_in: Any, *command: Any) -> dict[str, float]:
    code, out, error = type_in(*command, "--json")
    assert code == 0, error
    found = json.loads(out)["aggregates"]["all"]
    return {key: one["mean"] for key, one in found.items()}


def test_the_judge_aligns_and_grades_and_is_asked_once(answered, type_in, model, chat_server):
    before = len(chat_server.requests)
    found = means(type_in, "score", answered, "--judge", model)
    # Three predicted by two gold properties, a condition and an answer each.
    assert len(chat_server.requests) - before == 12
    assert found["answer_score"] == pytest.approx((0.9 + 1.0) / 2)
    assert found["condition_score"] == pytest.approx((0.8 + 0.6) / 2)
    assert (found["surplus"], found["count_difference"]) == (1, 1)
    assert means(type_in, "score", answered, "--judge", model) == found
    assert len(chat_server.requests) - before == 12


def test_what_the_judge_is_asked_and_costs_is_said_before(
    answered: Path, type_in: Any, model: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(json.dumps({"models": {model: {"input": 1000, "output": 0}}}))
    before = len(chat_server.requests)
    command = (answered, "--judge", model, "--prices", prices)
    code, _, unasked = type_in("report", *command)
    assert (code, len(chat_server.requests)) == (2, before)
    asked = " ".join(type_in("score", *command)[2].split())
    read = [one["content"] for body in chat_server.requests[before:] for one in body["messages"]]
    least = sum(len(text.encode()) for text in read) / 1000
    line = f"judge {model}: 12 requests to send, or 60 if its server gives no probabilities; "
    for said in (asked, " ".join(unasked.split())):
        assert f"{line}at most {least:.2f} or {5 * least:.2f} USD, if replies are numbers" in said
    assert "to send" not in type_in("score", *command)[2]
    roles = ("--role", "judge.temperature=0", "--role", "judge.max_tokens=9")
    (answered / "prices.yaml").unlink()  # which stay once they were given
    said = type_in("score", answered, "--judge", model, *roles)[2]
    assert (
        f"judge {model}: 12 requests to send; no price is known (give one with --prices FILE)\n"
        in said
    )


def test_the_rewrites_way_is_another_scorer_of_the_same_grades(
    answered: Path, type_in: Any, model: str, chat_server: ChatServer
) -> None:
    means(type_in, "score", answered, "--judge", model)
    asked = len(chat_server.requests)
    command = ("score", answered, "--judge", model, "--variant", "rewrite-code")
    found = means(type_in, *command)
    assert found["rewrite_answer"] == pytest.approx((0.9 + 1.0) / 2)
    assert found["rewrite_condition"] == pytest.approx((0.8 + 0.6) / 2)
    assert found["count_difference"] == 1
    assert len(chat_server.requests) == asked


def test_the_papers_code_asks_about_pairs_by_position_and_surplus_beside_nothing(
    answered: Path, type_in: Any, model: str, chat_server: ChatServer
) -> None:
    before = len(chat_server.requests)
    command = ("score", answered, "--judge", model, "--variant", "paper-code")
    found = means(type_in, *command)
    # Lima beside France, Paris beside Peru, Rome beside nothing: a condition and an answer each.
    assert len(chat_server.requests) - before == 6
    asked = [body["messages"][1]["content"] for body in chat_server.requests[before:]]
    assert sum("Reference answer: \nGiven answer: Nobody." in text for text in asked) == 1
    assert (found["paper_answer"], found["paper_condition_sd"]) == (0, 0)
    assert "(pairs by position)" in " ".join(type_in(*command)[1].split())


def test_only_aligned_pairs_are_graded_where_that_is_asked(
    answered: Path, type_in: Any, model: str, chat_server: ChatServer
) -> None:
    before = len(chat_server.requests)
    command = ("score", answered, "--judge", model, "--judge-pairs", "aligned")
    assert means(type_in, *command)["answer_score"] == pytest.approx(0.95)
    assert len(chat_server.requests) - before == 4
    assert "only pairs that token F1 aligns" in " ".join(type_in(*command)[1].split())


@pytest.mark.parametrize("answer", [say("rather good"), say("11"), refuse(), fail(400, "no")])
def test_what_lacks_a_grade_is_unscored_and_told(answered, type_in, model, chat_server, answer):
    first = "Macron."
    chat_server.play(
        lambda body: (
            answer if f"Given answer: {first}" in body["messages"][1]["content"] else scripted(body)
        )
    )
    code, out, _ = type_in("score", answered, "--judge", model, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["aggregates"]["all"]["answer_score"]["n"] == 0
    (ungraded,) = found["models"]["grades"]["ungraded"]
    assert ungraded["id"] == "q1"
    assert ungraded["why"].startswith("2 without a grade: ")
    assert "left unscored: 1 item" in type_in("score", answered, "--judge", model)[1]


STUDY = """
name: graded
questions: {questions}
base: {{model: "{model}", at_most: 3}}
factors: {{protocol: [default, standard]}}
judge: {model}
judge_pairs: aligned
variant: rewrite-code
"""


def test_a_study_says_how_its_answers_are_graded_and_its_runs_keep_it(
    answered: Path, type_in: Any, model: str, tmp_path: Path
) -> None:
    questions, study, out = (tmp_path / name for name in ("asked.json", "study.yaml", "S"))
    properties = [
        {"condition": condition, "groundtruth": text, "citations": []}
        for condition, (text,) in QUESTION["answers"].items()
    ]
    passages = [{"title": "France", "text": "A country.", "score": 1}]
    asked = {"id": "q1", "question": QUESTION["question"]}
    questions.write_text(json.dumps([asked | {"properties": properties, "ctxs": passages}]))
    study.write_text(STUDY.format(questions=f"condambigqa:{questions}", model=model))
    code, _, error = type_in("ablate", study, "--out", out)
    assert code == 0, error
    kept = open_run(out / "runs" / "base").meta["scoring"]
    assert (kept["judge_pairs"], kept["variant"]) == ("aligned", "rewrite-code")
    assert means(type_in, "score", out / "runs" / "base")["rewrite_answer"] == pytest.approx(0.95)


def test_the_choice_is_kept_where_a_run_is_continued_or_forked(type_in, model, tmp_path):
    questions, run, fork = (tmp_path / name for name in ("q.jsonl", "R", "F"))
    questions.write_text(json.dumps(QUESTION))
    begin = ("run", "--questions", questions, "--task", "condambigqa", "--model", model)
    choice = ("--judge", model, "--judge-pairs", "aligned", "--variant", "rewrite-code")
    assert type_in(*begin, *choice, "--out", run)[0] == 0
    assert type_in("resume", run)[0] == 0
    assert type_in("fork", run, "--question", "q1", "--step", 1, "--out", fork)[0] == 0
    for path in (run, fork):
        kept = ScoringChoice(**open_run(path).meta["scoring"])
        assert (kept.judge, kept.judge_pairs) == (model, "aligned")
        assert kept.variant == "rewrite-code"
        assert "rewrite_answer" in means(type_in, "score", path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--variant", "rewrite-code"], "rewrite-code has no effect: nothing is graded"),
        (["--variant", "subsequence"], "the task condambigqa has no variant 'subsequence'"),
        (
            ["--judge", "openai:x", "--variant", "published-code"],
            "the task condambigqa has no variant 'published-code'; it is called rewrite-code now",
        ),
        (
            ["--judge", "openai:x", "--variant", "paper-code", "--judge-pairs", "aligned"],
            "judge_pairs has no effect: the variant paper-code pairs by position",
        ),
        (["--matcher", "llm"], "the task condambigqa is not matched by a model"),
        (["--variant", "greedy"], "--variant: unknown variant 'greedy'; known are one-to-one, "),
    ],
)
def test_what_has_no_meaning_is_refused(answered, type_in, options, said):
    code, _, error = type_in("score", answered, *options)
    assert (code, said in " ".join(error.split())) == (2, True), error
