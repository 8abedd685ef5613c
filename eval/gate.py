"""Whether a system has become worse: the paired tests of two runs, with the power that they had.

A metric is worse where its paired test finds a drop, and Student's one beyond the margin, both
after Holm's correction over the metrics. Silence means little where few questions were asked: the
power is the chance that the same questions would have shown a given drop.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from branchwise.base.errors import InputError
from branchwise.eval.comparison import SIGNIFICANT, ScoreDifference, compare
from branchwise.eval.paired_tests import FLIPS, holm
from branchwise.eval.scores import Scores

GateVerdict = Literal["worse", "not worse", "too few questions"]

ENOUGH_POWER = 0.8
"""Cohen 1988: the chance of seeing an effect that a study should have to say that there is none."""
_MOST_QUESTIONS = 1_000_000
_LEAST_SHIFT = -1e6


@dataclass(frozen=True)
class Gated:
    """One metric of the new run against the base, and what the gate says of it. `p_holm` of the
    difference is that of a drop beyond the margin. `power`: the chance that this test says "worse"
    of a true drop of `drop` where as many questions differ; None for fewer than two questions."""

    difference: ScoreDifference
    verdict: GateVerdict
    power: float | None
    margin: float
    drop: float

    @property
    def enough(self) -> int | None:
        """How many questions would have a power of .8, within 1%; None where these have, the power
        is not known, or more than a million would be needed."""
        if self.power is None or self.power >= ENOUGH_POWER:
            return None
        low, high = self.difference.n, 2 * self.difference.n
        while self._power_with(high) < ENOUGH_POWER:
            low, high = high, 2 * high
            if low > _MOST_QUESTIONS:
                return None
        while high - low > max(1, low // 100):
            middle = (low + high) // 2
            low, high = (middle, high) if self._power_with(middle) < ENOUGH_POWER else (low, middle)
        return high

    def _power_with(self, questions: int) -> float:
        return power_of(self.difference, self.margin, self.drop, questions) or 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            **self.difference.to_json(),
            "verdict": self.verdict,
            "power": self.power,
            "enough": self.enough,
        }


@dataclass(frozen=True)
class GateResult:
    """The verdict on each metric; `cautions`: what else differs between the two runs."""

    margin: float
    drop: float
    metrics: tuple[Gated, ...]
    cautions: tuple[str, ...]

    @property
    def is_worse(self) -> bool:
        return any(gated.verdict == "worse" for gated in self.metrics)

    def to_json(self) -> dict[str, Any]:
        return {
            "worse": self.is_worse,
            "margin": self.margin,
            "drop": self.drop,
            "metrics": [gated.to_json() for gated in self.metrics],
            "cautions": list(self.cautions),
        }


def gate(
    base: Scores,
    new: Scores,
    *,
    metrics: Sequence[str] | None = None,
    margin: float = 0.0,
    drop: float = 0.05,
    seed: int = 0,
    flips: int = FLIPS,
) -> GateResult:
    """What the paired tests say of each metric, over the questions that both runs have. `metrics`:
    by default the headline metrics of the task. `margin`: a drop up to here does not count, in the
    metric's unit; `drop`: the drop that the power is for. Raises InputError as `compare` does, for
    a drop that is no larger than the margin, and where the runs share no question."""
    if not 0 <= margin < drop:
        problem = f"the drop of {drop:g} is not above the margin of {margin:g}"
        raise InputError(
            problem, remedy="name a larger --drop, or a smaller --margin of at least 0"
        )
    keys = [*dict.fromkeys(metrics or [c.key for c in base.scorer.scored_task.headline])]
    compared = compare(base, new, metrics=keys, subsets=("all",), seed=seed, flips=flips)
    if not any(difference.n for difference in compared.differences):
        problem = "the runs have no question in common that both have scored"
        raise InputError(problem, remedy="compare runs over the same questions")
    # Precision, recall and exact match are one thing where each question has one answer.
    alike: dict[tuple[Any, ...], list[ScoreDifference]] = {}
    for each in compared.differences:
        alike.setdefault(_numbers(each), []).append(each)
    tests = [[_p_beyond(margin, difference) for difference in own] for own in alike.values()]
    largest = [max((p for p in own if p is not None), default=None) for own in tests]
    corrected = dict(zip(alike, holm(largest), strict=True))
    gated = (
        _gated(replace(d, p_holm=corrected[_numbers(d)], family=len(alike)), margin, drop)
        for d in compared.differences
    )
    one = [
        f"{', '.join(d.metric for d in own)}: the same on every question, so one test"
        for own in alike.values()
        if len(own) > 1
    ]
    return GateResult(margin, drop, tuple(gated), (*compared.cautions, *one))


def _numbers(difference: ScoreDifference) -> tuple[Any, ...]:
    """The same for two metrics that are the same on every question."""
    means = (difference.base, difference.other, difference.low, difference.high)
    return (*means, difference.n, difference.higher, difference.lower)


def _p_beyond(margin: float, difference: ScoreDifference) -> float | None:
    """The larger of the paired test's p and, for a drop beyond the margin, that of Student's test
    against the margin: a drop of just the margin is called worse as rarely as none is."""
    from scipy.special import stdtr

    error = _standard_error(difference)
    if difference.p is None or difference.difference is None or error is None:
        return difference.p
    beyond = difference.difference + margin
    if beyond >= 0:
        return max(difference.p, float(margin > 0))
    statistic = beyond / error if error else -math.inf
    return max(difference.p, 2 * float(stdtr(difference.n - 1, statistic)))


def _standard_error(difference: ScoreDifference) -> float | None:
    """Of the mean difference, by its interval; None for fewer than two questions."""
    from scipy.special import stdtrit

    if difference.low is None or difference.high is None or difference.n < 2:
        return None
    quantile = float(stdtrit(difference.n - 1, 1 - SIGNIFICANT / 2))
    return (difference.high - difference.low) / 2 / quantile


def _gated(difference: ScoreDifference, margin: float, drop: float) -> Gated:
    power, p = power_of(difference, margin, drop), difference.p_holm
    verdict: GateVerdict = "not worse"
    if p is not None and p < SIGNIFICANT and (difference.difference or 0) < -margin:
        verdict = "worse"
    elif power is None or power < ENOUGH_POWER:
        verdict = "too few questions"
    return Gated(difference, verdict, power, margin, drop)


def power_of(
    difference: ScoreDifference, margin: float, drop: float, questions: int | None = None
) -> float | None:
    """The chance that a true drop of `drop` is called worse with so many `questions` (by default
    those of the difference), which differ as these do; between 0 and 1, None as in `Gated`.

    By the noncentral t distribution of the mean difference over its standard error; by McNemar's
    test in the binomial counts of its discordant pairs (Connor 1987: the power is the mean over how
    many there are). Both tests must find it, at Holm's strictest level: the less likely one tells.
    A drop needs at least as large a share of questions that differ as it is itself.
    """
    from scipy.stats import binom, nct, t

    n, error = questions or difference.n, _standard_error(difference)
    if error is None or n < 2:
        return None
    error *= (difference.n / n) ** 0.5
    level, freedom = SIGNIFICANT / difference.family, n - 1
    # Where the spread is that of rounding, scipy knows no value beyond.
    shift = max((margin - drop) / error, _LEAST_SHIFT) if error else _LEAST_SHIFT
    beyond = float(nct.cdf(t.ppf(level / 2, freedom), freedom, shift))
    differing = min(1.0, max((difference.higher + difference.lower) / difference.n, drop))
    if difference.test == "McNemar":
        return min(beyond, _power_of_mcnemar(n, differing, drop, level))
    # Signs of k differing questions have no p below 2 / 2^k.
    fewest = math.floor(1 - math.log2(level)) + 1
    return min(beyond, float(binom.sf(fewest - 1, n, differing)))


def _power_of_mcnemar(n: int, differing: float, drop: float, level: float) -> float:
    """`differing`: the share of questions that only one of the systems has right."""
    import numpy as np
    from scipy.stats import binom

    counts = np.arange(n + 1)
    chances = binom.pmf(counts, n, differing)
    # Of so many differing questions, how many may be gained for twice the tail to be below `level`.
    most = binom.ppf(level / 2, counts, 0.5)
    most = np.where(2 * binom.cdf(most, counts, 0.5) < level, most, most - 1)
    gained = (1 - drop / differing) / 2
    return float((chances * binom.cdf(most, counts, gained)).sum())
