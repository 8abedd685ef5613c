"""Spans that an extractor copied, held against the passage word for word."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.text import one_line
from branchwise.graphs.extraction.replies import MAX_SPANS, Spans, read_spans

PASSAGE = (
    "King Kong is a 1976 film. John Guillermin directed it. It stars Jeff Bridges – “the Dude” – "
    "and Jessica Lange’s first role is in it. It won 1 Oscar."
)
DIRECTED = "John Guillermin directed it."
STARS = "It stars Jeff Bridges – “the Dude” – and Jessica Lange’s first role is in it."


def reasons(found: Spans) -> list[str]:
    return [dropped.why for dropped in found.dropped]


@pytest.mark.parametrize(
    "reply",
    [
        DIRECTED,
        f"  {DIRECTED} \n\n",
        f"- {DIRECTED}",
        f"1. {DIRECTED}",
        f'"{DIRECTED}"',
        f"“{DIRECTED}”",
        f"… {DIRECTED} …",
        f'- "{DIRECTED}"',
        f"```\n{DIRECTED}\n```",
        json.dumps([DIRECTED]),
        json.dumps({"spans": [DIRECTED]}),
        "John  Guillermin\u00a0directed it.",
        "NONE\n" + DIRECTED,
        DIRECTED + "\nNONE.",
    ],
)
def test_a_copied_sentence_is_kept_however_it_is_dressed(reply: str) -> None:
    assert read_spans(reply, PASSAGE) == Spans((DIRECTED,))


@pytest.mark.parametrize("marks", ["...{}...", "[...] {} [...]", "… {}…"])
def test_ellipses_around_a_piece_are_no_part_of_it(marks: str) -> None:
    assert read_spans(marks.format("Guillermin directed"), PASSAGE).kept == ("Guillermin directed",)


def test_a_piece_in_plain_signs_gets_the_characters_of_the_passage() -> None:
    plain = STARS.replace("–", "-").replace("“", '"').replace("”", '"').replace("’", "'")
    assert plain != STARS
    assert read_spans(plain, PASSAGE) == Spans((STARS,))


def test_a_piece_in_typographic_signs_is_found_in_a_plain_passage() -> None:
    passage = 'It is "the film" - so they said, and it\'s true.'
    assert read_spans("“the film” — so they said", passage).kept == ('"the film" - so they said',)


def test_a_piece_across_line_breaks_of_the_passage_is_found_in_its_one_line() -> None:
    text = "John\n  Guillermin\u2028directed\u00a0it.\tIt won."
    assert read_spans("Guillermin directed it. It won", one_line(text)).kept == (
        "Guillermin directed it. It won",
    )


@pytest.mark.parametrize(
    "reply",
    [
        "The film was directed by John Guillermin.",
        "john guillermin directed it.",
        "John Guillermin … directed it.",
        "John Guillermin directed it. It won 1 Oscar.",
        "Title: King Kong",
    ],
)
def test_a_paraphrase_is_dropped_and_counted(reply: str) -> None:
    found = read_spans(reply, PASSAGE)
    assert found.kept == ()
    assert [(d.text, d.why) for d in found.dropped] == [(reply, "not in the passage")]


@pytest.mark.parametrize(
    "reply",
    [
        "NONE",
        "none",
        "None.",
        '"NONE"',
        "**NONE**",
        "```\nNONE\n```",
        "- NONE",
        '["NONE"]',
        "[]",
        "",
        "NONE - the passage is about another film.",
        "NONE\nThe passage says nothing about a director.",
        "None of this helps.",
        "The passage says nothing about it.\nNONE",
    ],
)
def test_none_with_or_without_an_explanation_is_nothing_kept_and_nothing_dropped(
    reply: str,
) -> None:
    assert read_spans(reply, PASSAGE) == Spans()


def test_a_sentence_that_begins_with_none_is_kept_where_the_passage_has_it() -> None:
    passage = "None of them won. Nonesuch did."
    assert read_spans("None of them won.", passage).kept == ("None of them won.",)
    assert read_spans("NONE", passage) == Spans()
    assert read_spans("None", passage) == Spans()


def test_none_beside_a_copied_line_keeps_the_line_and_counts_what_is_not_in_the_passage() -> None:
    found = read_spans(f"NONE\n{DIRECTED}\nIt is a good film.", PASSAGE)
    assert found.kept == (DIRECTED,)
    assert reasons(found) == ["not in the passage"]


def test_repeats_and_pieces_within_an_earlier_one_are_dropped() -> None:
    found = read_spans(f"{DIRECTED}\n{DIRECTED}\nGuillermin", PASSAGE)
    assert found.kept == (DIRECTED,)
    assert reasons(found) == ["repeated", "repeated"]


def test_pieces_that_overlap_become_one_and_neighbours_stay_apart() -> None:
    passage = "abc def ghi jkl mno"
    assert read_spans("abc def\ndef ghi\nmno", passage).kept == ("abc def ghi", "mno")
    assert read_spans("def\nabc def ghi", passage).kept == ("abc def ghi",)
    assert read_spans("abc\ndef ghi", passage).kept == ("abc", "def ghi")
    assert read_spans("abc\nghi\nabc def ghi jkl", passage).kept == ("abc def ghi jkl",)


def test_pieces_come_in_the_order_of_the_passage() -> None:
    assert read_spans("ghi\nabc", "abc def ghi").kept == ("abc", "ghi")


def test_everything_is_one_whole_span() -> None:
    assert read_spans(PASSAGE, PASSAGE) == Spans((PASSAGE,), whole=True)
    sentences = read_spans("\n".join(["abc.", "def."]), "abc. def.")
    assert sentences == Spans(("abc.", "def."), whole=False)


def test_a_number_that_the_passage_begins_with_is_no_list_number() -> None:
    passage = "1. FC Köln won. 2. was Bonn."
    assert read_spans("1. FC Köln won.\n2. was Bonn.", passage).kept == (
        "1. FC Köln won.",
        "2. was Bonn.",
    )


def test_signs_without_words_are_nothing() -> None:
    assert read_spans(".\n-\n…\n– “", PASSAGE) == Spans()


def test_more_than_fifty_pieces_are_dropped_unless_they_touch_one() -> None:
    passage = " ".join(f"w{n:03d}x" for n in range(300))
    found = read_spans("\n".join(f"w{n:03d}x" for n in range(0, 120, 2)), passage)
    assert MAX_SPANS == 50
    assert len(found.kept) == 50
    assert reasons(found) == ["too many"] * 10
    joined = "\n".join([*(f"w{n:03d}x" for n in range(0, 100, 2)), "w000x w001x w002x"])
    assert read_spans(joined, passage).kept[0] == "w000x w001x w002x"


def test_a_hundred_thousand_lines_are_counted_and_not_listed() -> None:
    found = read_spans("\n".join(f"no such line {n}" for n in range(100_000)), PASSAGE)
    assert len(found.dropped) == 201
    assert found.dropped[-1].text == "(99800 more lines)"


@pytest.mark.parametrize("sign", [".", "…", "[", "-", "`", '"', " ", "\x1b", "none ", "1) "])
def test_a_megabyte_of_one_sign_is_read_in_no_time(sign: str) -> None:
    found = read_spans(sign * (1_000_000 // len(sign)) + "x", PASSAGE)
    assert found.kept == ()
    assert all(len(dropped.text) <= 500 for dropped in found.dropped)


WORDS = st.lists(st.sampled_from(["Heat", "film", "1995", "“a”", "it’s", "–", "None"]), min_size=1)


@pytest.mark.slow
@given(WORDS.map(" ".join), st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), max_size=8))
def test_pieces_cut_out_of_a_passage_cover_what_was_cut(
    passage: str, cuts: list[tuple[int, int]]
) -> None:
    pieces = [passage[start : start + width].strip() for start, width in cuts]
    copied = [piece for piece in pieces if any(c.isalnum() for c in piece) and piece != "None"]
    found = read_spans("\n".join(copied), passage)
    assert not [dropped for dropped in found.dropped if dropped.why == "not in the passage"]
    for piece in copied:
        assert any(piece in span for span in found.kept)
    assert sum(map(len, found.kept)) <= len(passage)


@given(st.text(max_size=200), st.text(max_size=200).map(one_line))
def test_whatever_is_said_spans_stand_in_the_passage_in_order_and_apart(
    reply: str, passage: str
) -> None:
    at = 0
    for span in read_spans(reply, passage).kept:
        start = passage.find(span, at)
        assert start >= at
        at = start + len(span)
