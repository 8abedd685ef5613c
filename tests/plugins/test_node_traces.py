"""A node's step where traces are shown, forked, replayed and resumed."""

import pytest

from branchwise import resume, run
from branchwise.eval.errors.attribution import attribute
from branchwise.graphs.system import System
from branchwise.report.terminal.lost_answers import why_missing
from branchwise.runs.forks import make_fork, run_fork
from branchwise.ui.steps.describe import describe, label
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import blocks
from branchwise.ui.traces.tree import in_order
from support.chat_server import say
from support.plugins.node_cases import SEARCH, answer, turns
from support.stores import execute

TWO = '''
import os

@node("before_agent")
async def brief(state: AgentState):
    """Say more."""
    *before, user = state["pending"]
    return {"pending": [*before, HumanMessage(user.text + " Be brief.")]}

@node("after_tools")
async def first(state: AgentState):
    """Keep the best passage."""
    with open(os.environ["NODE_CALLS"], "a") as log:
        log.write("x")
    return {"pending": [with_passages(m, passages_of(m)[:1]) for m in state["pending"]]}

@node("before_answer")
async def shout(state: AgentState):
    """Upper case."""
    return {"messages": [AIMessage(state["messages"][-1].text.replace("Mann", "MANN"))]}
'''
NODES = ("brief", "first", "shout")


@pytest.fixture
def calls_made(tmp_path, monkeypatch):
    path = tmp_path / "calls"
    monkeypatch.setenv("NODE_CALLS", str(path))
    return lambda: len(path.read_text()) if path.exists() else 0


@pytest.fixture
def found(play, calls_made):
    return play(TWO, *NODES)


def outcome(made):
    """The one item of a run, and its events."""
    reader = made.open()
    (row,) = reader.items()
    events = list(reader.events(row.item))
    reader.close()
    return row, events


def test_a_nodes_step_is_described_in_words(found):
    kinds = [event.kind for event in found.events]
    assert kinds == ["start", "node", "model", "tool", "node", "model", "node", "answer"]
    said = [label(event) for event in found.events if event.kind == "node"]
    assert said == [
        "node brief: 2 opening messages",
        "node first: call 1: 1 passage",
        "node shout: another answer",
    ]
    lines = describe(found.events[4])
    assert lines[0].startswith("node      first: call 1: 1 passage (after_tools, ")
    depths = [depth for event, depth in in_order(found.events) if event.kind == "node"]
    assert depths == [0, 1, 0]
    trace = RunView.open(found.made.path).trace(0)
    assert sum("left out" in block.title for block in blocks(trace, 4)) == 4
    assert any("MANN" in block.text for block in blocks(trace, 6))
    assert any("Be brief." in block.text for block in blocks(trace, 1))


def test_an_error_names_the_node_that_dropped_the_answer(play, calls_made):
    code = TWO.replace("passages_of(m)[:1]", "[p for p in passages_of(m) if 'Mann' in p['text']]")
    found = play(code, "first", script=turns(SEARCH, answer("Michael Mann")))
    reader = found.made.open()
    (item,) = reader.answered_items()
    errors = attribute(item, reader.events(item.item, contents=False))
    reader.close()
    (lost,) = errors.missing
    assert (lost.text, lost.lost_at, lost.lost_step) == ("Paul Morrissey", "node", 3)
    assert [(p.step, p.passage, p.shown, p.node) for p in lost.places] == [(2, "p3", False, 3)]
    assert why_missing(lost) == "taken out by a node at step 3 · step 2 [p3]"


def test_resuming_does_not_run_a_node_again(found, calls_made):
    assert calls_made() == 1
    execute(found.made.path, "UPDATE items SET status = 'running', outcome = NULL")
    asked = len(found.server.requests)
    again = resume(found.made.path)
    row, events = outcome(again)
    assert calls_made() == 1
    assert len(found.server.requests) == asked
    assert row.outcome["prediction"] == found.row.outcome["prediction"]
    assert [e.data["replayed"] for e in events if e.kind == "node"] == [True] * 3


@pytest.mark.slow
def test_every_step_of_a_run_with_nodes_can_be_forked(found, calls_made):
    expected = found.row.outcome["prediction"]["answers"]
    for step in range(len(found.events)):
        found.server.play(turns(SEARCH, answer("Michael Mann")))
        path = make_fork(found.made.path, "q0", step, out=found.made.path.parent / f"fork{step}")
        row, events = outcome(run_fork(path))
        assert [event.kind for event in events] == [event.kind for event in found.events]
        assert row.outcome["prediction"]["answers"] == expected == {"default": ["Michael MANN"]}
        assert row.outcome["evidence"] == found.row.outcome["evidence"]
        for kept, own in zip(events[:step], found.events, strict=False):
            if kept.kind == "node":
                assert kept.data["update"] == own.data["update"]


def test_a_run_with_nodes_is_replayed_without_its_server(found, calls_made, tmp_path):
    made_system = System.model_validate(dict(found.made.open().system))
    asked = len(found.server.requests)
    system = made_system.model_copy(update={"model": f"replay:{found.made.path}"})
    questions = str(tmp_path / "questions.jsonl")
    again = run(questions, system, out=tmp_path / "again")
    row, _ = outcome(again)
    assert row.outcome["prediction"]["answers"] == {"default": ["Michael MANN"]}
    assert (calls_made(), len(found.server.requests)) == (2, asked)


def test_tokens_that_a_node_spent_are_counted_again_in_a_fork(play):
    code = '''
@node("before_agent")
async def asks(state: AgentState, run: RunContext):
    """Ask first."""
    await run.ask("You are terse.", "Which Heat?")
'''

    def script(body):
        if body["messages"][0]["content"] == "You are terse.":
            return say("The film.", usage={"prompt_tokens": 70, "completion_tokens": 7})
        return turns(SEARCH, answer("Michael Mann"))(body)

    found = play(code, "asks", script=script)
    last = len(found.events) - 1
    row, _ = outcome(run_fork(make_fork(found.made.path, "q0", last)))
    assert row.outcome["tokens"] == found.row.outcome["tokens"]
    assert row.outcome["usage"]["asks"]["input"] == 70
