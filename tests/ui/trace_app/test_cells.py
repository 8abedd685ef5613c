"""Text is drawn in a width on which terminals agree, whatever it holds."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from branchwise.report.terminal.blocks import harmless
from branchwise.ui.trace_app.drawing import MAX_MARKS, cells, cut, drawn, fitted, widths, wrapped

ODD = st.text(
    st.sampled_from("ab \n漢e\u0301\u0903\u200d\ufe0f👩🏽🇩🇪\u1161\u3099\u202eש\x1b\ud800")
)
TEXTS = st.one_of(ODD, st.text(), st.text(st.characters(codec=None, categories=["Mn", "Lo", "So"])))


@pytest.mark.parametrize(
    ("text", "shown", "width"),
    [
        ("plain", "plain", 5),
        ("e\u0301te\u0301", "e\u0301te\u0301", 3),
        ("☀\ufe0f!", "☀!", 2),
        ("👍🏽", "👍", 2),
        ("🇩🇪 1\u20e3", "DE 1", 4),
        ("日本", "日本", 4),
        ("\u0301x", "x", 1),
        ("हि", "ह\ufffd", 2),
        ("\u3248", "\ufffd", 1),
        ("שלום", "שלום", 4),
        ("a\x1b[31m\x9b\u202e\ud800", "a\ufffd[31m\ufffd\ufffd\ufffd", 9),
    ],
)
def test_what_terminals_measure_differently_is_left_out_or_replaced(
    text: str, shown: str, width: int
) -> None:
    assert drawn(text) == shown
    assert cells(text) == width
    assert cell_len(shown) == width


def test_marks_above_a_character_are_bounded() -> None:
    assert drawn("a" + "\u0301" * 50 + "b") == "a" + "\u0301" * MAX_MARKS + "b"


@given(TEXTS)
def test_what_is_drawn_is_printable_and_as_wide_as_said(text: str) -> None:
    line = drawn(text)
    assert line.isprintable()
    assert cell_len(line) == cells(line)
    assert cells(line) == cells(text)
    assert drawn(line) == line


@given(TEXTS, st.integers(0, 12))
def test_a_fitted_text_has_exactly_its_width(text: str, width: int) -> None:
    assert cell_len(fitted(text, width)) == width


@given(TEXTS, st.integers(1, 12))
def test_a_cut_is_the_longest_that_fits_and_parts_no_marks(text: str, width: int) -> None:
    end = cut(0, len(text), width, widths(text))
    assert cells(text[:end]) <= width
    if end < len(text):
        assert cells(text[: end + 1]) > width
        assert unicodedata.category(text[end]) not in ("Mn", "Me") or cells(text[end]) > 0


@given(TEXTS.map(harmless), st.integers(4, 20), st.booleans())
def test_wrapping_loses_nothing_but_spaces_and_line_ends(
    text: str, width: int, hanging: bool
) -> None:
    pieces = list(wrapped(text, width, hanging=hanging))
    end = 0
    for start, stop, indent in pieces:
        assert text[end:start] in ("", " ", "\n")
        assert "\n" not in text[start:stop]
        assert indent + cells(text[start:stop]) <= width
        end = stop
    assert end == len(text)


def test_code_that_is_continued_stands_below_its_first_word() -> None:
    text = '  "query": one two'
    lines = [" " * indent + text[a:b] for a, b, indent in wrapped(text, 14, hanging=True)]
    assert lines == ['  "query": one', "    two"]
