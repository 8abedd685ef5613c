"""A run with both modules, killed in the middle of extractions, asks for nothing twice.

Every reply of the server carries a number, so that what is recorded can be told from what was
sent. The server itself kills the process that asks it, on the arrival of a request.
"""

import json
import random
import signal
from collections import Counter
from dataclasses import replace

import pytest

from branchwise.runs.store import open_run
from support.by_role import passage_of, passages_of, role_of, turn_of
from support.chat_server import call, digest, say
from support.corpora.small import bm25_corpus
from support.runs.killing import Killer

pytestmark = pytest.mark.usefixtures("process")

# More passages than are asked about at once: the last of them are asked when others are recorded.
KILLS, QUESTIONS, CONCURRENCY, PASSAGES = 3, 3, 2, 50
SHARED = {"passage": 0, "search": 2}
"""Requests about several passages, of no use: each passage is asked about alone after them."""


def numbered(body, place):
    """Replies that hold their number."""
    number, role = f"(number {place})", role_of(body)
    if role == "expander":
        return say(f"Who directed Heat (1995 film)?\nWho directed Heat (1986 film)?\n{number}")
    if role == "extractor":
        alone = len(passages_of(body)) == 1
        return say(f"{passage_of(body)[1]}\n{number}" if alone else number)
    if turn_of(body) == 0:
        return replace(call("local_retriever", query="Heat film"), content=number)
    return say(json.dumps({"reasoning": number, "answers": {"default": ["Mann"]}}))


def recorded_requests(path, log):
    """Digests of the requests whose replies are in the store; how many of each item's."""
    reader = open_run(path)
    items = [row[0] for row in reader.items_with_status(("pending", "running", "done"))]
    contents = {
        item: [
            (key.role, value["content"])
            for (key, _), value in reader.responses(item).items()
            if key.kind == "model"
        ]
        for item in items
    }
    numbers = [
        int(content.rsplit("(number ", 1)[1].split(")")[0])
        for replies in contents.values()
        for _, content in replies
    ]
    extracted = [sum(role == "extractor" for role, _ in replies) for replies in contents.values()]
    return {log[number] for number in numbers}, extracted


@pytest.fixture
def heat_corpus(tmp_path):
    passages = {f"p{n:02d}": f"Heat {n}\nHeat film {n}." for n in range(PASSAGES)}
    return bm25_corpus(tmp_path, passages)


@pytest.mark.long
@pytest.mark.parametrize("by", ["passage", "search"])
def test_a_run_killed_in_the_middle_of_extractions_asks_for_nothing_twice(
    by, chat_server, heat_corpus, question_file, tmp_path, start
):
    path = tmp_path / "run"
    moments = random.Random(4)
    script = Killer(numbered)
    chat_server.play(script)
    command = [
        *("run", "--questions", question_file(QUESTIONS), "--corpus", heat_corpus, "--k", PASSAGES),
        *("--model", f"openai:scripted@{chat_server.url}", "--concurrency", CONCURRENCY),
        *("--expand", "--extract", "--extract-by", by, "--out", path),
    ]
    kills, partly = [], []
    for _ in range(KILLS):
        script.started.clear()
        process = start(*command)
        script.aim(process, moments.randint(38, 50))
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
        recorded, extracted = recorded_requests(path, list(map(digest, script.requests)))
        kills.append((len(script.requests), recorded))
        partly += [count for count in extracted if 0 < count < PASSAGES]
        command = ["resume", path, "--concurrency", CONCURRENCY]
    last = start(*command)
    script.aim(last, None)
    assert last.wait() == 0, last.stderr.read()

    log = list(map(digest, script.requests))
    for sent, recorded in kills:
        assert recorded
        assert not recorded & set(log[sent:])
    assert partly, "the kills must hit extractions that had got somewhere"
    assert len(set(log)) == QUESTIONS * (PASSAGES + SHARED[by] + 3)
    reader = open_run(path)
    assert reader.progress() == {"total": QUESTIONS, "done": QUESTIONS, "failed": 0, "pending": 0}
    for row in reader.items():
        events = list(reader.events(row.item))
        assert Counter(event.kind for event in events) == {
            **{"start": 1, "expansion": 1, "model": 2, "tool": 1, "extraction": 1, "answer": 1}
        }
        (extraction,) = (event.data for event in events if event.kind == "extraction")
        assert all(passage["whole"] for passage in extraction["passages"])
        calls = {role: usage["calls"] for role, usage in row.outcome["usage"].items()}
        assert calls == {"expander": 1, "agent": 2, "extractor": PASSAGES + SHARED[by]}
    reader.close()


@pytest.mark.long
def test_a_run_killed_at_each_request_asks_for_nothing_twice_that_was_checked(
    chat_server, heat_corpus, question_file, tmp_path, start
):
    """Each process is killed when its second request arrives: a search, an answer, its check, the
    next answer and its check are sent once, and once more where the kill met them."""

    def script(body, _):
        turn = turn_of(body)
        if role_of(body) == "checker":
            return say("COMPLETE" if "second" in body["messages"][1]["content"] else "MISSING: it")
        if turn == 0:
            return call("local_retriever", query="Heat film")
        given = ["first"] if turn == 1 else ["first", "second"]
        return say(json.dumps({"reasoning": "r", "answers": {"default": given}}))

    path, killer = tmp_path / "run", Killer(script)
    chat_server.play(killer)
    command = [
        *("run", "--questions", question_file(1), "--corpus", heat_corpus, "--k", 3),
        *("--model", f"openai:scripted@{chat_server.url}", "--check", 2, "--out", path),
    ]
    for number in range(5):
        killer.started.clear()
        process = start(*command)
        killer.aim(process, 2)
        assert process.wait() == (-signal.SIGKILL if number < 4 else 0), process.stderr.read()
        command = ["resume", path]
    requests = [("agent", 0), ("agent", 1), ("checker", 0), ("agent", 2), ("checker", 0)]
    log = [(role_of(body), turn_of(body)) for body in killer.requests]
    assert log == [requests[0], *(one for request in requests[1:] for one in (request, request))]
    reader = open_run(path)
    (row,) = reader.items()
    assert [event.kind for event in reader.events(row.item)] == [
        *("start", "model", "tool", "model", "answer", "check", "model", "answer", "check")
    ]
    assert row.outcome["prediction"]["answers"] == {"default": ["first", "second"]}
    reader.close()
