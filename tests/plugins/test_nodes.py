"""Plug-ins' nodes: what each slot may change, what goes wrong, and how traces have their steps."""

import asyncio

import pytest

from branchwise import resume, run
from branchwise.base.errors import InputError
from branchwise.eval.errors.attribution import attribute
from branchwise.graphs.agent import Agent
from branchwise.graphs.plugin_nodes import load_node
from branchwise.graphs.system import System
from branchwise.report.terminal.lost_answers import why_missing
from branchwise.runs.forks import make_fork, run_fork
from branchwise.tools.result_text import passages_text
from branchwise.ui.steps.words import describe, label
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import blocks, in_order
from support.chat_server import calls, say
from support.plugins.node_cases import PASSAGES, SEARCH, answer, turns, write_nodes
from support.stores import execute

RERANK = '''
@node("after_tools")
async def rerank(state: AgentState):
    """Keep the first and the last passage, the last one first."""
    changed = []
    for message in state["pending"]:
        found = sorted(passages_of(message), key=lambda p: p["id"])
        changed.append(with_passages(message, [found[-1], found[0]]) if found else message)
    return {"pending": changed}
'''


def shown(*ids):
    return passages_text([{"id": i, "title": PASSAGES[i][0], "text": PASSAGES[i][1]} for i in ids])


def test_a_reranker_changes_what_the_agent_reads(play):
    found = play(RERANK, "rerank")
    assert found.shown == [shown("p5", "p1")]
    (record,) = found.nodes
    assert (record["name"], record["slot"], record["error"]) == ("rerank", "after_tools", None)
    (changed,) = record["update"]["pending"]
    assert [p["id"] for p in changed["artifact"]["passages"]] == ["p5", "p1"]
    assert (changed["of"], changed["content"]) == (0, shown("p5", "p1"))
    # The tool's own event is as it was: five passages were retrieved.
    (tool,) = found.data("tool")
    assert len(tool["artifact"]["passages"]) == 5
    assert sorted(found.row.outcome["evidence"]) == sorted(PASSAGES)


def test_a_node_before_the_agent_changes_the_question_and_the_readings(play):
    code = '''
@node("before_agent")
async def brief(state: AgentState):
    """Say more."""
    *before, user = state["pending"]
    return {"pending": [*before, HumanMessage(user.text + " Be brief.")], "readings": ["a", "b"]}
'''
    found = play(code, "brief")
    sent = found.server.requests[0]["messages"]
    assert sent[-1]["content"].endswith(" Be brief.")
    assert len(sent) == 2
    assert found.nodes[0]["update"]["readings"] == ["a", "b"]


@pytest.mark.slow
def test_a_node_before_the_answer_answers_in_the_agents_place(play):
    code = '''
@node("before_answer")
async def shout(state: AgentState):
    """Another answer."""
    assert "Michael Mann" in state["messages"][-1].text
    words = '{"reasoning": "", "answers": {"default": ["Paul Morrissey"]}}'
    return {"messages": [AIMessage(words)]}
'''
    found = play(code, "shout")
    assert found.answers == ["Paul Morrissey"]
    assert [event.kind for event in found.events][-3:] == ["model", "node", "answer"]


def test_a_repair_is_asked_without_two_messages_of_the_assistant_in_a_row(play):
    code = '''
@node("before_answer")
async def spoil(state: AgentState):
    """Nothing that could be read."""
    return {"messages": [AIMessage("no json")]}
'''
    found = play(code, "spoil", script=turns(SEARCH, answer("x"), answer("Michael Mann")))
    roles = [message["role"] for message in found.server.requests[-1]["messages"]]
    assert roles[-3:] == ["tool", "assistant", "user"]
    assert found.server.requests[-1]["messages"][-2]["content"] == "no json"
    assert found.row.outcome["how"] == "repaired"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slot", "body", "said"),
    [
        ("after_tools", "return 7", "returned a int; return {pending: ...} or None"),
        ("after_tools", "return {'messages': []}", "returned 'messages'; a node after_tools"),
        ("after_tools", "return {'pending': 'x'}", "returned pending as a str; return a list"),
        ("after_tools", "return {'pending': ['x']}",
         "returned a str as pending[0]; return messages"),
        ("after_tools", "return {'pending': [ToolMessage('x', tool_call_id='other')]}",
         "returned other tool messages than it was given"),
        (
            "after_tools",
            "return {'pending': [m.model_copy(update={'artifact': {'passages': [1]}}) "
            "for m in state['pending']]}",
            "its artifact is wrong at passages.0",
        ),
        ("after_tools", "state['pending'].clear()\n    1 / 0",
         "ZeroDivisionError: division by zero"),
        ("after_tools", "await asyncio.Event().wait()", "no result within 0.5 seconds (cancelled)"),
        ("before_agent", "return {'pending': [AIMessage('x')]}",
         "returned pending without a message"),
        ("before_agent",
         "return {'pending': [ToolMessage('x', tool_call_id='1'), HumanMessage('y')]}",
         "returned a ToolMessage as pending[0]"),
        ("before_agent", "return {'readings': 'x'}", "returned readings that are not a list"),
        ("before_agent", "return {'readings': ['x'] * 15}",
         "returned readings that are not at most"),
        ("before_answer", "return {'messages': []}", "returned other messages than one AIMessage"),
    ],
)  # fmt: skip
def test_what_goes_wrong_in_a_node_leaves_the_state_as_it_was(play, slot, body, said):
    seconds = 0.5 if "wait" in body else 60
    code = (
        f'import asyncio\n@node("{slot}", seconds={seconds})\n'
        f'async def bad(state: AgentState):\n    """Wrong."""\n    {body}\n'
    )
    found = play(code, "bad")
    assert found.nodes[0]["error"].startswith(f"bad: {said}")
    assert found.nodes[0]["update"] == {}
    assert found.shown[0].count("[p") == 5
    assert found.answers == ["Michael Mann"]


def test_only_the_changed_results_of_a_turn_are_recorded(play):
    code = '''
@node("after_tools")
async def second(state: AgentState):
    """Change the second result."""
    one, two = state["pending"]
    long = "y" * 10_000_000 + chr(0xd800)
    return {"pending": [one, two.model_copy(update={"content": long, "artifact": None})]}
'''
    two = calls(("local_retriever", {"query": "a"}), ("local_retriever", {"query": "Heat"}))
    found = play(code, "second", script=turns(two, answer("Michael Mann")))
    [changed] = found.nodes[0]["update"]["pending"]
    assert (changed["of"], changed["artifact"]) == (1, {})
    assert found.shown[1] == changed["content"] == "y" * 200_000 + "\n[cut: 10000001 characters]"


def test_a_node_is_given_settings_corpus_and_run(play):
    code = '''
class Limits(BaseModel):
    most: int = 3

@node("after_tools", settings=Limits)
async def cut(state: AgentState, limits: Limits, corpus: Corpus, run: RunContext):
    """Keep the first ones."""
    assert (limits.most, len(corpus), run.item, run.epoch) == (2, 5, "q0", 0)
    assert run.question == "Who directed the film Heat?"
    assert run.seconds_left > 0
    return {"pending": [with_passages(m, passages_of(m)[:limits.most]) for m in state["pending"]]}
'''
    found = play(code, "cut", settings={"cut": {"most": 2}})
    assert found.nodes[0]["error"] is None
    assert found.shown[0].count("[p") == 2


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('@node("after_tool")\nasync def x(state):\n    """X."""', "the slot 'after_tool'"),
        ("@node\nasync def x(state):\n    '''X.'''", 'put `@node("after_tools")` above'),
        (
            '@node("after_tools")\nasync def x(state):\n    """X."""\n    yield {}',
            "the node x is a generator",
        ),
        ('@node("after_tools")\nasync def x(a, b):\n    """X."""', "cannot be called with a state"),
    ],
)
def test_a_wrong_node_is_refused_at_start_up(tmp_path, code, said):
    path = write_nodes(tmp_path, code)
    with pytest.raises(InputError) as caught:
        load_node(f"{path}:x")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_two_nodes_of_one_name_are_refused(tmp_path):
    specs = [f"{write_nodes(tmp_path, RERANK, name)}:rerank" for name in ("a.py", "b.py")]
    with pytest.raises(InputError, match="two nodes are called 'rerank'"):
        Agent(System(nodes=tuple(specs)))


def test_a_nodes_source_and_settings_are_part_of_the_system(tmp_path):
    code = '''
class Limits(BaseModel):
    most: int = 3

@node("after_tools", settings=Limits)
async def cut(state: AgentState, limits: Limits):
    """Keep the first ones."""
'''
    spec = f"{write_nodes(tmp_path, code)}:cut"

    def digest(**changes):
        agent = Agent(System(**changes))
        asyncio.run(agent.aclose())
        return agent.digest

    without, plain = digest(), digest(nodes=(spec,))
    assert digest(nodes=(spec,), settings={"cut": {"most": 3}}) == plain
    others = {digest(nodes=(spec,), settings={"cut": {"most": 4}})}
    write_nodes(tmp_path, code.replace("first ones", "best ones"))
    others.add(digest(nodes=(spec,)))
    (tmp_path / "moved").mkdir()
    moved = f"{write_nodes(tmp_path / 'moved', code)}:cut"
    assert digest(nodes=(moved,)) == plain
    assert len(others | {without, plain}) == 4


def test_with_passages_leaves_what_has_none_alone():
    from langchain_core.messages import AIMessage, ToolMessage

    from branchwise.graphs.plugins.passages import passages_of, with_passages

    failed = ToolMessage("Error: no", tool_call_id="1", artifact={})
    rows = ToolMessage("2 rows", tool_call_id="1", artifact={"rows": {"rows": []}})
    assert with_passages(failed, passages_of(failed)) is failed
    assert with_passages(rows, []) is rows
    one = {"id": "p", "title": "T", "text": "x", "score": 1.0}
    with pytest.raises(ValueError, match="the message shows rows, too"):
        with_passages(rows, [one])
    with pytest.raises(ValueError, match=r"an? AIMessage has no passages"):
        with_passages(AIMessage("x"), [one])
    shown_one = with_passages(failed, [one])
    assert (shown_one.text, shown_one.artifact) == ("[p] T\nx", {"passages": [one]})
    assert with_passages(shown_one, []).text == "No passage matches the query."


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
