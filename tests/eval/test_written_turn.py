"""A model turn as a text: plain, or JSON with calls; what is meant as JSON is never a reply."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.runs.forks import edited, read_turn, written_turn
from branchwise.trace.events import Event, Model
from branchwise.trace.parts import Usage

TURN = Model(
    text="old", tool_calls=(), invalid_tool_calls=(), finish="stop", usage=Usage(1, 1), seconds=0.1
)
CALL = {"name": "local_retriever", "args": {"query": "Heat"}}


@pytest.mark.parametrize(
    "text",
    [
        '{"text": "Al Pacino', '{ "text": "Al Pacino"]}', '\n{"tool_calls": [',
        '{"tool_calls": {}}', '{"text": 3}', '{"text": "x", "tool_calls": [], "answers": {}}',
    ],
)  # fmt: skip
def test_a_form_that_is_broken_is_refused_on_one_line(text: str) -> None:
    with pytest.raises(InputError, match="the text for step 7") as raised:
        edited(Event(7, "model", 0.0, TURN.record()), text)
    assert "\n" not in str(raised.value)
    assert 'write {"text"' in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "plain", "{curly} words", '{"answers": {"default": ["Al Pacino"]}}',
        '{"reasoning": "x", "answers": {"default": ["Al',
        '{"text": "x", "answers": {"default": []}}', "{}", '["text"]',
    ],
)  # fmt: skip
def test_whatever_else_begins_with_a_bracket_is_the_reply(text: str) -> None:
    assert read_turn(TURN, text).text == text


def test_either_key_may_stand_alone() -> None:
    said = read_turn(TURN, '{"text": "Al Pacino"}')
    assert (said.text, said.tool_calls, said.finish) == ("Al Pacino", (), "stop")
    called = read_turn(TURN, json.dumps({"tool_calls": [CALL]}))
    assert called.text == ""
    assert [call.name for call in called.tool_calls] == ["local_retriever"]
    assert called.finish == "tool_calls"


@given(
    st.one_of(
        st.text(),
        st.text().map(lambda text: '{"text": ' + text),
        st.text().map(lambda text: json.dumps({"text": text})),
        st.text().map(lambda text: json.dumps({"text": text, "answers": {}})),
    )
)
def test_what_is_written_is_read_back(text: str) -> None:
    turn = TURN.changed(text=text)
    assert read_turn(turn, written_turn(turn)) == turn
