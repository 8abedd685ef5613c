"""Differences of scores that are functions of sums over questions, such as corpus F1.

Such scores have no difference per question to average, hence neither Student's interval nor a mean
whose signs could be flipped: instead, questions are resampled, or the two systems' addends swapped,
and the score is recomputed each time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from branchwise.eval.bootstrap import RESAMPLES, Summed, aggregate_sums
from branchwise.eval.question_scores import of_subset, question_sums
from branchwise.eval.scores import Scores
from branchwise.eval.statistics.paired_tests import (
    EXACT_UP_TO,
    FLIPS,
    ROUNDING,
    PairedTest,
    random_heads,
)
from branchwise.eval.statistics.pairs import LeftOutQuestions
from branchwise.eval.tasks import Total

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Vector = tuple[float, ...]


@dataclass(frozen=True)
class TotalPairs:
    """Two systems' addends over the questions that both have, in order of their ids.

    `base`, `other`: a question's addends, epochs averaged; None is unscored.
    """

    total: Total
    base: tuple[_Vector | None, ...]
    other: tuple[_Vector | None, ...]
    only_base: int
    only_other: int

    @cached_property
    def paired(self) -> list[tuple[_Vector, _Vector]]:
        """The questions that both systems have scored."""
        both = zip(self.base, self.other, strict=True)
        return [(one, other) for one, other in both if one is not None and other is not None]

    @property
    def left_out(self) -> LeftOutQuestions:
        """What stays out."""
        unscored = [(a is None, b is None) for a, b in zip(self.base, self.other, strict=True)]
        count = unscored.count
        return LeftOutQuestions(
            self.only_base,
            self.only_other,
            count((True, False)),
            count((False, True)),
            count((True, True)),
        )

    def score(self, side: int) -> float | None:
        """The score of one side (0 the base, 1 the other) over the paired questions."""
        vectors = [pair[side] for pair in self.paired]
        return self.total.of(*map(sum, zip(*vectors, strict=True))) if vectors else None

    def questions(self) -> Iterator[float]:
        """other - base of each question alone, where its own scores are defined."""
        for one, other in self.paired:
            base, value = self.total.of(*one), self.total.of(*other)
            if base is not None and value is not None:
                yield round(value - base, 12)

    @property
    def change(self) -> Callable[..., float | None]:
        """From the sums of the base, then of the other, to the difference of their scores."""
        of, width = self.total.of, len(self.total.sums)

        def difference(*sums: float) -> float | None:
            base, other = of(*sums[:width]), of(*sums[width:])
            return None if base is None or other is None else other - base

        return difference


def pair_totals(base: Scores, other: Scores, total: Total, subset: str) -> TotalPairs:
    """Pair two systems' questions of one subset by id."""
    ours = question_sums(of_subset(base.items, subset), total)
    theirs = question_sums(of_subset(other.items, subset), total)
    common = sorted(ours.keys() & theirs.keys())
    return TotalPairs(
        total,
        tuple(ours[id] for id in common),
        tuple(theirs[id] for id in common),
        len(ours) - len(common),
        len(theirs) - len(common),
    )


def total_interval(
    pairs: TotalPairs, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """95% interval of the difference: percentile bootstrap over pairs of addends.

    Both systems get the same questions in each resample. None for fewer than two questions.
    """
    together = Summed([(*one, *other) for one, other in pairs.paired], pairs.change)
    found = aggregate_sums(together, seed=seed, resamples=resamples)
    return None if found.low is None or found.high is None else (found.low, found.high)


def total_test(pairs: TotalPairs, *, seed: int = 0, flips: int = FLIPS) -> PairedTest | None:
    """Two-sided permutation test: under no difference a question's addends may be either system's.

    The statistic is the difference of the two scores. All swaps where at most 16 questions differ,
    else `flips` random ones and p = (b + 1) / (m + 1). A swap for which the score is undefined
    counts as extreme. None for fewer than two questions, or where the difference is undefined.
    """
    import numpy as np

    if len(pairs.paired) < 2:
        return None
    base = np.array([one for one, _ in pairs.paired])
    other = np.array([two for _, two in pairs.paired])
    # Plain numbers, here and below: what comes of them is written as JSON.
    sums = [*base.sum(axis=0).tolist(), *other.sum(axis=0).tolist()]
    observed = pairs.change(*sums)
    if observed is None:
        return None
    gain = (other - base)[(other != base).any(axis=1)]
    exact = len(gain) <= EXACT_UP_TO
    swaps = _all_swaps(len(gain)) if exact else random_heads(len(gain), seed=seed, flips=flips)
    least = abs(observed) - ROUNDING * max(1.0, abs(observed))
    extreme = made = 0
    for block in swaps:
        moved = block @ gain
        for row in np.hstack([moved, -moved]) + sums:
            changed = pairs.change(*row.tolist())
            extreme += changed is None or abs(changed) >= least
        made += len(block)
    if exact:
        return PairedTest("exact permutation", extreme / made)
    return PairedTest("permutation", (extreme + 1) / (made + 1))


def _all_swaps(questions: int) -> "Iterator[NDArray[np.float64]]":
    """Every choice of questions to swap, once: float64 [2^questions, questions]."""
    import numpy as np

    numbers = np.arange(2**questions)[:, None]
    yield (numbers >> np.arange(questions) & 1).astype(np.float64)
