"""A run killed with SIGKILL, again and again, ends with every item exactly once.

The server itself kills the process that asks it, on the arrival of a request: no clock decides. At
each kill the test notes which requests have a recorded response; none of them may ever arrive
again. benchmarks/kills.py kills runs, and all else, at any moment, a thousand times.
"""

import json
import signal
from collections import Counter
from dataclasses import replace

import pytest

from branchwise import score
from branchwise.runs.store import open_run
from support.chat_server import call, say
from support.runs.killing import Killer

pytestmark = pytest.mark.usefixtures("process")

QUESTIONS, CONCURRENCY = 60, 6
# Requests that a process may send: one, as many as are in flight, a few more, a good part of all.
MOMENTS = (1, 6, 9, 40, 2, 33)


def searching(body, _):
    """Searches twice, then answers."""
    turn = asked_in(body)[1]
    if turn < 2:
        usage = {"prompt_tokens": 2000, "completion_tokens": 1}
        return replace(call("local_retriever", query=f"Heat {turn}"), usage=usage)
    return say(json.dumps({"answers": {"default": [asked_in(body)[0][:20]]}}))


def asked_in(body):
    """(question, turn) of a request."""
    question = next(m["content"] for m in body["messages"] if m["role"] == "user").strip()
    return question, sum(m["role"] == "assistant" for m in body["messages"])


def recorded_requests(path):
    """(question, turn) of every model request whose response is in the store."""
    reader = open_run(path)
    return {
        (reader.question(n).question, turn)
        for item, n, _, _ in reader.items_with_status(("pending", "running", "done"))
        for turn in range(sum(key.kind == "model" for key, _ in reader.responses(item)))
    }


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("--compact", 1000)], ids=["plain", "compacted"])
def test_a_run_killed_again_and_again_ends_whole(
    options, chat_server, corpus, question_file, tmp_path, start
):
    path = tmp_path / "run"
    killer = Killer(searching)
    chat_server.play(killer)
    command = [
        *("run", "--questions", question_file(QUESTIONS), "--corpus", corpus, "--out", path),
        *("--model", f"openai:scripted@{chat_server.url}", "--concurrency", CONCURRENCY),
        *options,
    ]
    kills = []
    for moment in MOMENTS:
        killer.started.clear()
        process = start(*command)
        killer.aim(process, moment)
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
        kills.append((len(killer.requests), recorded_requests(path)))
        command = ["resume", path, "--concurrency", CONCURRENCY]
    last = start(*command)
    killer.aim(last, None)
    assert last.wait() == 0, last.stderr.read()

    sent_in_all = [asked_in(body) for body in killer.requests]
    for sent, recorded in kills:
        assert not recorded & set(sent_in_all[sent:])
    assert len(set(sent_in_all)) == 3 * QUESTIONS
    assert len(sent_in_all) - 3 * QUESTIONS <= len(MOMENTS) * CONCURRENCY
    assert kills[-1][1], "the kills must hit a run that had got somewhere"
    reader = open_run(path)
    assert reader.progress() == {"total": QUESTIONS, "done": QUESTIONS, "failed": 0, "pending": 0}
    for row in reader.items():
        steps = Counter(event.kind for event in reader.events(row.item))
        compacted = {"compacted": 1} if options else {}
        assert steps == {"start": 1, "model": 3, "tool": 2, "answer": 1, **compacted}
        assert row.outcome["turns"] == 3
    reader.close()
    assert score(path).aggregates["all"]["strict_em"].mean == 1.0
