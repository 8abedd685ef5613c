"""Paired tests and Holm's correction, by hand, scipy, and statsmodels 0.15.0 (values fixed)."""

import itertools
import math
import random

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval import paired_tests
from branchwise.eval.paired_tests import all_flips, holm, mcnemar, random_flips


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    # statsmodels 0.15.0, contingency_tables.mcnemar(exact=True)
    [(9, 2, 0.0654296875), (30, 14, 0.022628841205914796), (5, 5, 1.0), (0, 6, 0.03125)],
)
def test_mcnemar_is_that_of_statsmodels(gained, lost, p):
    assert mcnemar(gained, lost) == pytest.approx(p, rel=1e-12)
    assert mcnemar(lost, gained) == pytest.approx(p, rel=1e-12)


def test_no_discordant_pair_gives_one():
    assert mcnemar(0, 0) == 1


@given(st.lists(st.sampled_from([-1, -0.5, -1 / 3, 0.2, 0.25, 2 / 3, 0.9]), max_size=7))
def test_exact_permutation_test_counts_all_signs(differences):
    """Against every sign vector, in fractions of 60 that are exact."""
    whole = [round(60 * d) for d in differences]
    sums = [
        abs(sum(s * d for s, d in zip(signs, whole, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(whole))
    ]
    share = sum(s >= abs(sum(whole)) for s in sums) / len(sums)
    assert all_flips(np.array(differences)) == share


def test_exact_permutation_test_is_that_of_scipy():
    differences = np.array([0.5, 0.25, -0.2, 0.1, 1 / 3, 0.75, -0.05, 0.4, 0.4])
    whole = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert all_flips(differences) == pytest.approx(whole.pvalue)


def test_monte_carlo_test_comes_near_the_exact_one():
    generator = random.Random(5)
    differences = np.array([[generator.choice([-0.5, -0.2, 0.3, 0.4]) for _ in range(15)]] * 2)
    differences[1] -= 0.1
    flips = 40_000
    for row, p in zip(differences, random_flips(differences, flips=flips), strict=True):
        exact = all_flips(row)
        assert p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / flips))


def test_equal_sums_count_as_extreme_whatever_their_rounding():
    assert random_flips(np.array([[0.1, -0.1] * 20])) == [1.0]
    # Every |sum| is at least 0, which .1 + .2 - .3 is but for rounding.
    assert random_flips(np.array([[0.1, 0.2, -0.3] * 7])) == [1.0]
    assert all_flips(np.array([0.1, 0.2, -0.3])) == 1.0
    # .1 and .2 with one sign: 2 of 8 vectors; .1 + .2 is .30000000000000004.
    assert all_flips(np.array([0.3, 0.1, 0.2])) == 2 / 8


def test_metrics_share_the_signs_and_do_not_depend_on_each_other():
    table = np.random.default_rng(11).normal(size=(3, 50))
    table[1] = -table[0]
    table[2, ::3] = np.nan
    together = random_flips(table)
    assert together[0] == together[1]
    assert [random_flips(table[row : row + 1])[0] for row in range(3)] == together


def test_drawing_signs_in_blocks_changes_nothing(monkeypatch):
    table = np.random.default_rng(3).normal(size=(3, 70))
    whole = random_flips(table, flips=999)
    monkeypatch.setattr(paired_tests, "_BLOCK_SIGNS", 7 * 70)
    assert random_flips(table, flips=999) == whole


def test_holm_is_that_of_statsmodels():
    # statsmodels 0.15.0, multitest.multipletests(method="holm")
    found = holm([0.01, 0.04, 0.03, 0.005, 0.5, 0.03])
    assert found == pytest.approx([0.05, 0.12, 0.12, 0.03, 0.5, 0.12])


def test_holm_leaves_out_what_was_not_tested():
    assert holm([0.02, None, 0.03]) == [0.04, None, 0.04]
    assert holm([]) == []
    assert holm([0.6, 0.7]) == [1.0, 1.0]


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_holm_is_monotone_capped_and_blind_to_order(p_values, shuffler):
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    ranked = [a for _, a in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)
    assert min(adjusted) == min(1.0, len(p_values) * min(p_values))
    order = shuffler.sample(range(len(p_values)), len(p_values))
    assert holm([p_values[place] for place in order]) == [adjusted[place] for place in order]
