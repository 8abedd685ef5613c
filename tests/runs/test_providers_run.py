"""One agent by four providers' protocols: equal scores, costs by hand, and no key anywhere."""

import json
import os
import re
import signal
import threading
from dataclasses import replace

import pytest

from branchwise import score
from branchwise.agents import restraints
from branchwise.agents.refusals import forget_refusals
from branchwise.runs.store import open_run
from support.by_role import role_of, turn_of, user_of
from support.chat_server import calls, say
from support.provider_server import PROVIDERS, ProviderServer, failed

pytestmark = pytest.mark.usefixtures("process")

KEY = "c4nary-key-of-a-provider-0123456789"
QUESTIONS = 4
PRICES = """models:
  openai:scripted: {input: 4.00, cached: 0.40, written: 5.00, output: 20.00}
  anthropic:scripted: {input: 4.00, cached: 0.40, written: 5.00, output: 20.00}
  google:scripted: {input: 4.00, cached: 0.40, output: 20.00}
  mistral:scripted: {input: 4.00, cached: 0.40, output: 20.00}
"""
SEARCHED = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 200},
    "completion_tokens_details": {"reasoning_tokens": 40},
}
ANSWERED = {"prompt_tokens": 2000, "completion_tokens": 50}
# 600 tokens were read from the cache and 200 written to it, which two of them bill; thoughts are
# output.
WITH_WRITTEN = 200 * 4.00 + 600 * 0.40 + 200 * 5.00 + 100 * 20.00 + 2000 * 4.00 + 50 * 20.00
WITHOUT = 400 * 4.00 + 600 * 0.40 + 100 * 20.00 + 2000 * 4.00 + 50 * 20.00
COSTS = {
    "openai": WITH_WRITTEN, "anthropic": WITH_WRITTEN, "google": WITHOUT, "mistral": WITHOUT
}  # fmt: skip
"""Of one question, in millionths of a USD."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OWN_KEY", KEY)
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
    forget_refusals()
    with ProviderServer() as started:
        yield started


def agent(body):
    """Two searches at once, with a thought; then the question's first twenty characters, or for
    every second question something else. The key is in all of it."""
    question = user_of(body).strip()
    if not turn_of(body) and body.get("tools"):
        searches = calls(*(("local_retriever", {"query": f"Heat {n} {KEY}"}) for n in (1, 2)))
        return replace(searches, reasoning_content=f"By {KEY}.", usage=SEARCHED)
    is_right = int(question.split()[2].strip(":")) % 2 == 0
    answers = {"default": [question[:20] if is_right else f"{KEY} wrong"]}
    return say(json.dumps({"answers": answers}), usage=ANSWERED)


@pytest.fixture
def command(server, corpus, question_file, tmp_path):
    (tmp_path / "prices.yaml").write_text(PRICES)

    def write(provider, *more, count=QUESTIONS):
        return (
            *("run", "--questions", question_file(count), "--corpus", corpus, "--max-tokens", 300),
            *("--out", tmp_path / provider, "--model", server.model(provider), "--concurrency", 2),
            *("--key", f"{server.host}=OWN_KEY", *more),
        )

    return write


def responses_of(path):
    """What was recorded of all requests, as text."""
    reader = open_run(path)
    items = reader.items_with_status(("done",))
    return json.dumps([[*reader.responses(item).values()] for item, *_ in items])


@pytest.mark.long
def test_four_protocols_score_alike_cost_what_they_cost_and_keep_no_key(
    server, command, type_in, tmp_path
):
    server.play(agent)
    told, means, digests = "", [], set()
    for provider in ("openai", *PROVIDERS):
        path = tmp_path / provider
        outputs = [type_in(*command(provider, "--prices", tmp_path / "prices.yaml"))]
        outputs += [type_in(*words) for words in (
            ("trace", path, "--print"), ("trace", path, "--question", "q1", "--print"),
            ("export", path), ("report", path, "--json"),
        )]  # fmt: skip
        assert [code for code, *_ in outputs] == [0] * 5, outputs
        (document,) = json.loads(outputs[-1][1])
        paid = QUESTIONS * COSTS[provider] / 1e6
        assert document["costs"]["cost"] == pytest.approx(paid, rel=1e-12)
        assert document["costs"]["usage"]["reasoning"] == (
            0 if provider == "anthropic" else 40 * QUESTIONS
        )
        told += str(outputs) + responses_of(path)
        told += "".join(
            file.read_bytes().decode("latin-1") for file in path.rglob("*") if file.is_file()
        )
        reader = open_run(path)
        assert server.host not in json.dumps(reader.meta["identity"])
        digests.add(json.dumps(reader.meta["identity"]["model"]))
        aggregates = score(path).aggregates["all"]
        means.append({name: aggregate.mean for name, aggregate in aggregates.items()})
    assert means.count(means[0]) == 4
    assert means[0]["strict_recall"] == 0.5
    assert len(digests) == 4
    assert KEY not in told
    sent = [text for headers in server.headers for text in headers.values() if KEY in text]
    assert len(sent) == 4 * 2 * QUESTIONS
    assert all(KEY not in json.dumps(body) for body in server.requests)


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_that_repeats_the_key_in_its_errors_gets_it_no_further(
    server, command, type_in, tmp_path, provider
):
    server.play([failed(provider, 401, f"{KEY} is not accepted")] * 9)
    code, out, error = type_in(*command(provider))
    assert code != 0
    assert "the key in OWN_KEY is not accepted there" in " ".join((out + error).split())
    assert KEY not in out + error
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in stored


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_refusals_of_too_many_requests_are_waited_out(server, command, type_in, tmp_path, provider):
    refused = iter([429, 529, 500])

    def first_refused(body):
        status = next(refused, None)
        return agent(body) if status is None else failed(provider, status, "busy", retry_after="0")

    server.play(first_refused)
    code, _, error = type_in(*command(provider))
    assert code == 0, error
    assert open_run(tmp_path / provider).progress()["done"] == QUESTIONS
    assert len(server.requests) == 2 * QUESTIONS + 3


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_role_may_be_any_providers(server, corpus, tmp_path, type_in, monkeypatch, provider):
    gold = {"Heat (1995 film)": ["Michael Mann"], "Heat (1986 film)": ["Dick Richards"]}
    question = {"id": "q", "question": "Who directed Heat?", "ambiguous": True, "answers": gold}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))
    roles = []

    def in_role(body):
        roles.append(role := role_of(body))
        if role != "agent":
            return say("none" if role == "expander" else "Michael Mann directed Heat.")
        names = re.findall(r"^([na])(\d+):", user_of(body), re.MULTILINE)
        if names:
            roles[-1] = "matcher" if names[0][0] == "n" else "judge"
            of = {"n": "r", "a": "g"}
            return say(json.dumps({f"{kind}{n}": f"{of[kind]}1" for kind, n in names}))
        if not turn_of(body) and body.get("tools"):
            return calls(("local_retriever", {"query": "Heat"}))
        return say('{"answers": {"the older": ["Richards"], "the newer": ["M. Mann"]}}')

    server.play(in_role)
    other = server.model(provider, "other")
    code, out, error = type_in(
        *("run", "--questions", tmp_path / "q.jsonl", "--corpus", corpus, "--out", tmp_path / "R"),
        *("--model", server.model("openai"), "--expand", "--extract", "--expander", other),
        *("--extractor", other, "--judge", other, "--matcher", f"both:{other}"),
    )
    assert code == 0, out + error
    by_provider = {
        role for role, path in zip(roles, server.paths, strict=True) if path[:8] != "/v1/chat"
    }
    assert by_provider == {"expander", "extractor", "matcher", "judge"}
    assert ("agent", "/v1/chat/completions") in zip(roles, server.paths, strict=True)


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_killed_run_asks_nothing_again_that_was_answered(
    server, command, start, tmp_path, provider
):
    asked, begun = [], threading.Event()
    left, victim = 7, None

    def deadly(body):
        nonlocal left
        begun.wait()
        asked.append((user_of(body).strip(), turn_of(body)))
        left -= 1
        if left == 0:
            os.kill(victim.pid, signal.SIGKILL)
        return agent(body)

    server.play(deadly)
    victim = start(*command(provider, count=12))
    begun.set()
    assert victim.wait() == -signal.SIGKILL
    sent, reader = len(asked), open_run(tmp_path / provider)
    recorded = {
        (reader.question(n).question, turn)
        for item, n, *_ in reader.items_with_status(("pending", "running", "done"))
        for turn in range(sum(key.kind == "model" for key, _ in reader.responses(item)))
    }
    last = start("resume", tmp_path / provider)
    assert last.wait() == 0, last.stderr.read()
    assert not recorded & set(asked[sent:])
    assert len(recorded) >= 5
    assert len(set(asked)) == 2 * 12


def test_what_cannot_be_asked_is_one_line_before_anything_is_asked(
    server, command, type_in, monkeypatch
):
    server.play([])
    for words, said in (
        (command("anthropic", "--seed", 1), "anthropic has no seed"),
        (command("google", "--stream"), "is asked for whole replies alone"),
        (command("mistral", "--api", "responses"), "mistral has its own protocol"),
    ):
        code, out, error = type_in(*words)
        assert (code, out) == (2, ""), error
        assert said in " ".join(error.split())
    assert server.requests == []
