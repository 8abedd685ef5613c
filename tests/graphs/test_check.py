"""A check of the answer: replies of reviewers, what they are asked, the way back, and forks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.graphs.agent import Agent
from branchwise.graphs.check_node import checker_message, plain_answer
from branchwise.graphs.flows import END, Route
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.list_replies import UNREAD, read_missing
from branchwise.graphs.rebuild import rebuild
from branchwise.graphs.state import AgentState, Spent
from branchwise.graphs.system import Roles, System
from branchwise.runs.forks import editable, edited
from branchwise.trace.events import Event

ONE, TWO = "the 1986 film", "who wrote the score"


@pytest.mark.parametrize(
    "text",
    ["COMPLETE", "complete.", "**COMPLETE**", "```\nCOMPLETE\n```", '["COMPLETE"]',
     "Both films are there.\nCOMPLETE", "COMPLETE\nNothing is MISSING: all readings are there."],
)  # fmt: skip
def test_an_answer_is_complete(text: str) -> None:
    read = read_missing(text)
    assert read is not None
    assert read.kept == ()


@pytest.mark.parametrize(
    "text",
    [
        f"MISSING: {ONE}\nMISSING: {TWO}",
        f"- **Missing** - {ONE}\n".replace("*", "") + f"- missing: {TWO}",
        f"Here is what I think.\n\nMISSING: {ONE}\nMISSING: {TWO}\nI hope this helps.",
        f"MISSING:\n{ONE}\n{TWO}",
        f"MISSING:\n- {ONE}\n- {TWO}",
        f"It lacks something:\n1. {ONE}\n2. {TWO}",
        f'["{ONE}", "{TWO}"]',
        f'{{"missing": ["{ONE}", "{TWO}"]}}',
        f"\x1b[2JMISSING: {ONE}\nMISSING: {TWO}\nMISSING: {TWO.upper()}",
    ],
)
def test_what_is_missing_is_read_in_any_dress(text: str) -> None:
    read = read_missing(text)
    assert read is not None
    assert read.kept == (ONE, TWO)


@pytest.mark.parametrize(
    "text", ["", "  ", "I cannot say.", "MISSING:", "[]", "---", "It is incomplete."]
)
def test_a_reply_that_says_neither_is_not_read(text: str) -> None:
    assert read_missing(text) is None


def test_a_long_list_is_bounded() -> None:
    read = read_missing(
        "\n".join(["MISSING: " + "x" * 501, *(f"MISSING: thing {n}" for n in range(25))])
    )
    assert read is not None
    assert read.kept == tuple(f"thing {n}" for n in range(20))
    assert [one.why for one in read.dropped] == ["too long", *["too many"] * 5]


@given(st.text())
def test_reading_a_reply_never_raises(text: str) -> None:
    read = read_missing(text)
    assert read is None or len(read.kept) <= 20


def found(*titles: str) -> ToolMessage:
    passages = [{"id": title, "title": title, "text": "x"} for title in titles]
    return ToolMessage("shown", tool_call_id="c", artifact={"passages": passages})


def asking(**args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "local_retriever", "args": args, "id": "c"}])


def message(*messages: Any, given: tuple[str, ...] = ()) -> str:
    prediction = Prediction(answers={"Heat (1995 film)": ("Michael Mann",)})
    state = AgentState(messages=list(messages), given=given, prediction=prediction)
    return checker_message("Who directed Heat?", state)


def test_a_reviewer_sees_question_answer_searches_and_titles_each_once() -> None:
    shown = message(
        HumanMessage("Who directed Heat?"),
        asking(query="Heat"), found("Heat (1995 film)", "Heat\nWave"),
        asking(query="Heat 1986", k=3), found("Heat (1995 film)", "Heat (book)"),
        given=("Given",),
    )  # fmt: skip
    assert shown == (
        "Question: Who directed Heat?\n\n"
        'Answer: {"Heat (1995 film)":["Michael Mann"]}\n\n'
        "Searched for:\n"
        '- local_retriever {"query":"Heat"}\n- local_retriever {"query":"Heat 1986","k":3}\n\n'
        "Titles of the passages that were found:\n"
        "- Given\n- Heat (1995 film)\n- Heat Wave\n- Heat (book)"
    )


def test_what_a_reviewer_sees_is_bounded() -> None:
    shown = message(
        *(asking(query=f"q{n}") for n in range(101)),
        found(*(f"t{n}" for n in range(302)), "y" * 400),
    )
    _, _, searches, titles = shown.split("\n\n")
    assert searches.splitlines()[1:3] == [f'- local_retriever {{"query":"q{n}"}}' for n in (1, 2)]
    assert searches.endswith("\n(and 1 earlier)")
    assert titles.splitlines()[1] == "- t0"
    assert titles.endswith("- t299\n(and 3 more)")
    assert len(shown) < 10_000
    assert "(nothing)" in message()


def test_an_answer_is_plain_json() -> None:
    assert plain_answer(Prediction(answers={"a": ("b", "c")})) == {"a": ["b", "c"]}
    assert plain_answer(Prediction(task_output=["x"])) == ["x"]


def test_the_way_behind_an_answer() -> None:
    nodes = {"after_answer": ["one", "two"]}
    assert Route(False, False, True).into("after_answer") == END
    assert Route(False, False, True, checks=True).into("after_answer") == "check"
    both = Route(False, False, True, nodes, checks=True)  # type: ignore[arg-type]
    assert both.into("after_answer") == "node_one"
    assert both.into("after_answer", ["one"]) == "node_two"
    assert both.into("after_answer", ["one", "two"]) == "check"


def test_the_check_is_in_the_identity_only_where_it_is_on() -> None:
    off, on = Agent(System()), Agent(System(check=2))
    assert off.identity.keys().isdisjoint({"check", "checker"})
    assert on.identity["check"] == 2
    assert on.identity["checker"] == on.identity["model"]
    assert off.identity["prompts"] != on.identity["prompts"]
    cold = Agent(System(check=2, role_decoding={"checker": {"temperature": 0.5}}))
    assert cold.identity["checker"] != on.identity["checker"]
    assert cold.identity["model"] == on.identity["model"]


def test_a_checker_without_a_key_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        Agent(System(check=1, roles=Roles(checker="openai:gpt-6-luna")))
    assert "--checker" in str(caught.value)
    Agent(System(roles=Roles(checker="openai:gpt-6-luna")))


USAGE = {"input": 10, "output": 1, "cached": 0, "reasoning": 0}
CALL = {"usage": USAGE, "seconds": 1.0, "replayed": False, "error": None}
START = (
    "start",
    {"system": "s", "content": "who?", "artifact": {"passages": [{"id": "p", "title": "T"}]}},
)
TURN = "model", {"text": "a", "tool_calls": [], "invalid_tool_calls": [], "finish": "stop", **CALL}
REPAIR = "model", {**TURN[1], "role": "repair"}


def read(*texts: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "answer", {"how": "strict", "prediction": {"answers": {"default": list(texts)}}, **more}


def check(*missing: str, **more: Any) -> tuple[str, dict[str, Any]]:
    content = f"look: {', '.join(missing)}" if missing else ""
    how = "missing" if missing else "complete"
    return "check", {"how": how, "missing": list(missing), "content": content, **CALL, **more}


def events(*steps: tuple[str, dict[str, Any]]) -> list[Event]:
    return [Event(seq, kind, 0.0, data) for seq, (kind, data) in enumerate(steps)]


def test_a_fork_behind_an_answer_or_a_check_has_the_run_s_state() -> None:
    steps = events(START, TURN, REPAIR, read("x"), check("y", "z"), TURN)
    ledger, route = Ledger(), Route(False, False, True, checks=True)
    answered = rebuild(steps[:4], route, lambda _: "", Ledger())
    assert (answered.node, answered.state["prediction"].answers) == ("check", {"default": ("x",)})
    assert answered.state["given"] == ["T"]
    assert answered.state["spent"] == Spent(turns=1, tokens=22)
    back = rebuild(steps[:5], route, lambda _: "", ledger)
    assert (back.node, back.state["checks"], back.state["how"]) == ("agent", 1, "strict")
    assert [one.text for one in back.state["pending"]] == ["look: y, z"]
    assert {role: usage.calls for role, usage in ledger.roles.items()} == {"agent": 2, "checker": 1}
    again = rebuild(steps, route, lambda _: "", Ledger())
    assert again.node == "answer"
    assert [one.text for one in again.state["messages"]] == ["s", "who?", "a", "look: y, z", "a"]
    assert again.state["spent"] == Spent(turns=2, tokens=44)


def test_a_reply_that_could_not_be_read_was_paid_for() -> None:
    for error, calls in ((UNREAD, 1), ("server: 500", 0)):
        ledger = Ledger()
        steps = events(START, TURN, read("x"), check(how="failed", error=error))
        rebuild(steps, Route(False, False, True, checks=True), lambda _: "", ledger)
        assert ledger.record().get("checker", {"calls": 0})["calls"] == calls


def test_what_the_agent_is_told_can_be_edited_also_where_nothing_was_missing() -> None:
    for step in events(check("y"), check()):
        assert editable(step) == f"{step.body.content}\n"  # type: ignore[attr-defined]
        body = edited(step, "look for z\n").body
        assert (body.content, body.edited) == ("look for z", True)  # type: ignore[attr-defined]
        with pytest.raises(InputError, match="the agent would be told nothing"):
            edited(step, " \n") if step.body.content else edited(step, "  ")  # type: ignore[attr-defined]
