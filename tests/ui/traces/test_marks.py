"""Marks are places in the text as it is given."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.report.terminal.blocks import Mark, harmless
from branchwise.report.terminal.marks import (
    MAX_COLOURED,
    MAX_MARKED,
    json_marks,
    spans_in,
    sparql_marks,
)

WORDS = st.lists(st.text("ab é", min_size=1).filter(str.strip), min_size=1, max_size=8)


def texts(text: str, marks: list[Mark], kind: str) -> list[str]:
    return [text[mark.start : mark.end] for mark in marks if mark.kind == kind]


def test_a_span_is_found_across_the_white_space_that_an_extractor_does_not_see():
    text = "\n One  two\tthree.\n\nFour five. One two"
    marks = spans_in(text, ["two three. Four", "One two", "not there", ""])
    assert texts(text, marks, "span") == ["two\tthree.\n\nFour", "One two"]
    assert marks[1].start == text.rindex("One")


def test_a_span_that_is_longer_than_what_is_looked_at_is_marked_as_far_as_that():
    text = "word  " * MAX_MARKED
    (mark,) = spans_in(text, [" ".join(text.split())])
    assert (mark.start, mark.end) == (0, MAX_MARKED)


@pytest.mark.slow
@given(st.data(), WORDS, st.sampled_from([" ", "\n", " \t ", "\u2003\n"]))
def test_any_run_of_words_is_found_where_it_stands(data, words, space):
    words = " ".join(words).split()
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    text = space.join(words)
    (mark,) = spans_in(text, [" ".join(words[first : last + 1])])
    assert text[mark.start : mark.end].split() == words[first : last + 1]


def test_json_is_coloured_by_what_its_parts_are():
    text = json.dumps({"a": "x", "b": [1, -2500.0, True, None]}, indent=2)
    marks = json_marks(text)
    assert texts(text, marks, "key") == ['"a"', '"b"']
    assert texts(text, marks, "string") == ['"x"']
    assert texts(text, marks, "number") == ["1", "-2500.0"]
    assert texts(text, marks, "word") == ["true", "null"]


def test_sparql_is_coloured_by_what_its_parts_are():
    text = 'SELECT ?x { ?x wdt:P31 wd:Q5 ; rdfs:label "Ann"@en . FILTER(?y > 3) } # all'
    marks = sparql_marks(text)
    assert texts(text, marks, "word") == ["SELECT", "FILTER"]
    assert "?x" in texts(text, marks, "key")
    assert '"Ann"' in "".join(texts(text, marks, "string"))
    assert texts(text, marks, "number") == ["3"]
    assert texts(text, marks, "comment") == ["# all"]


@pytest.mark.parametrize("colour", [json_marks, sparql_marks])
@pytest.mark.parametrize("text", ["{" * 300_000, '"' * 300_001, "\\" * 300_000, "?<" * 99_999])
def test_what_is_coloured_is_bounded(colour, text: str):
    assert all(mark.end <= MAX_COLOURED for mark in colour(text))


@given(st.text())
def test_harmless_text_has_its_length_and_nothing_that_steers(text: str):
    shown = harmless(text)
    assert len(shown) == len(text)
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert all(a == b for a, b in zip(text, shown, strict=True) if a.isprintable() or a == "\n")


def test_white_space_of_other_kinds_is_shown_as_space():
    assert harmless("1\u00a0000\u202fm\t\u3000x\r\n\u2028y") == "1 000 m  x \n y"
    assert harmless("a\u200bb\u202ec\x1b[0m\ud800") == "a\ufffdb\ufffdc\ufffd[0m\ufffd"
