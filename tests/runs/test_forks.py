"""A fork goes on as its parent did, from every step of every kind of item, and asks no more."""

import json
from collections import Counter

import pytest
from by_role import by_role, passage_of, turn_of, user_of
from chat_server import call, calls, context_length, digest, fail, refuse, say

from branchwise import run
from branchwise.eval.forks import Changes, editable, make_fork, run_fork
from branchwise.eval.store import open_run
from branchwise.graphs.executions import executions, taken_up_at

COUNT = 9
SEARCHES = calls(
    ("local_retriever", {"query": "King Kong film"}),
    ("local_retriever", '{"query": '),
    ("local_retriever", {"query": "Heat film"}),
    ("no_such_tool", {"query": "Heat"}),
    ("local_retriever", {"query": "Heat film"}),
)


def number_of(body):
    """Which question a request is of: its text begins "Question number 0004"."""
    return int(user_of(body).split("number ", 1)[1][:4])


def results_of(body):
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


def answer_of(body):
    return json.dumps({"reasoning": "r", "answers": {"default": [user_of(body)[:20]]}})


def searches(body):
    """Two turns of calls, several at a time, some of which cannot be made; then the answer."""
    if turn_of(body) < 2:
        return SEARCHES if turn_of(body) == 0 else call("local_retriever", query="Heat film")
    return say(answer_of(body), reasoning_content="thought")


def searches_on(body):
    """Searches until it is told to answer."""
    if body.get("tools"):
        return call("local_retriever", query=f"Heat {turn_of(body)}")
    return say(answer_of(body))


def in_prose(body):
    """An answer that only its repair brings into form."""
    if "no JSON" in body["messages"][-1]["content"]:
        return say(answer_of(body))
    return say("It was Michael Mann.") if turn_of(body) else searches(body)


def never_in_form(body):
    """An answer in prose whose repair is refused."""
    if "no JSON" in body["messages"][-1]["content"]:
        return fail(400, "no repairs")
    return say("It was Michael Mann.")


def has_a_small_window(body):
    """Refuses a conversation of more than two results that are shown."""
    shown = [text for text in results_of(body) if "left out to fit" not in text]
    return context_length() if len(shown) > 2 else searches(body)


def fails_late(body):
    return fail(400, "no more of this") if turn_of(body) else searches(body)


def answers_at_once(body):
    return say(answer_of(body))


def refuses(body):
    return refuse() if turn_of(body) else searches(body)


def calls_although_told(body):
    """Calls tools in its last turn, too, when there are none any more."""
    return call("local_retriever", query=f"Heat {turn_of(body)}")


AGENTS = (
    searches, searches_on, in_prose, never_in_form, has_a_small_window,
    fails_late, answers_at_once, refuses, calls_although_told,
)  # fmt: skip


def expands(body):
    number = number_of({"messages": [{}, {"role": "user", "content": user_of(body)}]})
    if number == 2:
        return fail(400, "no readings today")
    return say("none" if number == 6 else "Who directed Heat of 1995?\nWho directed Heat of 1986?")


def extracts(body):
    title, text = passage_of(body)
    if "1933" in title:
        return fail(400, "no extraction of this one")
    return say("NONE" if "1986" in title else f"{text[:20]}\nnot in the passage at all")


SCRIPT = by_role(
    expander=expands, extractor=extracts, agent=lambda body: AGENTS[number_of(body)](body)
)


def plain(data):
    """Without what no two runs share: seconds, and whether a reply was recalled."""
    if isinstance(data, dict):
        kept = {k: v for k, v in data.items() if k not in ("seconds", "replayed")}
        return {key: plain(value) for key, value in kept.items()}
    return [plain(value) for value in data] if isinstance(data, list) else data


def steps_of(events):
    """The trace, results of one turn in the order of their calls: they may end in any."""
    found = [(event.kind, plain(dict(event.data))) for event in events]
    for execution in executions(events):
        if execution.node == "tools":
            own = found[execution.first : execution.end]
            own.sort(key=lambda step: step[1].get("of", -1))
            found[execution.first : execution.end] = own
    return found


def read(path, item=1):
    """The item's row and its trace."""
    reader = open_run(path)
    row = next(row for row in reader.items() if row.item == item)
    events = list(reader.events(row.item))
    reader.close()
    return row, events


def asked_for(events):
    """How many requests to models these events stand for."""
    each = {"extraction": lambda event: len(event.data["passages"])}
    one = ("model", "expansion", "context_trimmed", "repair_failed", "error")
    return sum(each.get(e.kind, lambda e: int(e.kind in one))(e) for e in events)


@pytest.fixture
def parent(chat_server, make_system, question_file, tmp_path):
    """Run the questions with expansion, extraction or both; returns the run's folder."""

    def play(count=COUNT, **changes):
        chat_server.play(SCRIPT)
        system = make_system({"calls": 7}, attempts=1).model_copy(update=changes)
        return run(str(question_file(count)), system, out=tmp_path / "parent", concurrency=1).path

    return play


@pytest.mark.parametrize("modules", [{"expand": True, "extract": True}, {}], ids=["both", "none"])
def test_every_step_of_every_item_goes_on_as_the_parent_did(modules, parent, chat_server, tmp_path):
    path = parent(**modules)
    kinds = Counter()
    for item in range(1, COUNT + 1):
        row, events = read(path, item)
        for event in events:
            before = Counter(chat_server.counts)
            sent = len(chat_server.requests)
            fork = make_fork(path, row.question.id, event.seq, out=tmp_path / f"{item}-{event.seq}")
            assert len(chat_server.requests) == sent
            run_fork(fork)
            forked, trace = read(fork)
            assert steps_of(trace) == steps_of(events), (row.question.id, event.seq)
            assert plain(forked.outcome) == plain(row.outcome)
            behind = events[taken_up_at(events, event.seq) :]
            assert len(chat_server.requests) - sent == asked_for(behind)
            assert set(Counter(chat_server.counts) - before) <= set(before), "asked something new"
            kinds[event.kind] += 1
    expected = {"start", "model", "tool", "budget", "repair", "repair_failed", "context_trimmed",
                "answer", "error"}  # fmt: skip
    assert set(kinds) == expected | ({"expansion", "extraction"} if modules else set())
