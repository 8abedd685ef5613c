"""Runs on models that refuse what OpenAI's do, through the command line, killed and resumed."""

import json
import os
import signal
from dataclasses import replace

import pytest

from support.by_role import by_role, turn_of, user_of
from support.chat_server import Answer, call, say
from support.openai_refusals import MANNERS, in_manner

pytestmark = pytest.mark.usefixtures("process")


def agent(body):
    """Reasons, searches and answers with the question's first words."""
    if not turn_of(body) and "tools" in body:
        return replace(call("local_retriever", query="Heat"), reasoning_content="I search.")
    return say(json.dumps({"answers": {"default": [user_of(body).strip()[:20]]}}))


ROLES = by_role(agent=agent, expander=say("none"), extractor=say("NONE"))


@pytest.fixture
def command(chat_server, corpus, question_file, tmp_path):
    def write(name, *more):
        return (
            *("run", "--questions", question_file(3), "--corpus", corpus, "--out", tmp_path / name),
            *("--model", f"openai:m@{chat_server.url}", "--expand", "--extract"),
            *("--concurrency", 1, "--temperature", 0.5, "--max-tokens", 64, *more),
        )

    return write


def scores_of(type_in, path, *options):
    """What a report says of a run but its cost, and what its requests lacked."""
    (document,) = json.loads(type_in("report", path, "--json", *options)[1])
    left_out = document["left_out"]
    around = {"costs", "left_out", "run", "models", "path", "name"}
    return {key: value for key, value in document.items() if key not in around}, left_out


@pytest.mark.parametrize("more", [(), ("--stream",)], ids=["whole", "streamed"])
@pytest.mark.parametrize("effort", [(), ("--reasoning-effort", "low")], ids=["", "low"])
@pytest.mark.parametrize("manner", MANNERS)
def test_each_model_runs_whatever_it_refuses_and_what_it_lacks_is_said(
    command, chat_server, tmp_path, type_in, manner, effort, more
):
    chat_server.play(in_manner(manner, ROLES))
    code, _, error = type_in(*command("R", *effort, *more))
    assert (code, "Traceback" in error) == (0, False), error
    _, left_out = scores_of(type_in, tmp_path / "R")
    told = {(one["role"], one["field"]): one["items"] for one in left_out}
    goes_over = manner in ("gpt-5.6", "gpt-6") or (manner == "gpt-5.4" and effort)
    assert (("agent", "chat_completions") in told) == bool(goes_over)
    # The effort goes with every request that is answered, or the summary says that it does not.
    assert ("agent", "reasoning_effort") not in told
    if goes_over:
        shown = " ".join(type_in("report", tmp_path / "R")[1].split())
        assert "agent: asked without chat_completions in 3 items (by the Responses API" in shown
        page = tmp_path / "page.html"
        type_in("report", tmp_path / "R", "--html", page)
        assert "asked without chat_completions" in page.read_text()


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_an_effort_that_the_model_has_no_word_for_is_an_error_with_the_words_it_has(
    chat_server, question_file, tmp_path, type_in, api
):
    chat_server.play(in_manner("gpt-6", ROLES))
    model = f"openai:m@{chat_server.url}"
    told = type_in(
        *("run", "--questions", question_file(1), "--model", model, "--out", tmp_path / "R"),
        *("--api", api, "--reasoning-effort", "none"),
    )
    trace = type_in("trace", tmp_path / "R", "--question", "q0", "--print")[1]
    assert told[0] == 1
    assert f"{model}: 400 Unsupported value: 'none'" in " ".join(trace.split())


def test_a_field_of_extra_body_that_the_model_refuses_is_named_and_never_dropped(
    chat_server, question_file, tmp_path, type_in
):
    chat_server.play(in_manner("gpt-6", ROLES))
    told = type_in(
        *("run", "--questions", question_file(1), "--model", f"openai:m@{chat_server.url}"),
        *("--out", tmp_path / "R", "--api", "chat", "--extra-body", '{"stop": ["x"]}'),
    )
    trace = type_in("trace", tmp_path / "R", "--question", "q0", "--print")[1]
    assert told[0] == 1
    assert "'stop' is not supported with this model. (extra_body sets stop)" in trace
    assert {tuple(body["stop"]) for body in chat_server.requests} == {("x",)}


@pytest.mark.long
@pytest.mark.parametrize("manner", MANNERS)
def test_a_run_that_is_killed_goes_on_with_what_was_recorded(
    command, chat_server, tmp_path, type_in, start, manner
):
    chat_server.play(in_manner(manner, ROLES))
    whole = command("whole", "--reasoning-effort", "low", "--api", "responses")
    assert type_in(*whole)[0] == 0
    sent = len(chat_server.requests)

    process, left = None, [sent // 2]

    def killing(body):
        left[0] -= 1
        if not left[0]:
            os.kill(process.pid, signal.SIGKILL)
        return in_manner(manner, ROLES)(body)

    chat_server.play(killing)
    process = start(*command("R", "--reasoning-effort", "low", "--api", "responses"))
    assert process.wait() == -signal.SIGKILL
    assert type_in("resume", tmp_path / "R")[0] == 0
    assert scores_of(type_in, tmp_path / "R")[0] == scores_of(type_in, tmp_path / "whole")[0]
    # What was recorded is not asked for again: at most the request that the kill met.
    answered = [json.dumps(b, sort_keys=True) for b in chat_server.requests[sent:]]
    assert len(answered) - len({*answered}) <= 1 + len(MANNERS)


@pytest.mark.long
def test_a_run_that_went_over_and_was_killed_goes_on_and_says_that_it_has_replies_by_both(
    command, chat_server, tmp_path, type_in, start
):
    """The first question is answered by chat completions; then the server wants the other."""
    process, chat = None, [0]
    refusing = in_manner("gpt-6", ROLES)

    def changing(body):
        if "responses" in body and turn_of(body):
            os.kill(process.pid, signal.SIGKILL)
        chat[0] += "tools" in body and "responses" not in body
        return ROLES(body) if chat[0] <= 2 else refusing(body)

    chat_server.play(changing)
    process = start(*command("R"))
    assert process.wait() == -signal.SIGKILL
    chat_server.play(refusing)
    code, shown, error = type_in("resume", tmp_path / "R")
    assert code == 0, error
    told = "agent: 4 replies in 2 items by the Responses API, the others by chat completions"
    assert told in " ".join(shown.split())
    assert told in " ".join(type_in("report", tmp_path / "R")[1].split())
    page = tmp_path / "page.html"
    type_in("report", tmp_path / "R", "--html", page)
    assert told in page.read_text()


def test_a_model_that_takes_both_scores_alike_by_either(command, chat_server, tmp_path, type_in):
    def unreasoned(body):
        return replace(ROLES(body), reasoning_content=None)

    for api in ("chat", "responses"):
        chat_server.play(in_manner("gpt-4.1", unreasoned))
        before = len(chat_server.paths)
        assert type_in(*command(api, "--api", api))[0] == 0
        end = "/v1/responses" if api == "responses" else "/v1/chat/completions"
        assert {*chat_server.paths[before:]} == {end}
        judge = ("--matcher", f"llm:openai:m@{chat_server.url}", "--judge-entities")
        chat_server.play(lambda _: say('{"a1": "g1"}'))
        assert type_in("score", tmp_path / api, *judge)[0] == 0
    assert scores_of(type_in, tmp_path / "chat") == scores_of(type_in, tmp_path / "responses")


def test_the_key_is_in_no_record_and_no_message(
    command, chat_server, tmp_path, type_in, monkeypatch
):
    key = "sk-canary-0123456789abcdef"
    monkeypatch.setenv("CANARY", key)

    def script(body):
        if turn_of(body):
            return Answer(failure=("invalid_prompt", f"no {key}"))
        return replace(agent(body), reasoning_content=f"It is {key}.")

    chat_server.play(script)
    keyed = ("--api", "responses", "--key", f"{chat_server.host}=CANARY")
    _, out, error = type_in(*command("R", *keyed))
    assert {headers["Authorization"] for headers in chat_server.headers} == {f"Bearer {key}"}
    shown = out + error + type_in("trace", tmp_path / "R", "--question", "q1", "--print")[1]
    assert "invalid_prompt" in shown
    assert key not in shown
    kept = b"".join(p.read_bytes() for p in (tmp_path / "R").rglob("*") if p.is_file())
    assert key.encode() not in kept


@pytest.fixture
def by_responses(command, chat_server):
    """A command whose questions are answered by the Responses API, with its name."""
    chat_server.play(ROLES)
    return lambda name, *more: command(name, "--api", "responses", *more)


def test_a_replay_answers_as_the_run_did_and_asks_nobody(
    by_responses, chat_server, tmp_path, type_in
):
    assert type_in(*by_responses("R"))[0] == 0
    sent = len(chat_server.requests)
    words = [*by_responses("again")]
    words[words.index("--model") + 1] = f"replay:{tmp_path / 'R'}"
    del words[words.index("--temperature") :]
    code, _, error = type_in(*words)
    assert (code, len(chat_server.requests)) == (0, sent), error
    first, second = (scores_of(type_in, tmp_path / name)[0] for name in ("R", "again"))
    assert first["aggregates"] == second["aggregates"]
