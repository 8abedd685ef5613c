"""Each role is asked with its own decoding, in a run, in its resumption, and when it is scored."""

import json
from dataclasses import replace

import pytest

from branchwise import resume, run
from branchwise.agents.prompt_files import Prompts
from branchwise.base.errors import InputError
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.graphs.agent import Agent
from branchwise.graphs.own_settings import read_scorers
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from support.by_role import by_role, role_of
from support.chat_server import fail, say, search_then_answer
from support.stores import execute

READINGS = say("Who directed Heat (1995 film)?")
SCRIPT = by_role(expander=READINGS, extractor=say("NONE"), agent=search_then_answer)
OWN = {
    "expander": {"temperature": 0.7, "extra_body": {"top_k": 20}},
    "extractor": {"temperature": 0, "max_tokens": 200, "seed": None, "reasoning_effort": "none"},
}
HEADERS = {"HTTP-Referer": "https://films.example", "X-Title": "Films (canary)"}
SENT = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "top_k")


def sent_by(chat_server):
    """By role the different settings of its requests."""
    found = {}
    for body in chat_server.requests:
        values = {name: body[name] for name in SENT if name in body}
        role = found.setdefault(role_of(body), [])
        if values not in role:
            role.append(values)
    return found


@pytest.fixture
def system(make_system):
    changes = {"expand": True, "extract": True, "role_decoding": OWN, "headers": HEADERS}
    made = make_system(temperature=1.0, seed=7, top_p=0.9)
    return type(made).model_validate({**made.model_dump(), **changes})


def test_each_role_sends_its_own(chat_server, system, question_file, tmp_path):
    chat_server.play(SCRIPT)
    assert run(str(question_file(1)), system, out=tmp_path / "R").state.done == 1
    agent = {"temperature": 1.0, "top_p": 0.9, "seed": 7}
    assert sent_by(chat_server) == {
        "expander": [agent | {"temperature": 0.7, "top_k": 20}],
        "extractor": [
            {"temperature": 0.0, "top_p": 0.9, "max_tokens": 200, "reasoning_effort": "none"}
        ],
        "agent": [agent],
    }
    for name, value in HEADERS.items():
        assert {headers.get(name) for headers in chat_server.headers} == {value}


@pytest.mark.slow
def test_a_resumed_run_asks_as_it_did_and_refuses_another(
    chat_server, system, question_file, tmp_path
):
    chat_server.play(lambda _: fail(401, "no key"))
    made = run(str(question_file(1)), system, out=tmp_path / "R")
    chat_server.play(SCRIPT)
    before = len(chat_server.requests)
    assert resume(made.path, retry_failed=True).state.here == 1
    assert sent_by(chat_server)["extractor"][0]["max_tokens"] == 200
    assert {h["X-Title"] for h in chat_server.headers[before:]} == {HEADERS["X-Title"]}
    now = made.open().meta["system"]
    now["role_decoding"]["extractor"]["temperature"] = 0.5
    execute(made.path, "UPDATE meta SET value = ? WHERE key = 'system'", json.dumps(now))
    with pytest.raises(InputError, match=r"changed: extractor\)"):
        resume(made.path)


GOLD = {"Heat (1995 film)": ["Michael Mann"], "Heat (1986 film)": ["Dick Richards"]}
SAID = say(json.dumps({"answers": {"the later": ["M. Mann"], "the earlier": ["Dick R."]}}))
TEXTS = Prompts.load().texts
SCORERS = {TEXTS[role]: role for role in ("matcher", "judge")}


def scorers(requests):
    """By role the settings of its requests, the same ones once."""
    found = {}
    for body in requests:
        role = SCORERS[body["messages"][0]["content"]]
        values = {name: body[name] for name in SENT if name in body}
        assert found.setdefault(role, values) == values
    return found


@pytest.mark.slow
def test_a_judge_and_a_matcher_are_asked_with_their_own(chat_server, make_system, tmp_path):
    def script(body):
        role = SCORERS.get(body["messages"][0]["content"])
        if role == "matcher":
            return say('{"n1": "r1", "n2": "r2"}')
        return say('{"verdict": "different"}') if role else SAID

    chat_server.play(script)
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"id": "q1", "question": "Who directed Heat?", "answers": GOLD})
    )
    plain, own = make_system(temperature=1.0), {"judge": {"temperature": 0}, "matcher": {"seed": 3}}
    changes = {"role_decoding": own, "headers": HEADERS}
    systems = [plain, type(plain).model_validate({**plain.model_dump(), **changes})]
    assert Agent(systems[0]).digest == Agent(systems[1]).digest
    settings = ScoringSettings(ScoringChoice.parse("llm", judge_entities=True))
    found = []
    for n, system in enumerate(systems):
        made = run(str(tmp_path / "q.jsonl"), system, out=tmp_path / f"R{n}")
        before = len(chat_server.requests)
        scorer = score_answers(made, settings).scores.scorer
        titles = {headers.get("X-Title") for headers in chat_server.headers[before:]}
        found.append((scorers(chat_server.requests[before:]), scorer, titles))
    (as_before, one, untitled), (as_set, other, titled) = found
    assert as_before == {"matcher": {}, "judge": {}}
    assert as_set == {"matcher": {"seed": 3}, "judge": {"temperature": 0.0}}
    assert (untitled, titled) == ({None}, {HEADERS["X-Title"]})
    assert "decoding" not in one.to_json()
    assert other.decoding == as_set
    assert one.digest != other.digest
    given = replace(settings, roles=read_scorers(["judge.temperature=0.5", "judge.seed=1"]))
    before = len(chat_server.requests)
    scorer = score_answers(tmp_path / "R1", given).scores.scorer
    judge = {"temperature": 0.5, "seed": 1}
    assert scorers(chat_server.requests[before:]) == {"judge": judge}
    assert scorer.decoding == {"matcher": {"seed": 3}, "judge": judge}


def test_the_score_command_sets_who_scores(chat_server, tmp_path, type_in):
    chat_server.play(lambda _: say('{"verdict": "different"}'))
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"id": "q1", "question": "Who directed Heat?", "answers": GOLD})
    )
    said = {"id": "q1", "answers": {"Heat (1995 film)": ["M. Mann"]}}
    (tmp_path / "p.jsonl").write_text(json.dumps(said))
    files = ("--questions", tmp_path / "q.jsonl", "--predictions", tmp_path / "p.jsonl")
    judge = ("--judge", f"openai:scripted@{chat_server.url}")
    type_in("score", *files, *judge, "--role", "judge.temperature=0")
    assert scorers(chat_server.requests) == {"judge": {"temperature": 0.0}}
    for wrong, error in {
        "expander.seed=1": "--role: expander takes no part in scoring; set matcher or judge",
        "judge.temperature=9": "--role judge.temperature: is 9; input should be less than",
        "judge": "--role: 'judge' is not a setting",
    }.items():
        code, _, err = type_in("score", *files, *judge, "--role", wrong)
        assert code == 2
        assert err.startswith(f"branchwise: {error}")


STUDY = """
name: bodies
questions: questions.jsonl
base:
  model: MODEL
  tools: []
  expansion: on
  roles: {expander: {temperature: 0}}
factors:
  extra_body: [null, {chat_template_kwargs: {enable_thinking: false}}]
  roles: [null, {expander: {temperature: 0}}]
headers: {X-Title: Films}
"""


@pytest.mark.slow
def test_a_study_varies_both_and_its_report_says_so(chat_server, question_file, tmp_path, type_in):
    chat_server.play(SCRIPT)
    question_file(1)
    study = tmp_path / "s.yaml"
    study.write_text(STUDY.replace("MODEL", f"openai:scripted@{chat_server.url}"))
    code, _, err = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 0, err
    expanded = [body for body in chat_server.requests if role_of(body) == "expander"]
    asked = [(body.get("temperature"), "chat_template_kwargs" in body) for body in expanded]
    assert sorted(asked, key=str) == [(0.0, False), (0.0, True), (None, False)]
    assert {headers.get("X-Title") for headers in chat_server.headers} == {"Films"}
    assert all("tools" not in body for body in chat_server.requests)
    before = len(chat_server.requests)
    code, out, err = type_in("report", tmp_path / "S", "--markdown", "-")
    assert code == 0, err
    assert "extra_body: chat_template_kwargs.enable_thinking=false" in out.replace("\\", "")
    assert "roles: the agent's" in out
    # The same command goes on where the study stopped: there is nothing left to ask.
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    assert len(chat_server.requests) == before
