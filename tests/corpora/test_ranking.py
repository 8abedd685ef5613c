"""Ties and fusion, on numbers that can be checked by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.retrieval import Scored, fused, ranked

IDS = ["d", "a", "c", "b"]
rankings = st.lists(st.permutations(range(8)).map(lambda p: p[:5]), min_size=1, max_size=3)


def name(row: int) -> str:
    return "hgfedcba"[row]


def test_ties_are_broken_by_id_also_across_the_border():
    scored = [Scored(0, 0.5), Scored(1, 0.9), Scored(2, 0.5), Scored(3, 0.5)]
    assert [s.row for s in ranked(scored, 2, IDS.__getitem__)] == [1, 3]
    assert [s.row for s in ranked(scored, 4, IDS.__getitem__)] == [1, 3, 2, 0]


def test_ids_are_read_only_where_scores_tie():
    scored = [Scored(0, 3.0), Scored(1, 2.0), Scored(2, 1.0), Scored(3, 1.0)]
    assert [s.row for s in ranked(scored, 2, lambda row: pytest.fail("read"))] == [0, 1]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=8), st.integers(1, 8), st.randoms())
def test_a_ranking_is_the_sort_by_score_then_id_in_whatever_order_it_came(scores, k, random):
    scored = [Scored(row, score) for row, score in enumerate(scores)]
    expected = sorted(scored, key=lambda s: (-s.score, name(s.row)))[:k]
    random.shuffle(scored)
    assert ranked(scored, k, name) == expected


def test_reciprocal_ranks_are_summed():
    first = [Scored(0, 9.0), Scored(1, 8.0)]
    second = [Scored(2, 0.7), Scored(0, 0.6)]
    result = fused([first, second], 3, IDS.__getitem__)
    assert [s.row for s in result] == [0, 2, 1]
    assert result[0].score == pytest.approx(1 / 61 + 1 / 62)
    assert result[1].score == pytest.approx(1 / 61)
    assert result[2].score == pytest.approx(1 / 62)


def test_equal_sums_tie_whichever_ranking_came_first():
    one, other = [Scored(0, 1.0), Scored(1, 0.5)], [Scored(1, 1.0), Scored(0, 0.5)]
    assert [s.row for s in fused([one, other], 2, IDS.__getitem__)] == [1, 0]
    assert [s.row for s in fused([other, one], 2, IDS.__getitem__)] == [1, 0]


@pytest.mark.slow
@given(rankings, st.integers(1, 8))
def test_the_best_few_are_the_first_of_the_best_many(orders, k):
    lists = [[Scored(row, float(-place)) for place, row in enumerate(order)] for order in orders]
    assert fused(lists, k, name) == fused(lists, 8, name)[:k]
