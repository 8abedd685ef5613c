"""The mention matcher on the labelled list and on any text at all."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from branchwise.eval.errors.folding import fold, folded, squeezed
from branchwise.eval.errors.mentions import ManyNames, Mentions, _mentions, mentioned
from branchwise.eval.errors.name_forms import name_forms

PAIRS = Path(__file__).parent / "mention_pairs.yaml"


class Pair(NamedTuple):
    kind: str
    mentioned: bool
    forms: list[str]
    text: str


def labelled() -> list[Pair]:
    read = yaml.safe_load(PAIRS.read_text(encoding="utf-8"))
    return [
        Pair(kind, mentioned, [forms] if isinstance(forms, str) else forms, text)
        for kind, pairs in read.items()
        for mentioned, forms, text in pairs
    ]


def mentions(form: str | list[str], text: str) -> bool:
    return bool(Mentions([[form] if isinstance(form, str) else form]).present(text))


def spans(form: str, text: str) -> list[str]:
    found = Mentions([[form]]).find(text)
    return [text[start:end] for start, end in found.get(0, [])]


def test_the_labelled_pairs_are_told_apart() -> None:
    assert [pair for pair in labelled() if mentions(pair.forms, pair.text) != pair.mentioned] == []


def test_spans_are_of_the_text_as_given() -> None:
    text = "Zoe\u0308 Kravitz met ZOË KRAVITZ\u200b; Zoe\nKravitz’s coat."
    assert spans("Zoë Kravitz", text) == ["Zoe\u0308 Kravitz", "ZOË KRAVITZ", "Zoe\nKravitz"]


def test_spans_count_escapes_as_they_are_written() -> None:
    text = '["Beyonc\\u00e9", "Fast &amp; Furious"]'
    assert spans("Beyoncé", text) == ["Beyonc\\u00e9"]
    assert spans("Fast and Furious", text) == ["Fast &amp; Furious"]


def test_a_span_takes_its_own_disambiguator_with_it() -> None:
    text = "King Kong (1976 film) and King Kong are one, King Kong (1933 film) is not."
    assert spans("King Kong (1976 film)", text) == ["King Kong (1976 film)", "King Kong"]


def test_numbers_are_compared_as_values() -> None:
    assert spans("1200", "1,200 and 1200 and 1200.0, not 12000, 1,2000 or 1200.5") == [
        "1,200",
        "1200",
        "1200.0",
    ]


def test_a_date_is_found_in_every_way_of_writing_it() -> None:
    ways = [
        "18 February 1977", "February 18, 1977", "18th of February, 1977", "Feb. 18 1977",
        "1977-02-18", "1977-02-18T00:00:00Z", "1977年2月18日",
    ]  # fmt: skip
    for one in ways[:6]:
        for other in ways:
            assert mentions(one, f"On {other} it rained."), (one, other)
            assert not mentions(one, f"On {other.replace('18', '19')} it rained."), (one, other)


LETTERS = st.characters(categories=["L"]).filter(lambda letter: fold(letter).isalpha())
NAMES = st.lists(st.text(LETTERS, min_size=3, max_size=8), min_size=1, max_size=3).map(" ".join)


@pytest.mark.slow
@given(NAMES)
@example("ǅabc def")
@example("ΌΣΣ abc")
def test_a_name_is_found_between_spaces(name: str) -> None:
    assert spans(name, f"zq {name} qz") == [name]


@given(st.text(max_size=40).filter(lambda form: "ŉ" not in form))
@example("A.0")
@example("ж.0 é.1")
@example("0.a")
@example("A'0")
@example("¯0")
@example("0&#")
def test_every_form_with_a_letter_or_digit_is_found_in_itself(form: str) -> None:
    if any(character.isalnum() for character in form):
        assert mentions(form, form)


@given(st.text(max_size=30), st.text(max_size=200))
@example("\u200b", "\u200b\u200b")
@example("a\u0301", "á\u0301")
@example("ß", "SS s")
@example("İ", "i\u0307 İ")
@example("()", "()()")
@example("\\u", "\\u12 \\ud800 &amp;amp;")
def test_anything_goes_in_and_spans_write_the_form(form: str, text: str) -> None:
    matcher = Mentions([[form], [text[:20], form[::-1]]])
    found = matcher.find(text)
    assert set(found) == matcher.present(text)
    for places in found.values():
        assert places == sorted(places)
        assert all(0 <= start < end <= len(text) for start, end in places)
        assert all(a[1] <= b[0] for a, b in pairwise(places))


@given(st.text(max_size=200))
@example("é\u200b\u0301 \u0301e\u200b\u0301")
@example("가각 ｶﾞ ﾞ ǆ ŉ")
def test_the_quick_fold_is_the_exact_one(text: str) -> None:
    exact = folded(text)
    assert exact.fold == fold(text)
    assert [exact.place(i, i + 1) for i in range(len(exact.fold))].count(None) <= len(exact.fold)
    assert exact.given(0, len(exact.shown)) == (0, len(text))


@pytest.mark.long
@pytest.mark.slow
def test_hundreds_of_thousands_of_characters_are_read_once() -> None:
    names = ["aaaa aaaa aaaa b", "(a+)+$", "Ann Lee", "....", "a" * 2_000 + "b", "the the the the"]
    matcher = Mentions([[name] for name in names])
    for text in ["a" * 200_000, "aaaa " * 40_000, "the " * 50_000, "." * 200_000]:
        assert matcher.present(text + "\nAnn Lee\n") >= {2}


def test_empty_forms_find_nothing() -> None:
    matcher = Mentions([[], [""], ["\u200b", " "], ["Ann Lee"]])
    assert matcher.find("Ann Lee \u200b ") == {3: [(0, 7)]}
    assert Mentions([]).present("Ann Lee") == set()


NAME_PARTS = st.sampled_from(
    ["Ann", "Bell", "ann", "Ann Bell", "Ann-Bell", "Anna", "Bell's", "A. Bell", "AnnBell", "Ann B"]
)


@pytest.mark.slow
@given(
    st.lists(st.tuples(NAME_PARTS, st.sampled_from([" ", ". ", "\n", ", ", "-", ""])), max_size=8)
)
def test_a_literal_search_finds_what_the_pattern_does(parts: list[tuple[str, str]]) -> None:
    text = "".join(part + gap for part, gap in parts)
    for form in name_forms(["Ann Bell", "A. Bell", "Ann B. Bell"]):
        usual = list(_mentions(folded(text), squeezed(text), form))
        by_pattern = replace(form, literal="")
        assert usual == list(_mentions(folded(text), squeezed(text), by_pattern))


@given(st.text(max_size=40) | st.text(alphabet="aÉß中が é—’ \u0301\u0660½-.\n\ud800", max_size=40))
def test_only_letters_and_digits_are_left_of_a_squeezed_text(text: str) -> None:
    assert squeezed(text) == "".join(character for character in fold(text) if character.isalnum())


def test_only_the_things_asked_for_are_looked_for() -> None:
    found = Mentions([["Ann Bell"], ["Bob Cole"], ["Cy Dane"]])
    text = "Ann Bell and Bob Cole"
    assert found.present(text) == {0, 1}
    assert found.present(text, [1, 2]) == {1}
    assert found.present(text, []) == set()


MANY = [
    ["Michael Mann", "M. Mann"], ["Heat (1995 film)"], ["U2"], ["It"], ["Spider-Man"],
    ["18 February 1977"], ["1,200"], ["\u5bae\u5d0e\u99ff"], ["Antonín Dvořák"], ["!!!"], ["", " "],
    ["Michael Mannheim"],
]  # fmt: skip
PASSAGES = [
    "Heat is a film that Michael Mann wrote; It came later.",
    "The band U2 played Spider Man on February 18, 1977, to 1200 people.",
    "\u76e3\u7763\u306f\u5bae\u5d0e\u99ff\u3067\u3059\u3002 Dvorak, or Antonin Dvorak.",
    "!!!",
    "",
    "Mannheim, spiderman u2 it heat",
]


def test_texts_mention_what_the_mention_matcher_says() -> None:
    names, plain = ManyNames(MANY), Mentions(MANY)
    found = [names.present(text) for text in PASSAGES]
    assert found == [plain.present(text) for text in PASSAGES]
    assert found[0] >= {0, 3}
    assert found[1] >= {2, 4, 5, 6}
    assert found[4] == set()
    first = {
        name: min(n for n, own in enumerate(found) if name in own) for name in set().union(*found)
    }
    assert mentioned(MANY, PASSAGES) == first


def test_what_is_known_is_not_looked_for_again() -> None:
    assert ManyNames(MANY).present(PASSAGES[0], known={0}) == ManyNames(MANY).present(
        PASSAGES[0]
    ) - {0}


@given(st.lists(st.text(max_size=6), max_size=4), st.text(max_size=30))
def test_any_names_and_text_agree_with_the_mention_matcher(forms: list[str], text: str) -> None:
    names = [[form] for form in forms]
    assert ManyNames(names).present(text) == Mentions(names).present(text)
