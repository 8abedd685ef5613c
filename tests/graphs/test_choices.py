"""What a person says, read as options of a clarification question."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graphs.pipeline import MAX_OWN_WORDS, ChoiceError, read_choice

FILMS = ("the 1933 film", "the 1976 film", "the 2005 film")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2", FILMS[1:2]),
        (2, FILMS[1:2]),
        (" 3.\n", FILMS[2:]),
        ("#1", FILMS[:1]),
        ("1,3", (FILMS[0], FILMS[2])),
        (" 3 , #1,3. ", (FILMS[2], FILMS[0])),
        ("the 1976 film", FILMS[1:2]),
        ("The 1976  Film?", FILMS[1:2]),
        ("1976 film", FILMS[1:2]),
        ("all", FILMS),
        ("ALL\n", FILMS),
        ("the musical", ("the musical",)),
        ("1976, I think", ("1976, I think",)),
        ("\x1b[31mthe\nmusical\ud800", ("[31mthe musical\N{REPLACEMENT CHARACTER}",)),
        ("das Stück in München", ("das Stück in München",)),
    ],
)
def test_a_number_a_text_or_all_is_taken(said: Any, meant: tuple[str, ...]) -> None:
    assert read_choice(said, FILMS) == meant


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("", "nothing was said"),
        (" \n\t", "nothing was said"),
        ("0", "unknown option 0"),
        ("4", "unknown option 4"),
        ("1976", "unknown option 1976"),
        ("-1", "'-1' names no option"),
        ("1,4", "unknown option 4"),
        ("1,", "'1,' names no option"),
        ("1;3", "'1;3' names no option"),
        ("9" * 200, f"'{'9' * 39}…' names no option"),
        (None, "that is neither a number nor a text"),
        (True, "that is neither a number nor a text"),
        (1.0, "that is neither a number nor a text"),
        (["1"], "that is neither a number nor a text"),
    ],
)
def test_what_is_no_choice_is_told_what_is_possible(said: Any, problem: str) -> None:
    with pytest.raises(ChoiceError) as refused:
        read_choice(said, FILMS)
    possible = (
        'say a number from 1 to 3, several as "1,2", "all", or what you mean in your own words'
    )
    assert str(refused.value) == f"{problem}; {possible}"


def test_an_options_own_text_comes_before_its_number_and_before_all() -> None:
    assert read_choice("2", ("1", "3", "2")) == ("2",)
    assert read_choice("3", ("1", "3", "2")) == ("3",)
    assert read_choice("1,3", ("1", "3", "1,3")) == ("1,3",)
    assert read_choice("all", ("some", "All")) == ("All",)
    assert read_choice("Film", ("the film", "film", "Film")) == ("Film",)


def test_own_words_are_bounded_and_an_option_is_not() -> None:
    long = "a" * (MAX_OWN_WORDS + 1)
    with pytest.raises(ChoiceError, match="has 1001 characters; use at most 1000"):
        read_choice(long, FILMS)
    assert read_choice(long, (*FILMS, long)) == (long,)
    assert read_choice(long[1:], FILMS) == (long[1:],)


@given(st.text(), st.lists(st.text(min_size=1), min_size=2, max_size=5, unique=True))
def test_a_choice_is_of_the_options_or_one_printable_line(said: str, options: list[str]) -> None:
    with suppress(ChoiceError):
        meant = read_choice(said, options)
        assert set(meant) <= set(options) or meant[0].isprintable()
