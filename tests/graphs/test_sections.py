"""One reply about several passages, taken apart."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graphs.extraction.materials import Material
from branchwise.graphs.extraction.replies import Sections, read_sections, read_spans

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
def test_whatever_is_said_spans_are_those_of_their_own_passage(
    parts: list[str], between: str
) -> None:
    found = read_sections(between.join(parts), MATERIALS)
    assert found.last <= found.named <= {0, 1, 2}
    assert found.strayed <= found.named
    for number, lines in found.said.items():
        text = MATERIALS[number].text
        assert all(span in text for span in read_spans("\n".join(lines), text).kept)
