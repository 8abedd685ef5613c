"""Scoring with a matcher and a judge, from the command line, against the scripted server."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

import branchwise
from branchwise.agents import restraints
from branchwise.agents.prompt_files import Prompts
from support.chat_server import Body, ChatServer, fail, hang, say

pytestmark = pytest.mark.slow

QUESTION = {
    "id": "q1",
    "question": "Who stars in Heat?",
    "ambiguous": True,
    "answers": {"Heat (1986 film)": ["Burt Reynolds"], "Heat (1995 film)": ["Al Pacino"]},
}
# Names that share no telling word with the gold names: only a model can align them.
ANSWERS = {"the one by Michael Mann": ["Alfredo Pacino"], "the Las Vegas one": ["Burt Reynolds"]}
PROMPTS = Prompts.load().texts
MEANT = {"the one by Michael Mann": "Heat (1995 film)", "the Las Vegas one": "Heat (1986 film)"}


def listed(text: str, letter: str) -> dict[str, str]:
    return dict(re.findall(rf"^({letter}\d+): (.*)$", text, re.MULTILINE))


def scripted(body: Body):
    """Answers as agent, aligns by `MEANT`, and takes Alfredo for Al."""
    system, user = (body["messages"][n]["content"] for n in (0, 1))
    if system == PROMPTS["matcher"]:
        readings = {name: id for id, name in listed(user, "r").items()}
        names = listed(user, "n").items()
        return say(json.dumps({id: readings[MEANT[name]] for id, name in names}))
    if system == PROMPTS["judge"]:
        return say(json.dumps(dict.fromkeys(listed(user, "a"), "g1")))
    return say(json.dumps({"reasoning": "r", "answers": ANSWERS}))


@pytest.fixture
def model(chat_server: ChatServer, monkeypatch):
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    chat_server.play(scripted)
    return f"openai:scripted@{chat_server.url}"


@pytest.fixture
def answered(tmp_path: Path, type_in, model) -> Path:
    """A run of the one question, scored by names alone."""
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps(QUESTION))
    run = tmp_path / "R"
    code, _, error = type_in("run", "--questions", questions, "--model", model, "--out", run)
    assert code == 0, error
    return run


def recalls(document) -> float:
    return document["aggregates"]["all"]["strict_recall"]["mean"]


def test_names_alone_find_nothing_a_matcher_and_a_judge_find_both(answered: Path, type_in):
    by_names = json.loads(type_in("score", answered, "--json")[1])
    by_model = json.loads(type_in("score", answered, "--matcher", "llm", "--json")[1])
    judged = json.loads(
        type_in("score", answered, "--matcher", "llm", "--judge-entities", "--json")[1]
    )
    assert [recalls(one) for one in (by_names, by_model, judged)] == [0.0, 0.5, 1.0]
    assert [one["scorer"]["matcher"] for one in (by_names, by_model)] == ["lexical", "llm"]
    assert by_model["scorer"]["model"] == "openai:scripted"
    assert judged["items"][0]["accepted"] == [
        {"branch": "Heat (1995 film)", "gold": "Al Pacino", "predicted": "Alfredo Pacino"}
    ]
    assert len({one["digest"] for one in (by_names, by_model, judged)}) == 3


def paths_since(chat_server: ChatServer, before: int) -> set[str]:
    return set(chat_server.paths[before:])


@pytest.mark.parametrize("api", ["responses", "chat", "auto"])
def test_matcher_and_judge_are_asked_by_the_protocol_of_the_option(
    answered: Path, type_in, chat_server: ChatServer, api: str
):
    before, options = len(chat_server.requests), ("--matcher", "llm", "--judge-entities")
    found = json.loads(type_in("score", answered, *options, "--api", api, "--json")[1])
    path = "/v1/responses" if api == "responses" else "/v1/chat/completions"
    assert (recalls(found), paths_since(chat_server, before)) == (1.0, {path})
    assert {role: own["api"] for role, own in found["scorer"]["decoding"].items()} == {
        "matcher": api,
        "judge": api,
    }
    asked = len(chat_server.requests)
    again = branchwise.score(answered, matcher="llm", judge_entities=True, api=api)
    assert (again.digest, len(chat_server.requests)) == (found["digest"], asked)


def test_a_role_goes_before_the_option_and_the_option_before_the_run(
    tmp_path: Path, type_in, model, chat_server: ChatServer
):
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    run = ("run", "--questions", tmp_path / "q.jsonl", "--model", model, "--out", tmp_path / "R")
    by_judge = ("--matcher", "llm", "--judge-entities", "--role", "judge.api=chat")
    assert type_in(*run, *by_judge, "--api", "responses")[0] == 0
    named = [
        ((body.get("messages") or body["input"])[0]["content"], path)
        for body, path in zip(chat_server.requests, chat_server.paths, strict=True)
    ]
    assert [path for _, path in named[:1]] == ["/v1/responses"]
    assert dict(named)[PROMPTS["matcher"]] == "/v1/responses"
    assert dict(named)[PROMPTS["judge"]] == "/v1/chat/completions"
    asked = len(chat_server.requests)
    assert type_in("report", tmp_path / "R")[0] == 0
    assert len(chat_server.requests) == asked
    options = ("--api", "chat", "--role", "judge.api=responses")
    assert type_in("score", tmp_path / "R", *options)[0] == 0
    assert chat_server.paths[asked:] == ["/v1/chat/completions", "/v1/responses"]


def test_scoring_again_asks_nobody_and_a_report_reads_what_was_said(answered, type_in, chat_server):
    type_in("score", answered, "--matcher", "llm")
    asked = len(chat_server.requests)
    chat_server.play(lambda body: fail(500))
    again = json.loads(type_in("score", answered, "--matcher", "llm", "--json")[1])
    assert recalls(again) == 0.5
    assert len(chat_server.requests) == asked
    code, shown, _ = type_in("report", answered, "--matcher", "llm")
    assert code == 0
    assert "llm (openai:scripted)" in shown
    assert "0 replies now, 1 kept" in " ".join(shown.split())


def test_both_matchers_stand_beside_each_other_with_their_agreement(answered: Path, type_in):
    shown = type_in("score", answered, "--matcher", "both", "--full")[1]
    assert "R · lexical" in shown
    assert "where answers were lost · R · llm\n" in shown
    errors = type_in("errors", answered, "--matcher", "both")[2]
    by = "errors by the alignment of llm (openai:scripted)"
    assert errors == f"{by}; by names: --matcher lexical\n"
    assert type_in("errors", answered, "--matcher", "lexical")[2] == ""
    document = json.loads(type_in("score", answered, "--matcher", "both", "--json")[1])
    assert recalls(document["lexical"]) == 0.0
    found = document["models"]["agreement"]
    # Four pairs of names; the model aligned two, names alone none: .5 observed, .5 by chance.
    assert (found["pairs"], found["observed"], found["kappa"]) == (4, 0.5, 0.0)
    assert [one["id"] for one in found["differences"]] == ["q1"]
    assert "they differ on 1 of 1 question" in " ".join(shown.split())


def test_what_only_names_left_to_the_judge_is_paid_for_too(tmp_path, type_in, model, chat_server):
    def no_reading(body: Body):
        """Names align both branches; the matcher says that neither is a known reading."""
        if body["messages"][0]["content"] == PROMPTS["matcher"]:
            return say(json.dumps(dict.fromkeys(listed(body["messages"][1]["content"], "n"))))
        if body["messages"][0]["content"] == PROMPTS["judge"]:
            return scripted(body)
        answers = {name: ["Alfredo"] for name in ("Heat, 1986 film", "Heat, 1995 film")}
        return say(json.dumps({"reasoning": "r", "answers": answers}))

    chat_server.play(no_reading)
    questions, run = tmp_path / "q.jsonl", tmp_path / "R"
    questions.write_text(json.dumps(QUESTION))
    type_in("run", "--questions", questions, "--model", model, "--out", run)
    command = ("score", run, "--matcher", "both", "--judge-entities", "--full")
    for fresh in (2, 0):
        document = json.loads(type_in(*command, "--json")[1])
        roles = {role["role"]: role["usage"]["calls"] for role in document["costs"]["roles"]}
        assert roles == {"agent": 1, "matcher": 1, "judge": 2}
        assert document["models"]["judge"]["asked"] == 0
        judged = document["models"]["lexical_judge"]
        assert (judged["requests"], judged["calls"]["fresh"]["calls"]) == (2, fresh)
        assert recalls(document["lexical"]) == 1.0
    shown = " ".join(type_in(*command)[1].split())
    assert "judge openai:scripted (branches aligned by names): accepted 2 answers" in shown


@pytest.mark.parametrize("role", ["matcher", "judge"])
def test_a_run_refuses_a_model_that_cannot_be_asked_by_its_option(tmp_path, type_in, model, role):
    questions, run = tmp_path / "q.jsonl", tmp_path / "R"
    questions.write_text(json.dumps(QUESTION))
    dead = (f"--{role}", "openai:m@http://127.0.0.1:1/v1")
    code, _, error = type_in("run", "--questions", questions, "--out", run, *dead)
    assert code == 2
    assert error.startswith(f"branchwise: --{role}: nothing answers at http://127.0.0.1:1/v1")
    assert error.rstrip().endswith(f"correct the URL in --{role}")
    assert not run.exists()


def test_an_interrupt_is_one_line_and_a_failure(answered: Path, type_in, chat_server: ChatServer):
    chat_server.play(lambda body: (os.kill(os.getpid(), signal.SIGINT), hang())[1])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, shown, error = type_in("score", answered, "--matcher", "llm")
    finally:
        signal.signal(signal.SIGINT, before)
    kept = "finished work is kept"
    command = f"branchwise score {answered} --matcher llm"
    said = f"branchwise: interrupted; {kept}; continue with: {command}\n"
    assert (code, shown, error) == (1, "", said)


THREE = [QUESTION | {"id": f"q{n}"} for n in (1, 2, 3)]


@pytest.fixture
def file(tmp_path: Path, model):
    """Options that score a file of one answer against three questions."""
    questions, mine = tmp_path / "q.jsonl", tmp_path / "mine.jsonl"
    questions.write_text("\n".join(map(json.dumps, THREE)))
    mine.write_text(json.dumps({"id": "q1", "answers": ANSWERS}))
    return ("--questions", questions, "--predictions", mine)


def test_a_predictions_file_says_what_can_be_known_of_its_errors(type_in, file, model):
    shown = type_in("score", *file, "--full")[1]
    flat = " ".join(shown.split())
    # Six gold answers are missing; one of them, Burt Reynolds, stands under no branch of its own.
    assert "gold answers missing 6 under the wrong branch 1 answers wrong 2" in flat
    assert "retrieved  " not in shown
    assert "with nothing retrieved" not in shown
    assert "branchwise errors" not in shown
    assert "no traces: what was retrieved is not known" in flat
    assert "without a prediction: q2, q3" in flat
    document = json.loads(type_in("score", *file, "--json")[1])
    assert document["without_prediction"] == ["q2", "q3"]
    first = next(one for one in document["analysis"]["items"] if one["id"] == "q1")
    assert [(one["text"], one["label"]) for one in first["missing"]] == [
        ("Burt Reynolds", "wrong_branch"),
        ("Al Pacino", None),
    ]
    assert document["costs"] is None


def test_what_matcher_and_judge_cost_on_a_predictions_file(tmp_path: Path, type_in, file, model):
    prices = tmp_path / "p.yaml"
    prices.write_text(f"models: {{'{model}': {{input: 0, output: 1000000}}}}")
    asking = ("--matcher", model, "--judge", model)
    for _ in range(2):
        command = ("score", *file, *asking, "--prices", prices, "--json")
        costs = json.loads(type_in(*command)[1])["costs"]
        spent = {role["role"]: role["usage"] for role in costs["roles"]}
        assert {role: used["calls"] for role, used in spent.items()} == {"matcher": 1, "judge": 1}
        # One dollar a token of output.
        assert costs["cost"] == sum(used["output"] for used in spent.values())
    shown = type_in("score", *file, *asking, "--prices", prices, "--full")[1]
    assert "costs · mine.jsonl" in shown
    assert "USD by --prices" in shown
    code, _, error = type_in("score", *file, "--prices", prices)
    assert code == 2
    assert "--prices has no effect" in error


@pytest.mark.parametrize("role", ["matcher", "judge"])
def test_a_model_that_settles_nothing_ends_with_a_failure_below_the_table(
    type_in, file, model, chat_server: ChatServer, role: str
):
    def only_the_other(body: Body):
        return fail(500) if body["messages"][0]["content"] == PROMPTS[role] else scripted(body)

    chat_server.play(only_the_other)
    code, shown, error = type_in("score", *file, "--matcher", model, "--judge", model)
    assert code == 1
    assert "strict" in shown
    assert "brought nothing)" in " ".join(shown.split())
    assert f"the {role} openai:scripted settled nothing (of 1 request 1 failed)" in error
    chat_server.play(scripted)
    assert type_in("score", *file, "--matcher", model, "--judge", model)[0] == 0


def test_replies_of_no_use_are_counted_by_request_and_the_branches_by_item(
    type_in, file, model, chat_server: ChatServer
):
    def nonsense(body: Body):
        if body["messages"][0]["content"] == PROMPTS["judge"]:
            return say("I like films.")
        return scripted(body)

    chat_server.play(nonsense)
    code, shown, error = type_in("score", *file, "--matcher", model, "--judge", model)
    assert code == 1
    flat = " ".join(shown.split())
    assert "of 1 request 1 answered with nothing usable" in flat
    assert "nothing usable was said: 1 branch of 1 item" in flat
    assert "name another model with --judge" in error


def test_a_request_may_take_as_long_and_be_sent_as_often_as_the_user_says(
    answered: Path, type_in, chat_server: ChatServer
):
    asked = len(chat_server.requests)
    chat_server.play(lambda body: fail(500))
    assert type_in("score", answered, "--matcher", "llm", "--attempts", "2")[0] == 1
    assert len(chat_server.requests) == asked + 2
    chat_server.play(lambda body: hang())
    options = ("--matcher", "llm", "--timeout", "0.1", "--attempts", "1")
    code, shown, _ = type_in("score", answered, *options)
    assert code == 1
    assert "no answer in time" in " ".join(shown.split())


def test_errors_name_each_lost_answer_once(answered: Path, type_in):
    code, shown, _ = type_in("errors", answered)
    assert code == 0
    assert shown.splitlines() == [
        "q1  Who stars in Heat?",
        "  Heat (1986 film): 0 of 1 right",
        "    Burt Reynolds  under 'the Las Vegas one'",
        "  Heat (1995 film): 0 of 1 right, none retrieved",
        "    Al Pacino  never retrieved",
        "  wrong: the Las Vegas one: Burt Reynolds · belongs to 'Heat (1986 film)'",
        "  wrong: the one by Michael Mann: Alfredo Pacino · nowhere in the evidence",
    ]
    for label in ("format_error", "format error"):
        assert type_in("errors", answered, "--label", label)[:2] == (0, "")
    labelled = ("errors", answered, "--label", "never retrieved", "--limit", 1)
    assert type_in(*labelled)[1] == shown
    records = type_in("errors", answered, "--question", "q1", "--json")[1].splitlines()
    assert json.loads(records[0])["missing"][1]["label"] == "incomplete_extraction"


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--label", "wrong_brunch"), "did you mean wrong_branch?"),
        (("--label", "never retreived"), "did you mean never retrieved?"),
        (("--question", "q9"), "no ended item has the id 'q9'"),
    ],
)
def test_errors_refuse_what_is_not_there(answered: Path, type_in, options, hint):
    code, _, error = type_in("errors", answered, *options)
    assert code == 2
    assert hint in error
