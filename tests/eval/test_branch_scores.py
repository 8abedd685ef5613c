"""The rules of the set scores, each by hand."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from branchwise.corpora.questions import Answer
from branchwise.eval.branch_scores import matching
from support.eval.scoring_cases import pooled, strict

HEATS = {
    "Heat (1986 film)": ["Burt Reynolds", "Karen Young"],
    "Heat (1995 film)": ["Al Pacino", "Robert De Niro", "Val Kilmer"],
}


def test_each_branch_is_scored_against_its_own_gold_branch() -> None:
    answers = {"Heat (1995)": ["Al Pacino", "Val Kilmer", "Tom Cruise"], "1986": ["Karen Young"]}
    score = strict(HEATS, answers)
    assert (score.right, score.predicted, score.gold) == (3, 4, 5)
    assert score.precision == 3 / 4
    assert score.recall == 3 / 5
    assert score.em == 0


def test_everything_right_is_an_exact_match() -> None:
    score = strict(HEATS, HEATS)
    assert (score.precision, score.recall, score.em) == (1, 1, 1)


def test_one_gold_branch_ignores_keys_and_pools_entities() -> None:
    gold = {"default": ["A", "B", "C"]}
    answers = {"first": ["A"], "second": ["B", "A"], "third": ["X"], "default": ["C"]}
    for score in (strict(gold, answers), pooled(gold, answers)):
        assert (score.right, score.predicted, score.gold) == (3, 4, 3)


def test_default_is_wrong_where_branches_have_names() -> None:
    answers = {"default": ["Al Pacino", "Burt Reynolds"]}
    assert (strict(HEATS, answers).right, strict(HEATS, answers).predicted) == (0, 2)
    assert (pooled(HEATS, answers).right, pooled(HEATS, answers).predicted) == (2, 2)


def test_the_entity_of_another_branch_is_wrong_in_strict_and_right_in_pooled() -> None:
    answers = {"Heat (1986 film)": ["Al Pacino"]}
    assert (strict(HEATS, answers).right, strict(HEATS, answers).predicted) == (0, 1)
    assert (pooled(HEATS, answers).right, pooled(HEATS, answers).predicted) == (1, 1)


def test_entities_of_unaligned_branches_are_false_positives() -> None:
    answers = {"Heat (1995 film)": ["Al Pacino"], "Heat (2013 film)": ["Al Pacino", "X"]}
    score = strict(HEATS, answers)
    assert (score.right, score.predicted, score.gold) == (1, 3, 5)


def test_leftovers_are_united_with_the_branch_that_they_join() -> None:
    answers = {
        "Heat (1995 film)": ["Al Pacino", "Val Kilmer"],
        "Heat 1995, the other lead": ["Robert De Niro", "al pacino"],
    }
    score = strict(HEATS, answers)
    assert (score.right, score.predicted, score.gold) == (3, 3, 5)


@pytest.mark.parametrize("answers", [{}, {"default": []}, {"Heat (1995 film)": ["", " "]}])
def test_an_empty_prediction_scores_zero(answers: dict[str, list[str]]) -> None:
    for score in (strict(HEATS, answers), pooled(HEATS, answers)):
        assert (score.precision, score.recall, score.em) == (0, 0, 0)
        assert score.predicted == 0


def test_an_empty_branch_counts_nothing() -> None:
    answers = {"Heat (1995 film)": ["Al Pacino"], "Heat (1986 film)": [], "Heat (2013 film)": []}
    score = strict(HEATS, answers)
    assert (score.right, score.predicted, score.gold) == (1, 1, 5)


def test_wrong_forms_of_one_entity_of_another_branch_count_once() -> None:
    answers = {"Heat (1986 film)": ["Al Pacino", "AL PACINO!", "nobody", "Nobody."]}
    assert strict(HEATS, answers).predicted == 2
    gold = HEATS | {"Heat (1995 film)": [Answer(text="Robert De Niro", aliases=("De Niro",))]}
    assert strict(gold, {"Heat (1986 film)": ["De Niro", "Robert De Niro"]}).predicted == 1


def test_a_wrong_answer_never_makes_two_others_count_once() -> None:
    gold = {"in 1986": ["A"], "in 1995": ["King Kong"]}
    wrong = ["King Kong", "King Kong 1976 film"]
    before = strict(gold, {"in 1986": ["A", *wrong]})
    after = strict(gold, {"in 1986": ["A", *wrong, "King Kong (1976 film)"]})
    assert (before.right, before.predicted) == (after.right, after.predicted) == (1, 3)


def test_gold_branches_of_one_name_are_one_branch() -> None:
    gold = {"King Kong 1976": ["A"], "King Kong (1976)": ["B"], "King Kong (2005)": ["C"]}
    score = strict(gold, {"King Kong (1976)": ["A", "B"], "King Kong (2005)": ["C"]})
    assert (score.right, score.predicted, score.em) == (3, 3, 1)


def test_an_added_answer_changes_no_alignment_even_in_an_empty_branch() -> None:
    gold = {"1995 film": ["A", "B"], "1986 film": ["C"]}
    before = {"the 1995 film": ["A"], "1995, again": []}
    after = {"the 1995 film": ["A"], "1995, again": ["B"]}
    assert strict(gold, before).right == 1
    assert strict(gold, after).right == 2


def test_a_question_without_gold_entities_scores_zero_and_does_not_divide() -> None:
    score = strict({"a": [], "b": []}, {"a": ["X"]})
    assert (score.precision, score.recall, score.em) == (0, 0, 0)


EDGES = st.lists(st.sets(st.integers(0, 7), max_size=5), max_size=9)


def test_greedy_order_does_not_matter() -> None:
    # Taking 0 for the first would leave nothing for the second.
    assert matching([{0, 1}, {0}]) == {0: 1, 1: 0}
    assert len(matching([{0, 1}, {0}, {1, 2}, {2}])) == 3
    assert matching([set(), set()]) == {}


def test_a_long_chain_needs_no_recursion() -> None:
    n = 3_000
    edges = [{i, i + 1} for i in range(n)] + [{0}]
    assert len(matching(edges)) == n + 1


@pytest.mark.slow
@given(EDGES)
def test_agrees_with_scipy(edges: list[set[int]]) -> None:
    matrix = np.zeros((len(edges) + 1, 8), dtype=int)
    for row, columns in enumerate(edges):
        matrix[row, list(columns)] = 1
    expected = int((maximum_bipartite_matching(csr_matrix(matrix)) >= 0).sum())
    assert len(matching(edges)) == expected


@pytest.mark.slow
@given(EDGES, st.randoms(use_true_random=False))
def test_order_changes_nothing(edges: list[set[int]], order: random.Random) -> None:
    shuffled = order.sample(edges, len(edges))
    assert len(matching(shuffled)) == len(matching(edges))
