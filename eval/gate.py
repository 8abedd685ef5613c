"""Whether a system has become worse: the paired tests of two runs, with the power that they had.

A metric is worse where its paired test says so after Holm's correction over the metrics, and the
whole 95% interval of the difference lies below the margin. Silence means little where few questions
were asked: the power is the chance that the same questions would have shown a given drop.
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


@dataclass(frozen=True)
class Gated:
    """One metric of the new run against the base, and what the gate says of it. `power`: the chance
    that this test says "worse" of a true drop of `drop` where as many questions differ; None for a
    single question, or where none differs."""

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
    keys = metrics or [column.key for column in base.scorer.scored_task.headline]
    compared = compare(base, new, metrics=keys, subsets=("all",), seed=seed, flips=flips)
    if not any(difference.n for difference in compared.differences):
        problem = "the runs have no question in common that both have scored"
        raise InputError(problem, remedy="compare runs over the same questions")
    corrected = holm([difference.p for difference in compared.differences])
    gated = (
        _gated(replace(difference, p_holm=p, family=len(keys)), margin, drop)
        for difference, p in zip(compared.differences, corrected, strict=True)
    )
    return GateResult(margin, drop, tuple(gated), compared.cautions)


def _gated(difference: ScoreDifference, margin: float, drop: float) -> Gated:
    power = power_of(difference, margin, drop)
    p, high = difference.corrected_p, difference.high
    verdict: GateVerdict = "not worse"
    if p is not None and p < SIGNIFICANT and high is not None and high < -margin:
        verdict = "worse"
    elif difference.n < 2 or (power is not None and power < ENOUGH_POWER):
        verdict = "too few questions"
    return Gated(difference, verdict, power, margin, drop)


def power_of(
    difference: ScoreDifference, margin: float, drop: float, questions: int | None = None
) -> float | None:
    """The chance that a true drop of `drop` is called worse with so many `questions` (by default
    those of the difference), which differ as these do; between 0 and 1, None as in `Gated`.

    By the noncentral t distribution of the mean difference over its standard error, of which the
    interval tells; by McNemar's test in the binomial counts of its discordant pairs (Connor 1987:
    the power is the mean over how many there are). Both bounds must be passed, that of the test at
    Holm's strictest level and that of the interval: the less likely one tells.
    """
    from scipy.stats import binom, nct, t

    n = questions or difference.n
    if difference.low is None or difference.high is None or difference.n < 2 or n < 2:
        return None
    before = difference.n - 1
    half = (difference.high - difference.low) / 2
    error = half / float(t.ppf(1 - SIGNIFICANT / 2, before)) * (difference.n / n) ** 0.5
    if not error:
        return None
    level, freedom = SIGNIFICANT / difference.family, n - 1

    def passes(shift: float, level: float) -> float:
        return float(nct.cdf(t.ppf(level / 2, freedom), freedom, -shift / error))

    by_interval = passes(drop - margin, SIGNIFICANT)
    differing = (difference.higher + difference.lower) / difference.n
    if difference.test == "McNemar":
        return min(by_interval, _power_of_mcnemar(n, max(differing, drop), drop, level))
    # Signs of k differing questions have no p below 2 / 2^k.
    fewest = math.floor(1 - math.log2(level)) + 1
    return min(by_interval, passes(drop, level), float(binom.sf(fewest - 1, n, differing)))


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
