"""What a branch name says, and what contradicts it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.alignment import align
from branchwise.eval.name_words import name_words

CHAIRMEN = [f"Who was the {n} chairman of the board?" for n in ("2nd", "3rd", "4th", "21st")]
NUMBERS = """
    one first, two second, three third, four fourth, five fifth, six sixth, seven seventh,
    eight eighth, nine ninth, ten tenth, eleven eleventh, twelve twelfth
"""
CARDINALS, ORDINALS = zip(*(words.split() for words in NUMBERS.split(",")), strict=True)
SUFFIXES = ["1st", "2nd", "3rd", *(f"{n}th" for n in range(4, 13))]
ROMAN = ["", "ii", "iii", "IV", "", "VI", "vii", "viii", "IX", "", "xi", "XII"]


def aligned(gold: Sequence[str], *keys: str) -> list[int | None]:
    found = align(gold, keys)
    return [found[key] for key in keys]


@pytest.mark.parametrize("n", range(12))
def test_a_number_has_the_same_word_however_it_is_written(n: int) -> None:
    forms = [form for form in (CARDINALS[n], ORDINALS[n], SUFFIXES[n], ROMAN[n]) if form]
    for form in forms:
        assert name_words(f"season {form}").content == ("season", str(n + 1))
    for form in (CARDINALS[n], ORDINALS[n], SUFFIXES[n]):
        assert aligned([f"season {k}" for k in range(1, 13)], form) == [n]


@pytest.mark.parametrize(
    ("key", "reading"),
    [
        ("fourth chairman", 2), ("twenty-first chairman", 3), ("the 2nd one", 0),
        ("chairman number 3", 1), ("fifth chairman", None), ("chairman", None),
    ],
)  # fmt: skip
def test_an_ordinal_names_the_reading_with_its_number(key: str, reading: int | None) -> None:
    assert aligned(CHAIRMEN, key) == [reading]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Who was the fourth chairman?", ("4", "chairman")),
        ("1971–75", ("1971", "1975")),
        ("from 2012 on", ("since", "2012")),
        ("2012 onwards", ("2012", "since")),
        ("prior to 2012", ("before", "2012")),
        ("the U.S. release", ("us", "release")),
        ("United States", ("us",)),
        ("North American release", ("northamerica", "release")),
        ("the British one", ("uk",)),
        ("in one hour", ("1", "hour")),
        ("I Can Only Imagine", ("i", "only", "imagine")),
        ("thirty-second", ("32",)),
        ("twenty ten", ("20", "10")),
    ],
)
def test_words_of_a_closed_class_have_one_form(text: str, words: tuple[str, ...]) -> None:
    assert name_words(text).content == words


PARTS = ["Fate I in Japan", "Fate II in Japan", "Fate V in Japan"]
SERIES = ["the 1970 TV series", "the 2015 TV series", "the 1968 film"]
GOALS = ["goals in the finals", "goals in the semi-finals", "goals in the group stage"]


@pytest.mark.parametrize(
    ("gold", "keys", "readings"),
    [
        # Letters are numerals beside longer ones only.
        (PARTS, ["part one", "the fifth", "2"], [0, 2, 1]),
        (["I Robot", "We Robot"], ["the first", "one", "I"], [None, None, 0]),
        # Question words and plurals count where readings differ in nothing else.
        (
            ["When did the war start?", "Why did the war start?"],
            ["why", "when it started", "start"],
            [1, 0, None],
        ),
        (["Alien (film)", "Aliens (film)", "Alien (novel)"], ["Aliens"], [1]),
        # A key that fits several readings matches none, and the one that is left over.
        (SERIES, ["TV series"], [None]),
        (SERIES, ["TV series", "2015 series"], [0, 1]),
        (SERIES, ["TV series", "2015 series", "1970 series"], [None, 1, 0]),
        # The reading that says nothing more is meant.
        (GOALS, ["the final"], [0]),
        (["goals in the quarter-finals", *GOALS[1:]], ["the final"], [None]),
    ],
)
def test_keys_stand_for_readings(gold, keys, readings):
    assert aligned(gold, *keys) == readings


@pytest.mark.parametrize(
    ("gold", "key"),
    [
        (["season 2 of 2016", "season 3 of 2017"], "season 2 (2017)"),
        (["the 1974 film", "the 1980 film"], "1974 novel"),
        (["Ann Lee (novelist, born 1950)", "Ann Lee (actor)"], "the footballer born in 1950"),
        (["release in Japan, part II", "release in the US, part I"], "part two, United States"),
    ],
)
def test_what_contradicts_in_year_number_kind_or_country_matches_nothing(gold, key):
    assert aligned(gold, key) == [None]


@pytest.mark.parametrize(
    ("gold", "key"),
    [
        (["Ann Lee (musician, 1950)", "Ann Lee (actor, 1960)"], "the singer born in 1950"),
        (["Reef (1994 song)", "Reef (1995 song)"], "the single of 1994"),
        (["X (film director, 1950)", "X (film director, 1960)"], "TV director, 1950"),
    ],
)
def test_kinds_that_one_thing_may_have_do_not_contradict(gold: list[str], key: str) -> None:
    assert aligned(gold, key) == [0]


YEARS = st.lists(st.integers(1900, 2030), min_size=2, max_size=5, unique=True)
WORDS = ("film", "version", "remake", "Kong", "directed", "in", "the", "of")
FILLERS = st.lists(st.sampled_from(WORDS))


@pytest.mark.slow
@given(YEARS, st.integers(1800, 2099), FILLERS, st.randoms(use_true_random=False))
def test_a_year_decides_in_any_order_of_words(years, year, words, order):
    gold = [f"Who directed the {n} film King Kong?" for n in years]
    said = [*words, str(year)]
    order.shuffle(said)
    assert aligned(gold, " ".join(said)) == [years.index(year) if year in years else None]
