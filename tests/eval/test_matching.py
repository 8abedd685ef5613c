import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from branchwise.eval.branch_scores import matching

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


@given(EDGES, st.randoms(use_true_random=False))
def test_order_changes_nothing(edges: list[set[int]], order: random.Random) -> None:
    shuffled = order.sample(edges, len(edges))
    assert len(matching(shuffled)) == len(matching(edges))
