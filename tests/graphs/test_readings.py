"""Readings of a question, out of whatever an expander writes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graphs.list_replies import MAX_CHARS, MAX_READINGS, Readings, read_readings

FIRST = "Who directed King Kong (1933 film)?"
SECOND = "Who directed King Kong (1976 film)?"
THIRD = "Who directed King Kong (2005 film)?"


def reasons(found: Readings) -> list[str]:
    return [dropped.why for dropped in found.dropped]


@pytest.mark.parametrize(
    "text",
    [
        f"{FIRST}\n{SECOND}", f"{FIRST}\r\n\r\n  {SECOND}  \n\n", f"- {FIRST}\n- {SECOND}",
        f"* {FIRST}\n• {SECOND}", f"1. {FIRST}\n2. {SECOND}", f"1) {FIRST}\n2) {SECOND}",
        f"(1) {FIRST}\n[2] {SECOND}", f"Reading 1: {FIRST}\nreading 2 – {SECOND}",
        f'"{FIRST}"\n“{SECOND}”', f'1. "{FIRST}"\n2. **{SECOND}**',
        f"```\n{FIRST}\n{SECOND}\n```", f"```text\n- {FIRST}\n- {SECOND}\n```",
        json.dumps([FIRST, SECOND]), json.dumps([FIRST, SECOND], indent=2),
        f"```json\n{json.dumps([FIRST, SECOND], indent=2)}\n```",
        json.dumps({"readings": [FIRST, SECOND]}), f'[\n  "{FIRST}",\n  "{SECOND}",\n]',
    ],
)  # fmt: skip
def test_readings_are_the_same_however_they_are_dressed(text: str) -> None:
    assert read_readings(text) == Readings((FIRST, SECOND))


@pytest.mark.parametrize(
    "text",
    [
        f"Here are the readings:\n{FIRST}\n{SECOND}",
        f"Here are the readings:\n{json.dumps([FIRST, SECOND])}",
        f"**Readings:**\n\n- {FIRST}\n- {SECOND}",
        f"Sure, I can do that.\n{FIRST}\n{SECOND}",
        f"{FIRST}\n{SECOND}\nI hope this helps!",
    ],
)
def test_a_line_that_speaks_of_the_readings_is_none(text: str) -> None:
    found = read_readings(text)
    assert found.kept == (FIRST, SECOND)
    assert reasons(found) == ["not a reading"]


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        # No questions.
        (["Kong (1933 film)", "Kong (1976 film)"], ["Kong (1933 film)", "Kong (1976 film)"]),
        # What steers a terminal is taken out; a title in quotation marks keeps them.
        ([FIRST, "\x1b[31mWho\x07 directed\u202e Heat?\x1b[0m"], [FIRST, "Who directed Heat?"]),
        (['"Heat" or "Ronin"', '"Heat", who?'], ['"Heat" or "Ronin"', '"Heat", who?']),
    ],
)
def test_a_reading_is_kept_as_it_is_written(lines: list[str], kept: list[str]) -> None:
    assert read_readings("\n".join(lines)) == Readings(tuple(kept))


def test_what_is_ruled_out_is_no_reading_and_is_named() -> None:
    found = read_readings(f"{FIRST}\n- {SECOND}\nnot: King Kong (city)\n* Not: King Kong (band)")
    assert found.kept == (FIRST, SECOND)
    assert [(line.text, line.why) for line in found.dropped] == [
        ("King Kong (city)", "cannot be meant"),
        ("King Kong (band)", "cannot be meant"),
    ]
    assert read_readings(f"{FIRST}\nnot: King Kong (city)").kept == ()


def test_a_reading_repeated_in_other_letters_or_signs_is_dropped() -> None:
    found = read_readings(f"{FIRST}\n{SECOND}\nwho directed king kong, 1933 film?\n{FIRST}")
    assert found.kept == (FIRST, SECOND)
    assert reasons(found) == ["repeated", "repeated"]


def test_of_fifty_readings_the_first_fourteen_are_kept() -> None:
    lines = [f"Who directed film number {n}?" for n in range(50)]
    found = read_readings("\n".join(lines))
    assert MAX_READINGS == 14
    assert found.kept == tuple(lines[:14])
    assert reasons(found) == ["too many"] * 36


@pytest.mark.parametrize("text", ["", " \n\n", "```\n```", "[]", "-\n*\n---", "…"])
def test_nothing_is_no_reading(text: str) -> None:
    assert read_readings(text) == Readings()


@pytest.mark.parametrize("text", [FIRST, f"- {FIRST}", f"{FIRST}\n{FIRST.upper()}"])
def test_one_reading_alone_is_no_expansion(text: str) -> None:
    found = read_readings(text)
    assert found.kept == ()
    assert found.dropped[0].text == FIRST
    assert reasons(found)[0] == "no other reading beside it"


def test_a_reading_longer_than_five_hundred_characters_is_dropped_and_shown_cut() -> None:
    endless = "Who directed " + "x" * 1_000_000
    found = read_readings(f"{FIRST}\n{SECOND}\n{endless}\n{THIRD}")
    assert found.kept == (FIRST, SECOND, THIRD)
    (dropped,) = found.dropped
    assert dropped.why == "too long"
    assert len(dropped.text) == 500
    longest = "y" * MAX_CHARS
    assert read_readings(f"{FIRST}\n{longest}\n{SECOND}").kept[1] == longest


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{" * 100_000 + "}" * 100_000, '["a", 1]', '{"a": ["b"], "c": ["d"]}', "[[]]"],
)
def test_json_that_is_no_list_of_texts_is_read_as_lines(text: str) -> None:
    assert read_readings(text).kept == ()


@pytest.mark.slow
def test_a_hundred_thousand_lines_are_counted_and_not_listed() -> None:
    found = read_readings("\n".join(f"reading {n}" for n in range(100_000)))
    assert len(found.kept) == 14
    assert len(found.dropped) == 200 - 14 + 1
    assert found.dropped[-1].text == "(99800 more lines)"


@given(st.text(max_size=300))
def test_any_text_gives_no_reading_or_several_clean_different_ones(text: str) -> None:
    found = read_readings(text)
    assert len(found.kept) != 1
    assert len({reading.casefold() for reading in found.kept}) == len(found.kept) <= 14
    for reading in found.kept:
        assert reading == " ".join(reading.split())
        assert "\x1b" not in reading
        reading.encode()
