import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.normalise import normalise
from branchwise.eval.alignment import _similarity, align
from branchwise.eval.name_words import telling_names

KING_KONGS = ["King Kong (1933 film)", "King Kong (1976 film)", "King Kong (2005 film)"]
HEATS = ["Heat (1986 film)", "Heat (1995 film)"]


def aligned(gold: list[str], predicted: list[str]) -> dict[str, str | None]:
    """Predicted name to gold name."""
    found = align(gold, predicted)
    return {name: None if i is None else gold[i] for name, i in found.items()}


def test_two_heats_are_told_apart_by_their_years() -> None:
    assert aligned(HEATS, ["Heat, 1995", "the 1986 film Heat"]) == {
        "Heat, 1995": HEATS[1],
        "the 1986 film Heat": HEATS[0],
    }


def test_a_name_of_common_tokens_only_stands_for_no_branch() -> None:
    assert aligned(HEATS, ["Heat", "Heat (film)"]) == {"Heat": None, "Heat (film)": None}


def test_a_year_of_no_gold_branch_stands_for_none() -> None:
    assert aligned(HEATS, ["Heat (2013 film)"]) == {"Heat (2013 film)": None}


def test_a_contradicting_year_outweighs_everything_else() -> None:
    gold = ["Heat (1986 film, Reynolds)", "Heat (1995 film, De Niro)"]
    assert aligned(gold, ["Heat (2013 film, De Niro)"]) == {"Heat (2013 film, De Niro)": None}
    assert aligned(gold, ["Heat with De Niro"]) == {"Heat with De Niro": gold[1]}


def test_a_year_in_all_gold_names_is_not_compared() -> None:
    gold = ["2016 Olympics, men", "2016 Olympics, women"]
    assert aligned(gold, ["Rio 2015-16, women"]) == {"Rio 2015-16, women": gold[1]}


def test_a_year_that_is_also_the_title_tells_branches_apart() -> None:
    gold = ["1984 (1956 film)", "1984 (1984 film)"]
    assert aligned(gold, ["1984 (film of 1984)", "1984 (1956)"]) == {
        "1984 (film of 1984)": gold[1],
        "1984 (1956)": gold[0],
    }
    gold = ["1984 (1956 film, Hurt)", "1984 (1984 film, Hurt)", "1984 (book)"]
    assert aligned(gold, ["1984 with Hurt (1984)"]) == {"1984 with Hurt (1984)": gold[1]}


def test_leftovers_join_the_branch_that_they_name() -> None:
    found = aligned(HEATS, ["Heat (1995)", "1995: the leads", "cast of 1995"])
    assert set(found.values()) == {HEATS[1]}


def test_a_leftover_below_the_threshold_stands_for_no_branch() -> None:
    gold = ["Director: Mann", "Composer: Goldsmith"]
    # Dice of {director} and {director, mann} is 2/3; of {mann, composer} and either name 1/2.
    assert aligned(gold, [*gold, "the director"])["the director"] == gold[0]
    assert aligned(gold, [*gold, "Mann as composer"])["Mann as composer"] is None


def test_a_name_stands_for_the_branch_that_says_most_of_it() -> None:
    gold = ["red near", "red far blue"]
    assert aligned(gold, ["near far blue", "near"]) == {"near far blue": gold[1], "near": gold[0]}


def test_default_never_aligns_with_named_branches() -> None:
    assert aligned(HEATS, ["default", "Default "]) == {"default": None, "Default ": None}
    gold = ["Default (1995 album)", "Default (band)"]
    assert aligned(gold, ["default"]) == {"default": None}


def test_named_branches_never_align_with_default() -> None:
    gold = ["default", "Heat (1995 film)", "Heat (1986 film)"]
    assert aligned(gold, ["default", "the default reading"]) == {
        "default": "default",
        "the default reading": None,
    }


@pytest.mark.parametrize("gold", ["default", "Heat (1995 film)"])
def test_with_one_gold_branch_keys_are_ignored(gold: str) -> None:
    names = ["default", "x", "Heat (1986 film)", ""]
    assert align([gold], names) == dict.fromkeys(names, 0)


def test_a_gold_name_without_tokens_of_its_own_aligns_with_itself_only() -> None:
    gold = ["Batman", "Batman Returns"]
    assert aligned(gold, ["Batman", "Batman returns!"]) == {
        "Batman": gold[0],
        "Batman returns!": gold[1],
    }
    assert aligned(gold, ["the Batman film"]) == {"the Batman film": None}


def test_a_name_is_preferred_to_one_of_the_same_tokens() -> None:
    gold = ["Ali v Foreman", "Foreman v Ali", "Ali v Frazier"]
    assert aligned(gold, ["Foreman v Ali"]) == {"Foreman v Ali": gold[1]}


def test_articles_count_where_gold_names_differ_in_nothing_else() -> None:
    gold = ["Heat", "The Heat"]
    assert aligned(gold, ["Heat", "The Heat"]) == {"Heat": gold[0], "The Heat": gold[1]}


def test_similarity_is_dice_by_weight() -> None:
    gold = ["Heat (1986 film)", "Heat (1995 film)", "Heat (song)"]
    # Weights: heat 0, film ln 3/2, the others ln 3.
    film, year = math.log(3 / 2), math.log(3)
    expected = 2 * film / (film + film + year)
    for name, values in {
        "the film Heat with Reynolds": [expected, expected, 0.0],
        "Heat (1995 film)": [0.0, 1.0, 0.0],
    }.items():
        names = telling_names(gold, [name])
        row = [_similarity(names, names.predicted[0], column) for column in names.gold]
        assert row == pytest.approx(values)


def test_a_name_that_says_two_readings_equally_stands_for_none() -> None:
    names = ["Heat, 1986 and 1995"]
    assert aligned(HEATS, names) == {names[0]: None}
    assert aligned(HEATS, [*names, "Heat (1986)"]) == {names[0]: HEATS[1], "Heat (1986)": HEATS[0]}


def test_a_very_long_name_is_compared_by_its_beginning() -> None:
    name = "1995 " + "x" * 10**6 + " 1986"
    assert aligned(HEATS, [name]) == {name: HEATS[1]}


NAMES = st.lists(
    st.one_of(
        st.sampled_from([*KING_KONGS, "Kong 1976", "default", "King Kong", "2005 remake"]),
        st.lists(st.sampled_from(["kong", "1976", "2005", "film", "novel", "the"])).map(" ".join),
    ),
    max_size=6,
    unique=True,
)


@pytest.mark.slow
@given(NAMES, NAMES.filter(bool), st.randoms(use_true_random=False))
def test_order_changes_nothing(predicted: list[str], gold: list[str], order: random.Random) -> None:
    before = aligned(gold, predicted)
    other_gold = order.sample(gold, len(gold))
    assert aligned(other_gold, order.sample(predicted, len(predicted))) == before


@given(st.lists(st.text(), unique=True, min_size=1, max_size=6))
def test_gold_names_align_with_themselves(names: list[str]) -> None:
    gold = list({normalise(name, articles=True): name for name in names}.values())
    assert all(i is not None for i in align(gold, gold).values())


def test_a_qualifier_of_a_branch_is_compared_as_an_answers_is() -> None:
    places = ["Kino, Velmara", "Kino, Aldvenia"]
    assert align(places, ["Kino (Velmaran city)"]) == {"Kino (Velmaran city)": 0}
    assert align(places, ["Kino (Merrorian city)"]) == {"Kino (Merrorian city)": None}
    people = ["Ana Silva (actor, born 1959)", "Ana Silva (novelist, born 1971)"]
    assert align(people, ["Ana Silva (actress)", "Ana Silva (writer)"]) == {
        "Ana Silva (actress)": 0,
        "Ana Silva (writer)": 1,
    }
    works = ["Heat (Michael Mann film)", "Heat (Dick Richards film)"]
    assert align(works, ["Heat (Mann film, 1995)"]) == {"Heat (Mann film, 1995)": 0}
    assert align(works, ["Heat (Spielberg film)"]) == {"Heat (Spielberg film)": None}
