"""Names in questions, and titles that share one of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.names_in_text import MAX_NAME_CHARS, QuestionNames, folded, names_in


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who directed King Kong?", ["King Kong"]),
        ("Did King Kong win?", ["King Kong"]),
        ("The Bright Pine was directed by whom?", ["The Bright Pine"]),
        ("Name the singers of Reef.", ["Reef"]),
        ("List Star Tiger's novels.", ["Star Tiger"]),
        ("Consider the bands of Mast at Dusk. Which won?", ["Mast at Dusk"]),
        ("Which films were produced by Corelli & Volanov?", ["Corelli & Volanov"]),
        ("Who worked for Hana K. Ellby or Ada Holm?", ["Hana K. Ellby", "Ada Holm"]),
        ("Who won in Polostra, Ithoria?", ["Polostra", "Ithoria"]),
        ("What came in 2001 to Resident Evil 7?", ["Resident Evil 7"]),
        ('Who plays in "the big one" by Dr. Dre?', ["the big one", "Dr. Dre"]),
        ("Was Reef by Reef?", ["Reef"]),
        ("Who sang Lord of the very old Rings?", ["Lord", "Rings"]),
        ("Who wrote Ivo Šimánek's Über-Ich?", ["Ivo Šimánek's Über-Ich"]),
        ("who directed king kong", []),
        ("谁导演了金刚", []),
        ("Which?", []),
        ("", []),
    ],
)
def test_names_are_quoted_texts_and_capitalised_spans(question: str, names: list[str]) -> None:
    assert names_in(question) == names


@given(st.text(max_size=400))
def test_every_name_is_short_stands_in_the_question_and_comes_once(question: str) -> None:
    names = names_in(question)
    assert all(name in question and 0 < len(name) <= MAX_NAME_CHARS for name in names)
    assert len({folded(name) for name in names}) == len(names)


def test_a_very_long_question_is_read_in_part() -> None:
    assert names_in("Reef and " * 100_000) == ["Reef"]
    assert names_in("Reef " * 100_000) == [("Reef " * 400)[:MAX_NAME_CHARS]]


@pytest.mark.parametrize(
    ("question", "title", "name"),
    [
        ("Who directed King Kong?", "King Kong (1976 film)", "King Kong"),
        ("Who directed KING KONG?", "King Kong", "KING KONG"),
        ("who directed king kong", "King Kong (1976 film)", "king kong"),
        ("Who is King Kong's father?", "King Kong (character)", "King Kong"),
        ("Who lives in Quarryhaven?", "Quarryhaven, Ithoria", "Quarryhaven"),
        ("Who made The Governor’s Lamp?", "The Governor's Lamp (film)", "The Governor’s Lamp"),
        ('Who sang "do you love me"?', "Do You Love Me (song)", "do you love me"),
        ("Who made The Good, the Bad and the Ugly?", "The Good, the Bad and the Ugly (film)",
         "The Good, the Bad and the Ugly"),
        ("Who directed Kong?", "King Kong (1976 film)", ""),
        ("Who directed the film Reef?", "Film (1965 film)", ""),
        ("Who directed the film Reef?", "The Film, Which", ""),
        ("who was it", "Who (band)", ""),
        ("Who was The Good?", "The Good, the Bad and the Ugly (film)", ""),
        ("Who directed King Kong?", "", ""),
    ],
)  # fmt: skip
def test_a_title_bears_a_name_without_what_tells_it_apart(question, title, name):
    assert QuestionNames(question).name_of(title) == name


def test_a_name_within_a_longer_one_counts_only_where_it_stands_alone() -> None:
    assert QuestionNames("Who made King Kong?").whole(["Kong", "King Kong"]) == ["King Kong"]
    both = QuestionNames("Who made King Kong and Kong?")
    assert both.whole(["Kong", "King Kong"]) == ["Kong", "King Kong"]


def test_a_question_with_the_whole_title_tells_it_apart() -> None:
    names = QuestionNames("Who directed King Kong (1976 film) in Polostra, Ithoria?")
    assert names.tells_apart("King Kong (1976 film)", "King Kong")
    assert names.tells_apart("Polostra, Ithoria", "Polostra")
    assert not names.tells_apart("King Kong (1933 film)", "King Kong")
    assert not names.tells_apart("King Kong", "King Kong")
