"""What a query quotes comes first, whichever index ranks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.names_in_text import phrase_pattern, quoted
from branchwise.corpora.open import open_retriever
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit, phrases_first
from support.corpora.small import bm25_corpus

# The words of "Grey Harbour" alone, many times, outrank the passages that have the phrase.
TEXTS = {
    f"w{n}": f"Harbour {n}\nGrey sea, harbour, grey sky, harbour, grey boats." for n in range(60)
}
TEXTS |= {
    "title": "The Grey Harbour (novel)\nA book that many people have read in many long evenings.",
    "text": "Ann Lee\nAnn Lee, whom few remember now, wrote GREY-HARBOUR and other works of prose.",
}


@pytest.mark.slow
def test_passages_with_a_quoted_phrase_come_first(tmp_path):
    retriever = open_retriever(bm25_corpus(tmp_path, TEXTS), "bm25")
    plain, phrase, typographic, nothing = (
        [hit.passage.id for hit in ranking]
        for ranking in retriever.search(
            [
                "boats sky grey harbour",
                'boats sky "grey harbour"',
                "boats sky “Grey Harbour”",
                'boats sky "grey of harbour"',
            ],
            50,
        )
    )
    assert {"title", "text"}.isdisjoint(plain)
    assert set(phrase[:2]) == {"title", "text"}
    assert phrase[:2] == typographic[:2]
    assert phrase[2:] == plain[:48]
    assert nothing == plain
    [three] = retriever.search(['boats sky "grey harbour"'], 3)
    assert [hit.passage.id for hit in three] == phrase[:3]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('who wrote "Heat"', ["Heat"]),
        ("“Heat” and «Ronin», „Heat“", ["Heat", "Ronin"]),
        ('5" and 6" pipes "', ["and 6"]),
        ('"', []),
        ('"!?"', []),
        (" ".join(f'"name {n}"' for n in range(9)), [f"name {n}" for n in range(4)]),
    ],
)
def test_phrases_are_what_stands_in_quotation_marks(text, phrases):
    assert quoted(text) == phrases


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("The grey  Harbour's light", True),
        ("grey-harbour", True),
        ("greyharbour", False),
        ("grey harbours", False),
        ("dapple-grey harbour", True),
        ("a stingrey harbour", False),
    ],
)
def test_a_phrase_is_whole_words_in_a_row(text, has):
    assert bool(phrase_pattern("Grey Harbour").search(text)) == has


def test_scripts_without_spaces_have_a_phrase_within_other_words():
    assert phrase_pattern("東京物語").search("小津は東京物語を撮った")
    assert not phrase_pattern("東京物語").search("東京と物語")


@given(st.lists(st.booleans(), max_size=12), st.integers(0, 12))
def test_nothing_is_lost_and_the_rest_keeps_its_order(has, split):
    hits = [
        Hit(Passage(id=str(n), title="", text="grey harbour" if one else "sea"), -n)
        for n, one in enumerate(has)
    ]
    ranking, behind = hits[:split], hits[split:]
    ids = [int(hit.passage.id) for hit in phrases_first(ranking, [behind], ["grey harbour"])]
    holding = [n for n, one in enumerate(has) if one]
    assert ids == holding + [n for n, one in enumerate(has) if not one and n < split]
