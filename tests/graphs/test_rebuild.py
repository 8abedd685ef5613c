"""The state that a trace's first events left, and which events one run of a node wrote."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graphs.flows import Route
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.rebuild import ResumePoint, rebuild
from branchwise.graphs.state import Spent
from branchwise.runs.forks import read_turn, written_turn
from branchwise.trace.conversation import conversation_at, executions, left_before, taken_up_at
from branchwise.trace.events import Event, Model

USAGE = {"input": 10, "output": 1, "cached": 2, "reasoning": 0}
READ = {"error": None, "usage": USAGE, "seconds": 0.5, "replayed": False}


def trace(*steps: tuple[str, dict[str, Any]]) -> list[Event]:
    return [Event(seq, kind, 0.0, data) for seq, (kind, data) in enumerate(steps)]


def start(*ids: str) -> tuple[str, dict[str, Any]]:
    passages = [{"id": id, "title": "t", "text": "x"} for id in ids]
    return "start", {"system": "be good", "content": "who?", "artifact": {"passages": passages}}


def turn(*names: str, **more: Any) -> tuple[str, dict[str, Any]]:
    calls = [{"id": f"c{n}", "name": name, "args": {"query": name}} for n, name in enumerate(names)]
    data = {"text": "", "tool_calls": calls, "invalid_tool_calls": [], "finish": "stop"}
    return "model", {**data, "usage": USAGE, "seconds": 2.0, "replayed": False, **more}


def result(of: int, content: str, *ids: str, **more: Any) -> tuple[str, dict[str, Any]]:
    passages = [{"id": id, "title": "t", "text": "x"} for id in ids]
    data = {"of": of, "content": content, "artifact": {"passages": passages} if ids else {}}
    return "tool", {
        **data,
        "call": {"id": f"c{of}", "name": "a", "args": {}},
        "error": None,
        "failure": None,
        **more,
    }


def way(*, expands: bool = False, extracts: bool = False, has_tools: bool = True) -> Route:
    return Route(expands, extracts, has_tools)


def rebuilt(events: Sequence[Event], route: Route, ledger: Ledger | None = None) -> ResumePoint:
    return rebuild(events, route, lambda e: f"[{' | '.join(e.readings)}]", ledger or Ledger())


NOT_RUN = {"error": "not run: the tool-call budget is spent", "failure": "not_run"}


def test_a_whole_turn_is_shown_in_the_order_of_its_calls() -> None:
    events = trace(
        start("f1"), turn("a", "b", "c"), result(2, "third", **NOT_RUN),
        result(0, "first", "p", "q"), result(1, "second", "p"),
    )  # fmt: skip
    ledger = Ledger()
    entry = rebuilt(events, way(), ledger)
    state = entry.state
    assert entry.node == "agent"
    assert entry.fragments == ("f1",)
    assert [message.text for message in state["messages"]] == ["be good", "who?", ""]
    assert [message.text for message in state["pending"]] == ["first", "second", "third"]
    assert [message.tool_call_id for message in state["pending"]] == ["c0", "c1", "c2"]
    assert state["evidence"] == ["f1", "p", "q", "p"]
    assert state["spent"] == Spent(turns=1, calls=2, tokens=11)
    assert ledger.record() == {"agent": {"calls": 1, **USAGE, "seconds": 2.0}}


def test_results_of_a_turn_that_is_not_whole_are_kept() -> None:
    entry = rebuilt(trace(start(), turn("a", "b"), result(1, "second", "p")), way())
    assert entry.node == "tools"
    assert {of: kept.content for of, kept in entry.state["kept"].items()} == {1: "second"}
    assert entry.state["pending"] == []
    assert entry.state["evidence"] == []
    assert entry.state["spent"] == Spent(turns=1, tokens=11)


def test_expansion_and_extraction_are_what_the_agent_reads() -> None:
    expansion = "expansion", {"readings": ["x?", "y?"], **READ}
    passages = [READ, {**READ, "error": "server: 500", "usage": dict.fromkeys(USAGE, 0)}]
    extraction = "extraction", {"of": 1, "content": "copied", "passages": passages}
    events = trace(
        start(), expansion, turn("a", "b"), result(0, "none"), result(1, "whole", "p", "q"),
        extraction,
    )  # fmt: skip
    modules, ledger = way(expands=True, extracts=True), Ledger()
    assert rebuilt(events[:1], modules).node == "expand"
    assert rebuilt(events[:2], modules).node == "agent"
    assert rebuilt(events[:5], modules).node == "extract"
    entry = rebuilt(events, modules, ledger)
    assert entry.node == "agent"
    assert entry.state["messages"][1].text == "who?\n\n[x? | y?]"
    assert entry.state["readings"] == ("x?", "y?")
    assert [message.text for message in entry.state["pending"]] == ["none", "copied"]
    assert entry.state["spent"] == Spent(turns=1, calls=2, tokens=33)
    counted = {role: usage.calls for role, usage in ledger.roles.items()}
    assert counted == {"expander": 1, "agent": 1, "extractor": 1}


def test_a_note_of_the_budget_ends_the_calls() -> None:
    note = "budget", {"reason": "1 tool calls", "text": "answer now"}
    events = trace(start(), turn("a"), result(0, "r"), note, turn("b"))
    told = rebuilt(events[:4], way())
    assert (told.node, told.state["told"]) == ("agent", True)
    assert [message.text for message in told.state["pending"]] == ["r", "answer now"]
    ended = rebuilt(events, way())
    assert (ended.node, ended.state["told"]) == ("answer", False)
    assert ended.state["messages"][-2].text == "answer now"


def test_omissions_finish_and_direct_answers() -> None:
    trimmed = "context_trimmed", {"omitted": 3, "newly": 3}
    compacted = "compacted", {"results": 4, "newly": 2, "tokens": 9000, "reopens": True}
    events = trace(start(), compacted, trimmed, turn("a", finish="refusal"))
    entry = rebuilt(events, way(has_tools=False))
    assert (entry.state["compacted"], entry.state["reopens"]) == (4, True)
    assert entry.node == "answer"
    assert (entry.state["omitted"], entry.state["finish"]) == (3, "refusal")


def test_events_of_other_kinds_belong_to_what_follows_them() -> None:
    events = trace(
        start(), ("retry", {"role": "agent"}), ("plug_in", {}), turn("a", "b"), result(0, "r"),
        ("plug_in", {}), result(1, "s"), turn(), ("repair", {}), ("retry", {}), turn(role="repair"),
        ("answer", {}), ("plug_in", {}),
    )  # fmt: skip
    found = [(e.node, e.first, e.end) for e in executions(events)]
    assert found == [
        ("start", 0, 1), ("agent", 1, 4), ("tools", 4, 7), ("agent", 7, 8), ("answer", 8, 13)
    ]  # fmt: skip
    starts = [taken_up_at(events, place) for place in range(13)]
    assert starts == [0, 1, 1, 1, 4, 5, 5, 7, 8, 8, 8, 8, 8]


@pytest.mark.parametrize(
    ("steps", "place"),
    [
        ((turn("a"), result(0, "r"), ("retry", {}), ("error", {})), 3),
        ((turn("a", "b"), result(0, "r"), ("error", {})), 2),
        ((turn("a"), result(0, "r"), turn(), ("repair", {}), ("error", {})), 4),
        ((turn(), ("error", {})), 2),
    ],
)
def test_an_error_is_of_the_node_that_failed(steps, place) -> None:
    events = trace(start(), *steps)
    assert taken_up_at(events, len(events) - 1) == place


def test_a_trace_without_a_start_is_refused() -> None:
    with pytest.raises(ValueError, match="begin"):
        rebuilt(trace(("budget", {"text": ""})), way())


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=50)
VALID = st.builds(
    lambda name, args: {"id": "", "name": name, "args": args},
    TEXT.filter(bool),
    st.dictionaries(TEXT, JSON, max_size=3),
)
INVALID = st.builds(
    lambda name, args: {"id": "", "name": name, "args": f"{args}{{"}, st.none() | TEXT, TEXT
)
SAID = TEXT | st.sampled_from(['{"tool_calls": [', '{"text": "a", "tool_calls": []}', '{"a": 1}'])


@pytest.mark.slow
@given(SAID, st.lists(VALID, max_size=3), st.lists(INVALID, max_size=2))
def test_a_turn_that_is_written_and_read_is_the_same(text, valid, invalid) -> None:
    calls = [{**call, "id": f"c{n}"} for n, call in enumerate([*valid, *invalid])]
    data = turn(text=text, tool_calls=calls[: len(valid)], invalid_tool_calls=calls[len(valid) :])[
        1
    ]
    said = Model.read(data)
    assert said.problems == ()
    assert said.record() == data | {"reasoning": ""}
    assert read_turn(said, written_turn(said)) == said


def stage(option: str, *turns: str) -> tuple[str, dict[str, Any]]:
    said = {"system": "be good", "content": "who?", "turns": turns}
    return "stage", {"name": "option", "option": option, **said}


def answer(*texts: str) -> tuple[str, dict[str, Any]]:
    prediction = {"answers": {"default": texts}}
    return "answer", {"how": "repaired", "problem": None, "prediction": prediction}


def stage_end(option: str = "") -> tuple[str, dict[str, Any]]:
    return "stage_end", {"name": "option", "option": option}


def test_a_stage_that_ended_is_as_its_nodes_left_it() -> None:
    ledger = Ledger()
    events = trace(
        stage("a", "which one?", "a"), turn("x"), result(0, "r", "p1"), turn(),
        ("repair", {}), turn(role="repair"), answer("Mann"), stage_end("a"),
    )  # fmt: skip
    ended = rebuilt(events, way(), ledger)
    said = [message.text for message in ended.state["messages"]]
    assert said == ["be good", "who?", "which one?", "a", "", "r", ""]
    assert [m.type for m in ended.state["messages"]][:4] == ["system", "human", "ai", "human"]
    # Three replies of 11 tokens; a repair does not count as a turn.
    assert ended.state["spent"] == Spent(turns=2, calls=1, tokens=33)
    assert ledger.record()["agent"]["calls"] == 3
    assert ended.state["evidence"] == ["p1"]
    assert ended.state["prediction"].answers == {"default": ("Mann",)}
    assert (ended.state["how"], ended.state["problem"]) == ("repaired", None)


def test_of_stages_that_a_failure_cut_off_only_one_is_continued() -> None:
    events = trace(
        start(), stage("a"), turn("x"), ("retry", {}), stage("b"), turn(), answer(), stage_end("b"),
        stage("c"), turn("x", "y"), result(1, "r"), ("error", {}),
    )  # fmt: skip

    def left(place: int) -> list[int]:
        return [event.seq for event in left_before(events, place)]

    # b had ended. Of a, which is the first, the turn is left, of c what came before the step.
    assert left(11) == [0, 4, 5, 6, 7, 1, 2]
    assert left(10) == [0, 4, 5, 6, 7, 8, 9]
    assert left(6) == [0, 4, 5]
    assert left(2) == [0, 1]
    others, own, place = conversation_at(events, 9)
    assert [event.seq for event in others] == [0, 4, 5, 6, 7]
    assert [event.seq for event in own] == [8, 9, 10]
    assert own[place] == events[9]
