"""Events as typed records: written whole, read whatever they hold, passed on untouched."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.runs.store import open_run
from branchwise.trace.artifacts import Artifact
from branchwise.trace.events import KINDS, Event, Model, Node, Tool, Unknown, read_body
from branchwise.trace.parts import Call, ModelQuestion, Update, Usage

KEPT = Path(__file__).parents[1] / "kept" / "files"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
TURN: Mapping[str, Any] = {
    "turn": 1,
    "text": "",
    "tool_calls": [{"id": "c0", "name": "search", "args": {"query": "Heat"}}],
    "invalid_tool_calls": [{"id": None, "name": None, "args": "{"}],
    "reasoning": "",
    "finish": "tool_calls",
    "usage": {"input": 3, "output": 1, "cached": 0, "reasoning": 0},
    "seconds": 0.5,
    "replayed": False,
}


@pytest.mark.parametrize("run", ["none", "both", "nodes", "fork-1"])
def test_events_of_an_earlier_version_are_read_whole_and_written_as_they_were(run: str) -> None:
    reader = open_run(KEPT / run)
    events = [event for row in reader.items() for event in reader.events(row.item)]
    reader.close()
    assert len(events) > 5
    for event in events:
        assert not isinstance(event.body, Unknown), event.kind
        # What a node printed is no longer part of its event; it stays where it was recorded.
        gone = {"printed": ""} if "printed" in event.data else {}
        assert (event.body.problems, event.body.more) == ((), gone)
        assert event.body.record() == event.data
        assert list(event.body.record()) == [*(k for k in event.data if k not in gone), *gone]


def test_a_turn_has_its_calls_in_the_order_in_which_of_counts_them() -> None:
    turn = read_body("model", TURN)
    assert isinstance(turn, Model)
    assert [call.name for call in turn.calls] == ["search", None]
    assert (turn.tokens, turn.step, turn.is_repair) == (4, "agent", False)
    assert turn.changed(role="repair").step == "answer"


def test_what_is_missing_or_of_another_type_is_empty_and_named() -> None:
    body = read_body("model", {**TURN, "text": 7, "tool_calls": [3, {"id": 4}], "seconds": "1"})
    assert isinstance(body, Model)
    assert body.problems == ("text", "tool_calls", "seconds")
    assert (body.text, body.tool_calls, body.seconds) == ("", (Call(None),), 0.0)
    assert read_body("tool", None).problems == ("call", "of", "content", "artifact", "error")


def test_fields_and_kinds_of_a_newer_version_pass_through() -> None:
    data = {**TURN, "logprobs": [1], "usage": {**TURN["usage"], "audio": 2}}
    body = read_body("model", data)
    assert (body.problems, body.more) == ((), {"logprobs": [1]})
    assert body.record() == data
    assert body.changed(text="x").record() == {**data, "text": "x"}
    unknown = read_body("handover", {"to": "b", "error": "no"})
    assert isinstance(unknown, Unknown)
    assert unknown.record() == {"to": "b", "error": "no"}
    assert (unknown.failed, unknown.step) == (True, None)


def test_what_was_done_is_told_without_time_cost_and_the_ids_of_calls() -> None:
    other = {**TURN, "usage": {"input": 9, "output": 9}, "seconds": 9.0, "replayed": True}
    other["tool_calls"] = [{**TURN["tool_calls"][0], "id": "other"}]
    turn, changed = read_body("model", TURN), read_body("model", {**TURN, "text": "x"})
    assert turn.without_around() == read_body("model", other).without_around()
    assert turn.without_around() != changed.without_around()


def test_optional_fields_are_written_where_they_say_something() -> None:
    asked = ModelQuestion("s", "m", content="c", usage=Usage(1, 2), seconds=0.1)
    node = Node(name="n", slot="after_tools", asked=(asked,), update=Update(readings=("a",)))
    assert node.record() == {
        "name": "n", "slot": "after_tools", "seconds": 0.0, "replayed": False,
        "asked": [{
            "system": "s", "message": "m", "content": "c", "seconds": 0.1,
            "usage": {"input": 1, "output": 2, "cached": 0, "reasoning": 0},
        }],
        "error": None, "update": {"readings": ["a"]},
    }  # fmt: skip
    assert read_body("node", node.record()) == node


@pytest.mark.slow
@given(st.sampled_from([*KINDS, "other"]), JSON)
def test_nothing_is_raised_whatever_an_event_holds(kind: str, data: Any) -> None:
    body = Event(0, kind, 0.0, data).body
    read = [body.record(), body.without_around(), body.failed, body.tokens, body.step]
    json.dumps(read, default=dict)


@pytest.mark.slow
@given(st.sampled_from([*KINDS]), st.data())
def test_fields_of_any_form_are_read_and_the_rest_is_kept(kind: str, data: st.DataObject) -> None:
    names = [*read_body(kind, {}).record(), "edited", "of", "usage", "unheard of"]
    drawn = data.draw(st.dictionaries(st.sampled_from(names), JSON))
    body = read_body(kind, drawn)
    known = KINDS[kind].__dataclass_fields__
    assert dict(body.more) == {key: value for key, value in drawn.items() if key not in known}
    if not body.problems:
        assert {key: body.record().get(key, value) for key, value in drawn.items()} == drawn


@pytest.mark.slow
@given(JSON)
def test_an_artifact_of_any_form_is_read(value: Any) -> None:
    found = Artifact({"passages": value, "rows": value, "matches": value, "x": value})
    assert found.more == {"x": value}
    for passage in found.passages:
        assert isinstance(f"{passage.id}{passage.title}{passage.text}", str)
    for match in found.matches or ():
        assert isinstance(f"{match.id}{match.types}{match.near}", str)
    assert found.rows is not None
    assert len(list(found.rows.cells())) <= len(found.rows)


def test_a_text_that_is_none_is_told_from_one_that_is_empty() -> None:
    tool = Tool.read({"call": {"id": "c", "name": "n"}, "of": 0, "content": "", "artifact": {
        "passages": [{"id": "p", "title": 3, "text": "t", "score": 0.5, "url": "u"}]
    }, "error": None})  # fmt: skip
    (passage,) = tool.found.passages
    assert (passage.id, passage.title, passage.text, passage.score) == ("p", "", "t", 0.5)
    assert passage.more == {"title": 3, "url": "u"}
