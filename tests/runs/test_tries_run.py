"""Runs of several tries: the trace, a kill at any request, replays, what a merge left out."""

import json
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from branchwise import run
from branchwise.eval.errors.attribution import attribute
from branchwise.runs.store import open_run
from branchwise.trace.events import AnswerRead, Event, Model, Stage, StageEnded
from branchwise.ui.traces.trace import in_order
from support.chat_server import Answer, Body, call, say
from support.runs.forked import goes_on_from_every_step
from support.runs.killing import Killer

TRIES, QUESTIONS, CONCURRENCY = 3, 2, 2


def events_of(path: Path) -> list[list[Event]]:
    reader = open_run(path)
    try:
        return [list(reader.events(row.item)) for row in reader.items()]
    finally:
        reader.close()


def answer(*texts: str) -> Answer:
    return say(json.dumps({"reasoning": "", "answers": {"default": texts}}))


def searching(body: Body) -> Answer:
    """Searches, then answers otherwise in each try."""
    if len(body["messages"]) == 2:
        return call("local_retriever", query="film")
    texts = {11: ["Michael Mann", "Bay"], 12: ["Michael Mann"], 13: ["John Guillermin"]}
    return answer(*texts[body["seed"]])


@pytest.fixture
def one_question(tmp_path: Path) -> str:
    gold = {"default": ["Michael Mann", "John Guillermin", "Nobody Else"]}
    question = {"id": "q", "question": "Who made a film?", "answers": gold}
    (tmp_path / "one.jsonl").write_text(json.dumps(question))
    return str(tmp_path / "one.jsonl")


@pytest.fixture
def several(make_system: Any) -> Any:
    return make_system(seed=10).with_(tries=TRIES, merge="majority")


@pytest.mark.slow
def test_tries_stand_in_order_each_in_its_stage(chat_server, several, one_question, tmp_path):
    def last_first(body: Body) -> Answer:
        given = searching(body)
        if len(body["messages"]) > 2:
            if body["seed"] == 13:
                chat_server.release()
            else:
                return Answer(given.content, hangs=True)
        return given

    traces = []
    for name, script in (("A", searching), ("B", last_first)):
        chat_server.play(script)
        traces += events_of(run(one_question, several, out=tmp_path / name).path)
    told = [[(event.kind, event.body.without_around()) for event in trace] for trace in traces]
    assert told[0] == told[1]
    depths = [(event.kind, depth) for event, depth in in_order(traces[0])]
    attempt = [
        ("stage", 0),
        ("model", 1),
        ("tool", 2),
        ("model", 1),
        ("answer", 1),
        ("stage_end", 1),
    ]
    assert depths == [("start", 0), *attempt * TRIES, ("stage_end", 0), ("answer", 0)]
    *_, merge, last = (event.body for event in traces[0])
    assert (merge.option, merge.answers) == ("majority", ("Michael Mann",))
    assert merge.left_out == ("Bay", "John Guillermin")
    assert last.prediction.branches == {"default": ["Michael Mann"]}


@pytest.mark.long
@pytest.mark.parametrize("merge", ["majority", "list"])
def test_a_fork_at_any_step_goes_on_as_the_parent_did(
    merge: str, chat_server: Any, several: Any, one_question: str, tmp_path: Path
) -> None:
    def script(body: Body) -> Answer:
        return searching(body) if "seed" in body and body.get("tools") else answer("Michael Mann")

    chat_server.play(script)
    path = run(one_question, several.with_(merge=merge), out=tmp_path / "R").path
    goes_on_from_every_step(path, chat_server, tmp_path)


@pytest.mark.slow
def test_what_a_merge_left_out_was_not_lost_by_the_agent(
    chat_server: Any, several: Any, one_question: str, tmp_path: Path
) -> None:
    chat_server.play(searching)
    made = run(one_question, several, out=tmp_path / "R")
    reader = made.open()
    (item,), (row,) = reader.answered_items(), reader.items()
    errors = attribute(item, reader.events(row.item))
    reader.close()
    lost = {missing.text: (missing.label, missing.lost_at) for missing in errors.missing}
    assert lost == {
        "John Guillermin": ("incorrect_reasoning", "merge"),
        "Nobody Else": ("incomplete_extraction", None),
    }


@pytest.mark.slow
def test_what_a_try_gave_under_another_reading_was_not_lost_in_the_merge(
    chat_server: Any, several: Any, tmp_path: Path
) -> None:
    later, earlier = "Heat (1995 film)", "Heat (1986 film)"
    gold = {later: ["Michael Mann"], earlier: ["Burt Reynolds"]}
    question = {"id": "q", "question": "Who directed Heat?", "answers": gold}
    (tmp_path / "two.jsonl").write_text(json.dumps(question))

    def confused(body: Body) -> Answer:
        texts = ["Michael Mann", *(["Burt Reynolds"] if body["seed"] == 11 else [])]
        return say(json.dumps({"reasoning": "", "answers": {later: texts}}))

    chat_server.play(confused)
    made = run(str(tmp_path / "two.jsonl"), several, out=tmp_path / "R")
    reader = made.open()
    (item,), (row,) = reader.answered_items(), reader.items()
    (missing,) = attribute(item, reader.events(row.item)).missing
    reader.close()
    assert (missing.text, missing.lost_at) == ("Burt Reynolds", None)


@pytest.mark.slow
def test_tries_of_a_run_are_merged_in_another_way_by_its_replay(
    chat_server: Any, several: Any, one_question: str, tmp_path: Path
) -> None:
    chat_server.play(searching)
    made = run(one_question, several, out=tmp_path / "R")
    sent = len(chat_server.requests)
    again = several.with_(model=f"replay:{made.path}", merge="union")
    (trace,) = events_of(run(one_question, again, out=tmp_path / "S").path)
    merged = trace[-1].body.prediction.branches["default"]
    assert merged == ["Michael Mann", "Bay", "John Guillermin"]
    assert len(chat_server.requests) == sent


def numbered(body: Body, number: int) -> Answer:
    """Searches, then answers, with a number from 1 as its tokens. But for the number the first
    replies of all tries are the same, and so are their second requests."""
    sent, first = number + 1, len(body["messages"]) == 2
    given = call("local_retriever", query="film") if first else answer(f"film {sent}")
    usage = {"prompt_tokens": sent, "completion_tokens": 0, "total_tokens": sent}
    return Answer(given.content, given.tool_calls, usage=usage)


def recorded_numbers(path: Path) -> list[int]:
    reader = open_run(path)
    items = [row[0] for row in reader.items_with_status(("pending", "running", "done"))]
    replies = [pair for item in items for pair in reader.responses(item).items()]
    reader.close()
    return sorted(value["usage"]["input"] for (key, _), value in replies if key.kind == "model")


@pytest.mark.long
@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("kills", [4])
def test_a_killed_run_gives_each_try_its_own_replies_again(
    kills: int, chat_server: Any, make_system: Any, question_file: Any, start: Any, tmp_path: Path
) -> None:
    script, path, moments = Killer(numbered), tmp_path / "R", random.Random(kills)
    chat_server.play(script)
    system = make_system()
    command: list[Any] = [
        *("run", "--questions", question_file(QUESTIONS), "--corpus", system.corpus, "--k", 2),
        *("--model", system.model, "--tries", TRIES, "--merge", "union", "--out", path),
        *("--concurrency", CONCURRENCY),
    ]
    kept: set[int] = set()
    done = lost = 0
    while done < kills:
        script.started.clear()
        process = start(*command)
        before = len(script.requests)
        script.aim(process, moments.randint(1, 5))
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL, process.stderr.read()
        now = recorded_numbers(path)
        # Whatever was recorded before is still there, and nothing is twice.
        assert kept <= set(now)
        assert len(set(now)) == len(now)
        lost += len(script.requests) - before - len(set(now) - kept)
        kept, done, command = set(now), done + 1, ["resume", path]
    script.started.clear()
    last = start(*command)
    script.aim(last, None)
    assert last.wait() == 0, last.stderr.read()

    whole = recorded_numbers(path)
    assert kept <= set(whole)
    assert len(whole) == 2 * TRIES * QUESTIONS
    # Each request came once, and those again that were under way at a kill.
    assert len(script.requests) == len(whole) + lost
    assert lost <= done * TRIES * CONCURRENCY
    used: Counter[int] = Counter()
    for trace in events_of(path):
        stages = [event.body for event in trace]
        used.update(body.usage.input for body in stages if isinstance(body, Model))
        number = 0
        for body in stages:
            if isinstance(body, Model):
                number = body.usage.input
            if isinstance(body, StageEnded) and body.name == "try":
                assert body.answers == (f"film {number}",)
        assert [body.option for body in stages if isinstance(body, Stage)] == ["1", "2", "3"]
        assert isinstance(stages[-1], AnswerRead)
    assert used == Counter(whole)
