import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.normalise import normalise, tokens

SAME = [
    ("The Office", "office"),
    ("Office, The", "the OFFICE"),
    ("O’Brien", "O'Brien"),
    ("O'Brien", "OBrien"),
    ("U.S.", "US"),
    ("Spider-Man", "Spider Man"),
    ("J. R. R. Tolkien", "J.R.R. Tolkien"),
    ("Simon & Garfunkel", "Simon and Garfunkel"),
    ("1,000", "1000"),
    ("1,000,000.50", "1000000.50"),
    ("ＡＢＣ", "abc"),
    ("ﬁlm", "film"),
    ("straße", "STRASSE"),
    ("Istanbul", "İstanbul"),
    ("Istanbul", "I\u0307stanbul"),
    ("Serie A (Brazil)", "Serie A, Brazil"),
    ("Lego®", "LEGO"),
    ("King  Kong\n(1976 film)", "King Kong 1976 film"),
    ("Be\u0301la", "B\u00e9la"),
    ("re\u00adport", "report"),
]
DIFFERENT = [
    ("Vitamin A", "Vitamin"),
    ("A. Milne", "Milne"),
    ("3.5", "35"),
    ("-5", "5"),
    ("C++", "C"),
    ("C#", "C"),
    ("1990-1995", "19901995"),
    ("Gorkij", "Горький"),
    ("कि", "की"),
    ("The The", "The"),
    ("!!!", "???"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_forms_of_one_name_have_one_key(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_names_keep_different_keys(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_articles_stay_where_they_are_asked_for() -> None:
    assert normalise("The Heat", articles=True) == "the heat"
    assert normalise("The Heat") == "heat"


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert tokens("北京 2008") == ["北", "京", "2008"]
    assert tokens("Москва, город") == ["москва", "город"]


@given(st.text())
def test_only_white_space_has_no_key(text: str) -> None:
    visible = [c for c in text if not c.isspace() and c not in "™®©℠\ue000\ue001\ue002"]
    assert bool(normalise(text)) == bool(visible)


@given(st.text())
def test_case_and_outer_space_change_nothing(text: str) -> None:
    assert normalise(f"  {text}\n") == normalise(text)
    assert normalise(normalise(text).upper()) == normalise(normalise(text))


@given(st.text(), st.sampled_from(["NFC", "NFD"]))
def test_canonically_equivalent_texts_have_one_key(text: str, form: Literal["NFC", "NFD"]) -> None:
    assert normalise(unicodedata.normalize(form, text)) == normalise(text)


@given(st.lists(st.sampled_from(["an", "The", "a", "Bo", "Cid", "de", "U", "S", "x"]), min_size=1))
def test_a_full_stop_at_the_end_changes_no_key(words: list[str]) -> None:
    # Plain words take a short way, a text with a full stop the long one.
    assert normalise(" ".join([*words, "Dora"])) == normalise(" ".join([*words, "Dora."]))
