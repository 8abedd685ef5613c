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
        words = ("questions", "generate", *SLICE_OPTIONS, "--n", str(number), "--out", str(out))
        result = CliRunner().invoke(app, [*words, *more, *models])
        lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        return result, [json.loads(line) for line in lines]

    return run


def wordings(questions):
    return [question["meta"]["wording"] for question in questions]


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
    prompts = [request["messages"][-1]["content"] for request in chat_server.requests]
    templates = [prompt for prompt in prompts if "Answers: " not in prompt]
    assert len(set(templates)) == len(templates)
