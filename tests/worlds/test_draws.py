"""Pseudo-random numbers that are the same on every machine."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from branchwise.worlds import draws

SEEDS = st.integers(0, 2**64)


def test_words_are_those_of_splitmix64(monkeypatch):
    # The first outputs for state 0, as published with the reference implementation.
    monkeypatch.setattr(draws, "stream_key", lambda seed, stream: 0)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert draws.words(0, "any", 3).tolist() == expected


@given(SEEDS, st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=20))
def test_draws_stay_below_their_bounds(seed, bounds):
    drawn = draws.below(seed, "x", np.array(bounds))
    assert all(0 <= value < bound for value, bound in zip(drawn.tolist(), bounds, strict=True))


@given(SEEDS, st.integers(0, 50))
def test_shuffling_keeps_what_there_is(seed, size):
    assert sorted(draws.shuffled(seed, "x", np.arange(size)).tolist()) == list(range(size))
