"""Text from outside: what UTF-8 cannot hold, what a terminal would obey, what has no end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import did_you_mean, nearest
from branchwise.base.text import (
    cut,
    encodable,
    one_line,
    printable,
    storable,
    unbroken,
    whole_characters,
)

ANY = st.text(st.characters())
"""Every code point, half characters too."""


@pytest.mark.parametrize(
    ("text", "whole", "encoded"),
    [
        ("plain", "plain", "plain"),
        ("\ud83e\udd8d", "\U0001f98d", "??"),
        ("a \ud800 b", "a \ufffd b", "a ? b"),
        ("\udc00\ud800", "\ufffd\ufffd", "??"),
        ("é", "é", "é"),
    ],
)
def test_half_characters_are_joined_or_replaced(text: str, whole: str, encoded: str) -> None:
    assert whole_characters(text) == whole
    assert encodable(text) == encoded


@given(ANY)
def test_every_text_becomes_one_that_utf_8_can_hold(text: str) -> None:
    has_halves = any("\ud800" <= character <= "\udfff" for character in text)
    for made in (whole_characters(text), encodable(text), storable(text)):
        assert made.encode().decode() == made
        assert has_halves or made == text


def test_what_is_stored_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "abcdefgh-1234")
    assert storable("Bearer abcdefgh-1234 \ud800") == "Bearer *** \ufffd"


@given(ANY)
def test_a_line_has_no_break_and_a_printable_text_nothing_to_obey(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert printable(text, "?").isprintable()
    assert len(printable(text)) == len(text)
    assert len(unbroken(text).splitlines()) <= 1


def test_a_printable_text_keeps_its_spaces_where_only_breaks_must_go() -> None:
    assert (unbroken("a  b"), unbroken("a  b\nc"), one_line("a  b")) == ("a  b", "a b c", "a b")
    assert printable("a\x1b[31m\u202e", " ") == "a [31m "


@given(st.text(max_size=20), st.integers(1, 20))
def test_a_text_is_cut_to_its_limit(text: str, most: int) -> None:
    assert cut(text, most) == (text if len(text) <= most else f"{text[: most - 1]}…")


def test_the_nearest_name_is_found_in_any_case() -> None:
    known = ["Retriever", "matcher", "match"]
    assert nearest("retreiver", known) == ["Retriever"]
    assert nearest("matchr", known, most=2) == ["matcher", "match"]
    assert did_you_mean("MATCHR", known) == "did you mean matcher?"
    assert did_you_mean("matchr", known, most=2) == "did you mean matcher or match?"
    assert did_you_mean("zzz", known) == "known are Retriever, matcher, match"
    assert did_you_mean("zzz", known, else_="remove it") == "remove it"


def test_the_beginning_of_one_name_stands_for_it() -> None:
    known = ["temperature", "top_p", "top_k", "seed"]
    assert did_you_mean("Temp", known) == "did you mean temperature?"
    for name in ("top", "te", ""):  # two begin so; too short
        assert did_you_mean(name, known, cutoff=0.9, else_="none") == "none"
