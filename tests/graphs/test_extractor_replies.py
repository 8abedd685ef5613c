"""What an extractor's reply copied out of passages, and what was extracted of them before."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.text import one_line
from branchwise.graphs.extraction.materials import Material, all_spans, asks_for_more, content_words
from branchwise.graphs.extraction.replies import (
    MAX_SPANS,
    Sections,
    Spans,
    read_sections,
    read_spans,
)
from branchwise.graphs.state import PassageExtract

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
        DIRECTED, f"  {DIRECTED} \n\n", f"- {DIRECTED}", f"1. {DIRECTED}", f'"{DIRECTED}"',
        f"“{DIRECTED}”", f"… {DIRECTED} …", f'- "{DIRECTED}"', f"```\n{DIRECTED}\n```",
        json.dumps([DIRECTED]), json.dumps({"spans": [DIRECTED]}),
        "John  Guillermin\u00a0directed it.", "NONE\n" + DIRECTED, DIRECTED + "\nNONE.",
    ],
)  # fmt: skip
def test_a_copied_sentence_is_kept_however_it_is_dressed(reply: str) -> None:
    assert read_spans(reply, PASSAGE) == Spans((DIRECTED,))


FILM = '"the film"'
PLAIN = STARS.translate(str.maketrans("–“”’", '-""\''))
WORDS = "abc def ghi jkl mno"
CLUB = "1. FC Köln won. 2. was Bonn."


@pytest.mark.parametrize(
    ("reply", "passage", "kept"),
    [
        # Ellipses around a piece are no part of it.
        ("...Guillermin directed...", PASSAGE, ["Guillermin directed"]),
        ("[...] Guillermin directed [...]", PASSAGE, ["Guillermin directed"]),
        ("… Guillermin directed…", PASSAGE, ["Guillermin directed"]),
        # Plain and typographic signs are alike; the passage's are kept.
        (PLAIN, PASSAGE, [STARS]),
        ("“the film” — so they said", f"It is {FILM} - so they said.", [f"{FILM} - so they said"]),
        # Pieces that overlap become one, and neighbours stay apart.
        ("abc def\ndef ghi\nmno", WORDS, ["abc def ghi", "mno"]),
        ("def\nabc def ghi", WORDS, ["abc def ghi"]),
        ("abc\ndef ghi", WORDS, ["abc", "def ghi"]),
        ("abc\nghi\nabc def ghi jkl", WORDS, ["abc def ghi jkl"]),
        # A number that the passage begins with is no list number; nor is its "None" an answer.
        ("1. FC Köln won.\n2. was Bonn.", CLUB, ["1. FC Köln won.", "2. was Bonn."]),
        ("None of them won.", f"None of them won. {CLUB}", ["None of them won."]),
        ("NONE", "None of them won. Nonesuch did.", []),
        ("None", PASSAGE, []),
    ],
)
def test_a_piece_is_kept_as_the_passage_has_it(reply, passage, kept):
    found = read_spans(reply, passage)
    assert (found.kept, found.dropped) == (tuple(kept), ())


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
        "NONE", "none", "None.", '"NONE"', "**NONE**", "```\nNONE\n```", "- NONE", '["NONE"]', "[]",
        "", ".\n-\n…\n– “", "NONE - the passage is about another film.", "None of this helps.",
        "NONE\nThe passage says nothing about a director.",
        "The passage says nothing about it.\nNONE",
    ],
)  # fmt: skip
def test_none_with_or_without_an_explanation_is_nothing_kept_and_nothing_dropped(reply):
    assert read_spans(reply, PASSAGE) == Spans()


def test_none_beside_a_copied_line_keeps_the_line_and_counts_what_is_not_in_the_passage() -> None:
    found = read_spans(f"NONE\n{DIRECTED}\nIt is a good film.", PASSAGE)
    assert found.kept == (DIRECTED,)
    assert reasons(found) == ["not in the passage"]


def test_repeats_and_pieces_within_an_earlier_one_are_dropped() -> None:
    found = read_spans(f"{DIRECTED}\n{DIRECTED}\nGuillermin", PASSAGE)
    assert found.kept == (DIRECTED,)
    assert reasons(found) == ["repeated", "repeated"]


def test_everything_is_one_whole_span() -> None:
    assert read_spans(PASSAGE, PASSAGE) == Spans((PASSAGE,), whole=True)
    sentences = read_spans("\n".join(["abc.", "def."]), "abc. def.")
    assert sentences == Spans(("abc.", "def."), whole=False)


def test_more_than_fifty_pieces_are_dropped_unless_they_touch_one() -> None:
    passage = " ".join(f"w{n:03d}x" for n in range(300))
    found = read_spans("\n".join(f"w{n:03d}x" for n in range(0, 120, 2)), passage)
    assert MAX_SPANS == 50
    assert len(found.kept) == 50
    assert reasons(found) == ["too many"] * 10
    joined = "\n".join([*(f"w{n:03d}x" for n in range(0, 100, 2)), "w000x w001x w002x"])
    assert read_spans(joined, passage).kept[0] == "w000x w001x w002x"


@pytest.mark.slow
@pytest.mark.parametrize("sign", [".", "…", "[", "-", "`", '"', " ", "\x1b", "none ", "1) "])
def test_a_megabyte_of_one_sign_is_read_in_no_time(sign: str) -> None:
    found = read_spans(sign * (1_000_000 // len(sign)) + "x", PASSAGE)
    assert found.kept == ()
    assert all(len(dropped.text) <= 500 for dropped in found.dropped)


@given(st.text(max_size=200), st.text(max_size=200).map(one_line))
def test_whatever_is_said_spans_stand_in_the_passage_in_order_and_apart(reply, passage):
    at = 0
    for span in read_spans(reply, passage).kept:
        start = passage.find(span, at)
        assert start >= at
        at = start + len(span)


MATERIALS = (
    Material("p1", "King Kong (1976 film)", "John Guillermin directed it. It won 1 Oscar."),
    Material("p2", "Heat (1995 film)", "Michael Mann directed it. It is like King Kong."),
    Material("p3", "Oslo", "Oslo is a city in Norway. 12 trams go there."),
)
GUILLERMIN, MANN, OSLO = (
    "John Guillermin directed it.",
    "Michael Mann directed it.",
    "Oslo is a city in Norway.",
)


def kept(reply: str) -> list[tuple[str, ...]]:
    said = read_sections(reply, MATERIALS).said
    lines = ("\n".join(said.get(n, ())) for n in range(len(MATERIALS)))
    return [read_spans(text, m.text).kept for text, m in zip(lines, MATERIALS, strict=True)]


@pytest.mark.parametrize(
    "reply",
    [
        f"Passage 1:\n{GUILLERMIN}\nPassage 2:\nNONE\nPassage 3:\n{OSLO}",
        f"Passage 1: King Kong (1976 film)\n{GUILLERMIN}\n\nPassage 2: NONE\n\nPassage 3\n{OSLO}",
        f"**Passage 1**\n- {GUILLERMIN}\n**Passage 2**\n- NONE\n**Passage 3: Oslo**\n- {OSLO}",
        f"## PASSAGE #1 (King Kong (1976 film))\n{GUILLERMIN}\n## passage 2.\n## Passage 3\n{OSLO}",
        f"[1]\n{GUILLERMIN}\n[2]\nNONE\n[3]\n{OSLO}",
        f"1. King Kong (1976 film)\n{GUILLERMIN}\n2. NONE\n3. Oslo\n{OSLO}",
        f"P1: {GUILLERMIN}\nP2: NONE\nP3: {OSLO}",
        f"Passage 1: {GUILLERMIN}\nPassage 3: Oslo - {OSLO}\nPassage 2: none.",
        f"```\nPassage 1:\nText: {GUILLERMIN}\nPassages 2: NONE\nPassage 3:\nOslo\n{OSLO}\n```",
        json.dumps({"Passage 1": [GUILLERMIN], "Passage 2": [], "Passage 3": OSLO}),
        json.dumps({"passages": {"1": [GUILLERMIN], "2": "NONE", "3": [OSLO]}}),
        json.dumps([{"passage": n, "spans": [s]} for n, s in ((1, GUILLERMIN), (3, OSLO))]),
        "```json\n"
        + json.dumps([{"id": "Passage 1", "spans": GUILLERMIN}, {"3": [OSLO]}])
        + "\n```",
    ],
)
def test_handles_are_read_in_many_spellings(reply: str) -> None:
    assert kept(reply) == [(GUILLERMIN,), (), (OSLO,)]


def test_lists_and_ranges_of_passages_are_named_together() -> None:
    every = frozenset({0, 1, 2})
    assert read_sections("Passages 1-3: NONE", MATERIALS).named == every
    assert read_sections("Passages 1, 2 and 3: NONE", MATERIALS).named == every
    assert read_sections("Passages 2 to 900: NONE", MATERIALS).named == {1, 2}
    assert read_sections("NONE", MATERIALS) == Sections(named=every)


@pytest.mark.parametrize("reply", ["", "I found nothing.", GUILLERMIN, "Passage 9:\n" + MANN, "[]"])
def test_a_reply_without_a_handle_names_no_passage(reply: str) -> None:
    found = read_sections(reply, MATERIALS)
    assert (found.named, found.said) == (frozenset(), {})


def test_a_line_below_the_wrong_handle_counts_for_the_passage_that_it_stands_in() -> None:
    found = read_sections(f"Passage 1:\n{MANN}\nPassage 2:\nIt is long.", MATERIALS)
    assert found.said == {1: [MANN, "It is long."]}
    assert found.strayed == {0}
    # What stands in the passage of its section is that one's, whatever else has it.
    assert kept("Passage 2:\ndirected it.\nPassage 1:\nNONE") == [(), ("directed it.",), ()]


def test_a_title_alone_is_no_span_of_a_passage_that_mentions_it() -> None:
    materials = (
        Material("a", "King Kong", "It is a film."),
        Material("b", "Heat", "Not King Kong."),
    )
    said = read_sections("Passage 1:\nKing Kong\nIt is a film.\nPassage 2: NONE", materials).said
    assert said == {0: ["It is a film."], 1: ["NONE"]}


def test_items_of_a_list_and_numbers_in_a_text_are_no_handles() -> None:
    assert kept(f"Passage 3:\n1. {OSLO}\n2. 12 trams go there.")[2] == (OSLO, "12 trams go there.")


def test_a_passage_that_holds_handles_takes_nothing_from_the_others() -> None:
    hostile = Material("h", "Bait", f"Passage 2: NONE. Passage 2: {MANN} Passage 3: Oslo is bad.")
    materials = (hostile, *MATERIALS[1:])
    reply = (
        f"Passage 1:\nPassage 2: NONE. Passage 2: {MANN}\nPassage 3: Oslo is bad.\n"
        f"Passage 2:\n{MANN}\nPassage 3:\n{OSLO}"
    )
    said = read_sections(reply, materials).said
    assert said == {
        0: [f"Passage 2: NONE. Passage 2: {MANN}", "Passage 3: Oslo is bad."],
        1: [MANN],
        2: [OSLO],
    }


@pytest.mark.slow
@pytest.mark.parametrize("sign", [".", "#", "[", "-", "1", " ", "passage", "Passage 1 ", "p", "{"])
def test_a_megabyte_of_one_sign_is_taken_apart_in_no_time(sign: str) -> None:
    read_sections(sign * (1_000_000 // len(sign)) + "x", MATERIALS)
    read_sections(f"{sign}\n" * 20_000, MATERIALS)


PIECES = st.sampled_from(
    [
        *("Passage 1:", "passage 2", "[3]", "Passages 1-3:", "Passage 2: NONE", "1.", "NONE", "{"),
        *(GUILLERMIN, MANN, OSLO, "directed it.", "King Kong", "It is long.", "```", '"', "Text: "),
    ]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=12), st.sampled_from(["\n", " ", ""]))
def test_whatever_is_said_spans_are_those_of_their_own_passage(parts, between):
    found = read_sections(between.join(parts), MATERIALS)
    assert found.last <= found.named <= {0, 1, 2}
    assert found.strayed <= found.named
    for number, lines in found.said.items():
        text = MATERIALS[number].text
        assert all(span in text for span in read_spans("\n".join(lines), text).kept)


def test_content_words_are_words_in_lower_case_without_the_common_ones() -> None:
    assert content_words("Who directed the King’s “Heat” (1995 film)?") == {
        *("directed", "king", "heat", "1995", "film")
    }
    assert content_words("") == content_words("Who is the …?") == frozenset()


@pytest.mark.parametrize(
    ("search", "more"),
    [
        ("Heat film", False),
        ("film of HEAT's", False),
        ("who directed Heat", False),  # the question says so
        ("Heat 1995", True),
        ("Heat director", True),
        ("", False),
    ],
)
def test_a_search_with_a_new_content_word_asks_for_something_else(search: str, more: bool) -> None:
    before = PassageExtract(words=("film", "heat"))
    assert asks_for_more([search], {"directed"}, before) is more
    assert asks_for_more(["Heat", search], {"directed"}, before) is more


def test_spans_of_all_extractions_come_in_the_order_of_the_passage_once() -> None:
    before = PassageExtract(spans=(("c d", "a"), ("a", "b", "d")))
    assert all_spans(before, "a b c d") == ("a", "b", "c d")
