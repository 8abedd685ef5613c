"""Nodes after an answer: what they are given, how they send the agent back, and how often."""

import pytest

from branchwise import resume
from branchwise.runs.forks import make_fork, run_fork
from branchwise.runs.store import open_run
from branchwise.ui.steps.words import describe
from support.by_role import by_role
from support.chat_server import say
from support.plugins.node_cases import SEARCH, answer, turns

FIRST = '''
@node("after_answer")
async def again(state: AgentState):
    """Ask for the other film, once."""
    assert state["messages"][-1].type == "ai"
    if "Paul Morrissey" not in state["answers"]["default"]:
        return {"pending": [HumanMessage(f"You said {state['answers']}. And 1972?")]}
'''
SENT_BACK = turns(SEARCH, answer("Michael Mann"), SEARCH, answer("Michael Mann", "Paul Morrissey"))
STEPS = "start model tool model answer node model tool model answer node"


def kinds(events):
    return " ".join(event.kind for event in events)


def test_a_node_after_the_answer_sends_the_agent_back(play):
    found = play(FIRST, "again", script=SENT_BACK)
    assert kinds(found.events) == STEPS
    assert found.answers == ["Michael Mann", "Paul Morrissey"]
    told = found.server.requests[2]["messages"]
    assert [m["role"] for m in told[-2:]] == ["assistant", "user"]
    assert told[-1]["content"] == "You said {'default': ['Michael Mann']}. And 1972?"
    first, second = found.nodes
    assert (first["slot"], len(first["update"]["pending"])) == ("after_answer", 1)
    assert second["update"] == {}
    assert "sent back" in describe(found.events[5])[0]


def test_it_comes_before_the_check_and_nodes_in_their_order(play):
    code = (
        FIRST
        + '''
@node("after_answer")
async def other(state: AgentState):
    """Nothing."""
'''
    )
    script = by_role(agent=SENT_BACK, checker=say("COMPLETE"))
    found = play(code, "again", "other", script=script, check=1)
    assert kinds(found.events) == f"{STEPS} node check"
    assert [node["name"] for node in found.nodes] == ["again", "again", "other"]


def test_an_answer_put_in_the_agents_place_is_the_one_that_it_sees(play):
    code = (
        FIRST
        + '''
@node("before_answer")
async def short(state: AgentState):
    """Another form of the answer."""
    return {"messages": [AIMessage(state["messages"][-1].text.replace(" ", ""))]}
'''
    )
    replies = by_role(agent=turns(SEARCH, answer("Michael Mann"), answer("Paul Morrissey")))
    found = play(code, "again", "short", script=replies)
    roles = [m["role"] for m in found.server.requests[2]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "MichaelMann" in found.server.requests[2]["messages"][4]["content"]


@pytest.mark.parametrize(("turn_limit", "answers"), [(2, 1), (3, 2), (5, 4)])
def test_turns_bound_how_often_a_node_sends_the_agent_back(play, turn_limit, answers):
    code = FIRST.replace("if ", "if True or ")
    found = play(code, "again", script=turns(answer("x")), budget={"turns": turn_limit})
    assert len(found.data("answer")) == answers
    assert len(found.nodes) == answers - 1
    assert found.row.status == "done"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {'pending': []}", "returned pending without a message of the user at its end"),
        ("return {'pending': [AIMessage('x')]}", "returned pending without a message of the user"),
        ("return {'pending': [SystemMessage('x'), HumanMessage('y')]}",
         "returned a SystemMessage as pending[0]; the agent has one"),
        ("return {'messages': []}", "returned 'messages'; a node after_answer returns pending"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)  # fmt: skip
def test_what_goes_wrong_lets_the_answer_stand(play, body, said):
    code = (
        f'@node("after_answer")\nasync def bad(state: AgentState):\n    """Wrong."""\n    {body}\n'
    )
    found = play(code, "bad")
    assert found.nodes[0]["error"].startswith(f"bad: {said}")
    assert found.answers == ["Michael Mann"]


@pytest.mark.slow
def test_forks_and_resumption_go_the_same_way(play, tmp_path):
    found = play(FIRST, "again", script=SENT_BACK)
    path = found.made.path
    for event in found.events:
        made = make_fork(path, "q0", event.seq, out=tmp_path / f"fork-{event.seq}")
        run_fork(made)
        reader = open_run(made)
        (row,) = reader.items()
        assert kinds(reader.events(row.item)) == STEPS, event.seq
        assert row.outcome["prediction"] == found.row.outcome["prediction"]
        reader.close()
    sent = len(found.server.requests)
    resume(path)
    assert len(found.server.requests) == sent
