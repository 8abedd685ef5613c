"""Pairs of systems with a known difference, for the simulations in paired_statistics.py."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
"""float64 [epochs, data sets, questions]."""

Size = tuple[int, int]
"""Data sets, questions."""

EPOCHS = 3


class Kind(NamedTuple):
    """A kind of data: what makes both systems' values, and by how much they truly differ.

    `base`: the true mean of the base; `steps`: values are multiples of 1/steps, None where they
    are no multiples of anything large. `stress` kinds are shown, not judged: with few questions
    no kind of interval is right there.
    """

    name: str
    make: Callable[[np.random.Generator, Size], tuple[Values, Values]]
    difference: float
    base: float
    steps: int | None = None
    stress: bool = False


def recall(rng: np.random.Generator, size: Size, better: float) -> tuple[Values, Values]:
    """Shares of answer sets of 1 to 40 that are found; a quarter of the questions is hopeless.

    Both systems find each answer with the question's probability, of a U-shaped distribution; the
    other system finds, in 30% of the questions that are neither hopeless nor trivial, a share
    `better` of what is missing.
    """
    kind, gold = rng.random(size), np.minimum(1 + rng.geometric(0.25, size), 40)
    found = rng.beta(0.8, 0.7, size)
    found = np.where(kind < 0.25, 0.0, np.where(kind < 0.4, 1.0, found))
    helped = (rng.random(size) < 0.3) & (kind >= 0.4)
    other = found + np.where(helped, better * (1 - found), 0.0)
    return (rng.binomial(gold, found) / gold)[None], (rng.binomial(gold, other) / gold)[None]


def em(
    rng: np.random.Generator, size: Size, better: float, epochs: int = 1
) -> tuple[Values, Values]:
    """0 or 1: most questions are right 5% of the time, some 60%; the other adds `better`."""
    right = np.where(rng.random(size) < 0.7, 0.05, 0.6)
    drawn = rng.random((2, epochs, *size))
    return (drawn[0] < right).astype(float), (drawn[1] < right + better).astype(float)


def lopsided(rng: np.random.Generator, size: Size) -> tuple[Values, Values]:
    """4% of the questions gain .9, 36% lose .1, the rest stays: no difference in the mean."""
    drawn = rng.random((1, *size))
    change = np.where(drawn < 0.04, 0.9, np.where(drawn < 0.4, -0.1, 0.0))
    return np.full(change.shape, 0.1), 0.1 + change


def rare(rng: np.random.Generator, size: Size) -> tuple[Values, Values]:
    """8% of the questions gain .2, .5 or 1, none loses."""
    gain = np.where(rng.random(size) < 0.08, rng.choice([0.2, 0.5, 1.0], size), 0.0)[None]
    return np.zeros(gain.shape), gain


# The mean of beta(.8, .7) is .8/1.5; 60% of the questions have it, 15% are always found.
_FOUND = 0.8 / 1.5
RECALL = 0.15 + 0.6 * _FOUND
RECALL_BETTER = 0.6 * 0.3 * 0.4 * (1 - _FOUND)
EM = 0.7 * 0.05 + 0.3 * 0.6

KINDS = (
    Kind("recall, the same", lambda rng, size: recall(rng, size, 0.0), 0.0, RECALL),
    Kind("recall, better", lambda rng, size: recall(rng, size, 0.4), RECALL_BETTER, RECALL),
    Kind("EM, the same", lambda rng, size: em(rng, size, 0.0), 0.0, EM, 1),
    Kind("EM, better", lambda rng, size: em(rng, size, 0.1), 0.1, EM, 1),
    Kind("EM, 3 epochs, the same", lambda rng, size: em(rng, size, 0.0, EPOCHS), 0.0, EM, EPOCHS),
    Kind("EM, 3 epochs, better", lambda rng, size: em(rng, size, 0.1, EPOCHS), 0.1, EM, EPOCHS),
    Kind("many lose, few gain more", lopsided, 0.0, 0.1, stress=True),
    Kind("rare gains", rare, 0.08 * 1.7 / 3, 0.0, stress=True),
)
