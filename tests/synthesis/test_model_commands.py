"""`questions generate` with a model as writer and reviewer: what strays is counted and mended."""

import json
import re
from itertools import count

import pytest
from typer.testing import CliRunner

from branchwise.cli import app
from support.chat_server import say
from support.synthesis.generated import SLICE

SLICE_OPTIONS = (
    *("--kg", f"{SLICE}/films.nt", "--schema", f"{SLICE}/films.yaml"),
    *("--names", f"{SLICE}/names.jsonl", "--seed", "3", "--ambiguous", "0.34"),
)
VALID, INVALID = (json.dumps({"verdict": word, "reason": "So."}) for word in ("Valid", "Invalid"))


@pytest.fixture
def generate(chat_server, tmp_path, monkeypatch):
    """Runs the command with the scripted server in the roles named; gives output and questions."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def run(number, *roles, more=()):
        out = tmp_path / f"{number}-{len(roles)}.jsonl"
        models = [word for role in roles for word in (role, f"openai:m@{chat_server.url}")]
        words = [
            "questions",
            "generate",
            *SLICE_OPTIONS,
            "--n",
            str(number),
            "--out",
            str(out),
            *more,
        ]
        result = CliRunner().invoke(app, [*words, *models])
        lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        return result, [json.loads(line) for line in lines]

    return run


def wordings(questions):
    return [question["meta"]["wording"] for question in questions]


def prompts(server):
    return [request["messages"][-1]["content"] for request in server.requests]


def untitled(names):
    return sorted(re.sub(r" \(\d+ film\)$", "", name) for name in names)


@pytest.mark.slow
def test_prose_is_not_taken_for_a_question(chat_server, generate):
    chat_server.play(lambda _: say("These are the films that you want."))
    result, questions = generate(6, "--writer")
    assert wordings(questions) == ["grammar"] * 6
    assert re.search(r"\b6 +not one question", result.output)
    _, without = generate(6)
    assert [q["question"] for q in questions] == [q["question"] for q in without]


def test_a_wording_of_all_names_and_numbers_is_taken(chat_server, generate):
    def write(body):
        prompt = body["messages"][-1]["content"]
        names = re.search("each at least once: (.*)", prompt)[1]
        years = "".join(f" {year}" for year in re.findall(r"\b(?:19|20)\d\d\b(?! film)", prompt))
        counted = "".join(f" {word}" for word in re.findall(r"at least (two|three)", prompt))
        minutes = "".join(f" {number}" for number in re.findall(r"(\d+) minutes", prompt))
        return say(f"What is not {names} but of{years}{counted}{minutes}?")

    chat_server.play(write)
    result, questions = generate(6, "--writer")
    assert wordings(questions) == ["model"] * 6, (result.output, questions)
    assert all(question["question"].startswith("What is not ") for question in questions)


def test_writer_and_reviewer_are_asked_by_the_protocol_of_the_option(chat_server, generate):
    chat_server.play(lambda _: say(VALID))
    generate(1, "--writer", more=("--api", "responses"))
    assert {*chat_server.paths} == {"/v1/responses"}
    asked = len(chat_server.paths)
    generate(1, "--reviewer", more=("--api", "responses"))
    assert {*chat_server.paths} == {"/v1/responses"}
    assert len(chat_server.paths) > asked > 0


def test_invalid_questions_and_templates_are_dropped_and_counted(chat_server, generate):
    asked = {"question": count(), "template": count()}

    def review(body):
        kind = "question" if "Answers: " in body["messages"][-1]["content"] else "template"
        return say(INVALID if next(asked[kind]) < 2 else VALID)

    chat_server.play(review)
    result, questions = generate(6, "--reviewer")
    assert len(questions) == 6, result.output
    assert re.search(r"\b2 +the reviewer finds the question invalid", result.output)
    assert re.search(r"\d +the reviewer finds the template infeasible", result.output)
    templates = [prompt for prompt in prompts(chat_server) if "Answers: " not in prompt]
    assert len(set(templates)) == len(templates)


@pytest.mark.slow
def test_a_reviewer_sees_the_answers_of_each_branch(chat_server, generate):
    chat_server.play(lambda _: say(VALID))
    _, questions = generate(2, "--reviewer")
    shown = [re.search("Answers: (.*)", prompt) for prompt in prompts(chat_server)]
    seen = [untitled(json.loads(found[1])) for found in shown if found]
    for branch in (branch for question in questions for branch in question["branches"]):
        assert untitled(answer["text"] for answer in branch["answers"]) in seen


def test_a_writer_may_see_the_answers_and_the_file_says_so(chat_server, generate):
    chat_server.play(lambda _: say("These are the films that you want."))
    _, questions = generate(6, "--writer", more=("--writer-sees", "answers"))
    assert [question["meta"]["writer_sees"] for question in questions] == ["answers"] * 6
    shown = "\n".join(prompts(chat_server))
    lines = [untitled(json.loads(line)) for line in shown.split("\n") if line.startswith("[")]
    for branch in (branch for question in questions for branch in question["branches"]):
        assert untitled(answer["text"] for answer in branch["answers"]) in lines
    _, without = generate(6, "--writer")
    assert [question["question"] for question in questions] == [q["question"] for q in without]
    assert all("writer_sees" not in question["meta"] for question in without)


def test_a_model_chooses_what_plans_are_about(chat_server, generate):
    """It takes the last of the candidates; where it names none, what was drawn stays."""
    chosen = []

    def choose(body):
        _, listed = body["messages"][-1]["content"].split("Candidates:\n")
        candidates = re.findall(r"^\d+\. (.*)$", listed, re.MULTILINE)
        assert 1 <= len(candidates) <= 50
        if len(chosen) % 3 == 2:
            chosen.append("")
            return say("None of them.")
        chosen.append(candidates[-1].split(":")[0])
        return say(json.dumps({"candidate": len(candidates)}))

    chat_server.play(choose)
    result, questions = generate(6, "--entities-by")
    by = {question["meta"]["entities_by"] for question in questions}
    assert by == {"model", "draw"}
    for question in questions:
        if question["meta"]["entities_by"] == "model":
            assert any(name and name in question["question"] for name in chosen)
    assert "THE CANDIDATE" in prompts(chat_server)[0]
    drawn = chosen.count("")
    assert f"chosen by the model what plans are about: {len(chosen) - drawn}" in result.output
    assert f"drawn, for it chose none of the candidates: {drawn}" in result.output


def test_a_reviewer_that_cannot_be_read_ends_it_in_one_line(
    chat_server, generate, tmp_path, type_in, monkeypatch
):
    replies = count()
    chat_server.play(lambda _: say("Well." if 3 <= next(replies) < 5 else VALID))
    result, _ = generate(2, "--reviewer")
    assert re.search(r"\b1 +the reviewer's verdict cannot be read", result.output)
    assert "infeasible" not in result.output
    # The first two questions are kept, though the third is never reviewed.
    valid = count()
    chat_server.play(lambda _: say(VALID if next(valid) < 14 else "Well."))
    asked = len(chat_server.requests)
    out = tmp_path / "q.jsonl"
    words = ["questions", "generate", *SLICE_OPTIONS, "--n", "6", "--out", out]
    code, _, error = type_in(*words, "--reviewer", f"openai:m@{chat_server.url}")
    assert code == 2
    assert error.count("\n") == 1
    assert "--reviewer: 10 verdicts in a row cannot be read, the last: 'Well.'" in error
    assert len(chat_server.requests) == asked + 14 + 2 * 10
    assert out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--writer-sees answers", "--writer-sees: no model is the writer; add --writer"),
        ("--entities-by replay:runs/a", "a run has no recorded replies to this"),
        ("--entities-by nobody:m", "nobody"),
    ],
)
def test_models_that_cannot_help_are_refused_in_one_line(tmp_path, type_in, options, says):
    words = ["questions", "generate", *SLICE_OPTIONS, "--n", "1", "--out", tmp_path / "q.jsonl"]
    code, _, error = type_in(*words, *options.split())
    assert (code, error.count("\n")) == (2, 1)
    assert says in error
