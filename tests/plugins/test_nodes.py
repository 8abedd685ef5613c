"""Plug-ins' nodes: what each slot gets and may change, and what a node that goes wrong does."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from branchwise.corpora.errors import InputError
from branchwise.eval.store.connection import DATABASE
from branchwise.graphs.agent import Agent
from branchwise.graphs.plugin_nodes import load_node
from branchwise.graphs.system import Budget, System
from branchwise.tools.passage_blocks import passages_text
from support.chat_server import call, calls, say
from support.plugins.node_cases import (
    PASSAGES,
    SEARCH,
    answer,
    turns,
    write_nodes,
)

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


def test_passages_of_a_node_are_stored_once(play):
    found = play(RERANK, "rerank")
    with closing(sqlite3.connect(found.made.path / DATABASE)) as connection:
        bodies = [body for (body,) in connection.execute("SELECT body FROM events")]
    assert not any(PASSAGES["p5"][1].encode() in body for body in bodies)


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


def test_a_nodes_answer_is_read_where_the_model_refused(play):
    code = '''
@node("before_answer")
async def insist(state: AgentState):
    """An answer all the same."""
    return {"messages": [AIMessage('{"reasoning": "", "answers": {"default": ["Mann"]}}')]}
'''
    found = play(code, "insist", script=turns(SEARCH, say("", refusal="I cannot")))
    assert found.answers == ["Mann"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 7", "bad: returned a int; return {pending: ...} or None"),
        ("return {'messages': []}", "bad: returned 'messages'; a node after_tools returns pending"),
        ("return {'pending': 'x'}", "bad: returned pending as a str; return a list of messages"),
        ("return {'pending': ['x']}", "bad: returned a str as pending[0]; return messages"),
        ("return {'pending': []}", "bad: returned other tool messages than it was given"),
        (
            "return {'pending': [ToolMessage('x', tool_call_id='other')]}",
            "bad: returned other tool messages than it was given",
        ),
        (
            "return {'pending': [m.model_copy(update={'artifact': {'passages': [1]}}) "
            "for m in state['pending']]}",
            "bad: its artifact is wrong at passages.0",
        ),
        (
            "return {'pending': [m.model_copy(update={'artifact': {'x': object()}}) "
            "for m in state['pending']]}",
            "bad: it returned an artifact that JSON cannot hold",
        ),
    ],
)
def test_what_a_node_returns_wrong_leaves_the_state_as_it_was(play, body, said):
    code = f'@node("after_tools")\ndef bad(state: AgentState):\n    """Wrong."""\n    {body}\n'
    found = play(code, "bad")
    assert found.nodes[0]["error"].startswith(said)
    assert found.nodes[0]["update"] == {}
    assert found.shown[0].count("[p") == 5
    assert found.row.status == "done"


@pytest.mark.parametrize(
    ("slot", "body", "said"),
    [
        ("before_agent", "{'pending': []}", "returned pending without a message of the user"),
        ("before_agent", "{'pending': [AIMessage('x')]}", "returned pending without a message of"),
        (
            "before_agent",
            "{'pending': [ToolMessage('x', tool_call_id='1'), HumanMessage('y')]}",
            "returned a ToolMessage as pending[0]",
        ),
        ("before_agent", "{'readings': 'x'}", "returned readings that are not a list of texts"),
        ("before_agent", "{'readings': ['x'] * 15}", "returned readings that are not at most 14"),
        ("before_answer", "{'messages': [HumanMessage('x')]}", "returned other messages than one"),
        ("before_answer", "{'messages': []}", "returned other messages than one AIMessage"),
        ("before_answer", "{'pending': []}", "returned 'pending'; a node before_answer returns"),
    ],
)
def test_each_slot_says_what_it_takes(play, slot, body, said):
    code = (
        f'@node("{slot}")\nasync def bad(state: AgentState):\n    """Wrong."""\n    return {body}\n'
    )
    found = play(code, "bad")
    assert found.nodes[0]["error"].startswith(f"bad: {said}")
    assert found.answers == ["Michael Mann"]


def test_texts_of_a_node_are_bounded(play):
    code = '''
@node("after_tools")
async def long(state: AgentState):
    """Ten million characters, and half of one."""
    return {"pending": [m.model_copy(update={"content": "y" * 10_000_000 + chr(0xd800)})
                        for m in state["pending"]]}
'''
    found = play(code, "long")
    assert len(found.shown[0]) < 200_100
    assert found.shown[0].endswith("[cut: 10000001 characters]")


def test_only_the_changed_results_of_a_turn_are_recorded(play):
    code = '''
@node("after_tools")
async def second(state: AgentState):
    """Change the second result."""
    one, two = state["pending"]
    return {"pending": [one, two.model_copy(update={"content": "nothing", "artifact": None})]}
'''
    two = calls(("local_retriever", {"query": "a"}), ("local_retriever", {"query": "Heat"}))
    found = play(code, "second", script=turns(two, answer("Michael Mann")))
    assert found.nodes[0]["update"]["pending"] == [{"of": 1, "content": "nothing", "artifact": {}}]
    assert found.shown[1] == "nothing"


def test_passages_that_a_node_brings_are_evidence(play):
    code = '''
@node("after_tools")
async def adds(state: AgentState):
    """One passage more."""
    more = {"id": "n1", "title": "New", "text": "Heat was shot by Dante Spinotti.", "score": 1.0}
    return {"pending": [with_passages(m, [*passages_of(m), more]) for m in state["pending"]]}
'''
    found = play(code, "adds")
    assert found.row.outcome["evidence"][-1] == "n1"
    assert "Dante Spinotti" in found.shown[0]


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


def test_what_a_node_asks_the_model_is_recorded_and_counted(play):
    code = '''
@node("before_agent")
async def asks(state: AgentState, run: RunContext):
    """Ask first."""
    said = await run.ask("You are terse.", "Which Heat?")
    *before, user = state["pending"]
    return {"pending": [*before, HumanMessage(user.text + " " + said)]}
'''

    def script(body):
        if body["messages"][0]["content"] == "You are terse.":
            return say("The film.", usage={"prompt_tokens": 70, "completion_tokens": 7})
        return turns(SEARCH, answer("Michael Mann"))(body)

    found = play(code, "asks", script=script)
    assert found.server.requests[1]["messages"][-1]["content"].endswith(" The film.")
    (asked,) = found.nodes[0]["asked"]
    assert (asked["content"], asked["usage"]["input"]) == ("The film.", 70)


def test_extraction_reads_what_a_node_left(play, chat_server):
    from support.by_role import by_role, passage_of, turn_of

    seen = []

    def extractor(body):
        seen.append(passage_of(body)[0])
        return say("NONE")

    script = by_role(
        extractor=extractor,
        agent=lambda body: SEARCH if turn_of(body) == 0 else answer("Michael Mann"),
    )
    play(RERANK, "rerank", script=script, extract=True, extract_by="passage")
    assert sorted(seen) == sorted([PASSAGES["p5"][0], PASSAGES["p1"][0]])


def test_nodes_run_once_a_turn_and_the_graph_has_steps_enough(play):
    budget = Budget(turns=6)
    script = turns(*[call("local_retriever", query=f"Heat {n}") for n in range(9)])
    found = play(RERANK, "rerank", budget=budget, script=script)
    assert len(found.nodes) == 5
    assert found.row.status == "done"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('@node("after_tool")\nasync def x(state):\n    """X."""', "the slot 'after_tool'"),
        ("@node\nasync def x(state):\n    '''X.'''", "the node 'x' names no slot"),
        (
            '@node("after_tools")\nasync def x(state):\n    """X."""\n    yield {}',
            "the node x is a generator",
        ),
        ('@node("after_tools")\nasync def x():\n    """X."""', "cannot be called with a state"),
        ('@node("after_tools")\nasync def x(a, b):\n    """X."""', "cannot be called with a state"),
        ('@node("after_tools")\nasync def x(*a):\n    """X."""', "cannot be called with a state"),
        (
            '@node("after_tools", seconds=0)\nasync def x(s):\n    """X."""',
            "@node: seconds is 0, which is not a positive number",
        ),
        (
            '@node("after_tools", name="a b")\nasync def x(s):\n    """X."""',
            "'a b' cannot be the name of a node",
        ),
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
    write_nodes(tmp_path, code + "# another\n")
    others.add(digest(nodes=(spec,)))
    (tmp_path / "moved").mkdir()
    moved = f"{write_nodes(tmp_path / 'moved', code)}:cut"
    assert digest(nodes=(moved,)) == plain
    assert len(others | {without, plain}) == 4


def test_settings_of_a_plugin_that_is_not_there_are_refused(play):
    with pytest.raises(InputError, match=r"no plug-in is called 'rernk'.*did you mean rerank"):
        play(RERANK, "rerank", settings={"rernk": {"most": 2}})


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
