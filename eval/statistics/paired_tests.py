"""Tests and intervals of paired differences, and Holm's correction for a family of tests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from branchwise.eval.statistics.pairs import Pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


TestName = Literal["McNemar", "exact permutation", "permutation"]

FLIPS = 9_999
"""Random sign vectors of a Monte Carlo test: its smallest p-value is .0001."""

EXACT_UP_TO = 16
"""Up to so many differing questions, every choice of signs is tried."""
# Sums that differ by rounding only are equal: a tie must count as "at least as extreme".
ROUNDING = 1e-9
# Signs are drawn in blocks so that memory does not grow with flips x questions.
_BLOCK_SIGNS = 2_000_000


@dataclass(frozen=True)
class PairedTest:
    """A two-sided p-value and the test that gave it."""

    name: TestName
    p: float


def paired_tests(pairs: Pairs, *, seed: int = 0, flips: int = FLIPS) -> list[PairedTest | None]:
    """A test for each metric; None for fewer than two questions.

    Values that are all 0 or 1 get the exact McNemar test; others the permutation test of the mean
    difference, exact where at most 16 questions differ, else with `flips` random sign vectors,
    the same ones for all metrics. Without any difference p is 1.
    """
    names = [_choose(pairs, row) for row in range(len(pairs.metrics))]
    drawn = [row for row, name in enumerate(names) if name == "permutation"]
    p_values = random_flips(pairs.differences[drawn], seed=seed, flips=flips) if drawn else []
    monte_carlo = dict(zip(drawn, p_values, strict=True))
    found: list[PairedTest | None] = []
    for row, name in enumerate(names):
        changed = _changed(pairs, row)
        if name is None:
            found.append(None)
        elif name == "McNemar":
            p = mcnemar(int((changed > 0).sum()), int((changed < 0).sum()))
            found.append(PairedTest(name, p))
        elif name == "exact permutation":
            found.append(PairedTest(name, all_flips(changed)))
        else:
            found.append(PairedTest(name, monte_carlo[row]))
    return found


def _choose(pairs: Pairs, row: int) -> TestName | None:
    import numpy as np

    paired = ~np.isnan(pairs.differences[row])
    if paired.sum() < 2:
        return None
    values = np.concatenate([pairs.base[row][paired], pairs.other[row][paired]])
    if np.isin(values, (0.0, 1.0)).all():
        return "McNemar"
    few = len(_changed(pairs, row)) <= EXACT_UP_TO
    return "exact permutation" if few else "permutation"


def _changed(pairs: Pairs, row: int) -> "NDArray[np.float64]":
    """The differences that are there and not 0: signs of the others change no sum."""
    import numpy as np

    differences = pairs.differences[row]
    changed: NDArray[np.float64] = differences[~np.isnan(differences) & (differences != 0)]
    return changed


def mcnemar(gained: int, lost: int) -> float:
    """Exact McNemar test: whether the discordant pairs are a fair coin's (McNemar 1947).

    `gained`: questions that only the other system has right, `lost`: that only the base has.
    """
    from scipy.stats import binomtest

    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def all_flips(differences: "NDArray[np.float64]") -> float:
    """Exact two-sided p-value: the share of sign vectors with at least the observed |sum|.

    `differences`: float64 [questions], no NaN; time and memory are 2^questions. Zeros may stay
    out: their sign changes no sum.
    """
    import numpy as np

    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    least = abs(differences.sum()) - ROUNDING * np.abs(differences).sum()
    return float((np.abs(sums) >= least).mean())


def random_flips(
    differences: "NDArray[np.float64]", *, seed: int = 0, flips: int = FLIPS
) -> list[float]:
    """Monte Carlo two-sided p-values of the sign-flip test, one for each metric.

    `differences`: float64 [metrics, questions], NaN where left out. (b + 1) / (m + 1), b of m
    random sign vectors giving at least the observed |sum|: never 0, and never rejecting too often
    (Phipson and Smyth 2010). One matrix product does for all metrics; scipy's `permutation_test`
    takes 30 times as long or more (docs/statistics.md) and draws for each metric alone.
    """
    import numpy as np

    filled = np.nan_to_num(differences)
    observed, size = filled.sum(axis=1), np.abs(filled).sum(axis=1)
    least = np.abs(observed) - ROUNDING * size
    extreme = np.zeros(len(filled), dtype=np.int64)
    for heads in random_heads(filled.shape[1], seed=seed, flips=flips):
        # Heads keep their sign and tails lose it: the sum of heads, minus the rest.
        sums = 2 * (heads @ filled.T) - observed
        extreme += (np.abs(sums) >= least).sum(axis=0)
    return [float(p) for p in (extreme + 1) / (flips + 1)]


def random_heads(
    questions: int, *, seed: int = 0, flips: int = FLIPS
) -> "Iterator[NDArray[np.float64]]":
    """`flips` throws of a fair coin for each question, in blocks: float64 [some, questions]."""
    import numpy as np

    words = -(-questions // 32)
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_SIGNS // max(1, questions))
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        drawn = generator.integers(2**32, size=(rows, words), dtype=np.uint32).astype("<u4")
        heads = np.unpackbits(drawn.view(np.uint8), axis=1, count=questions)
        yield heads.astype(np.float64)


_LEVEL = 0.95


def students_intervals(
    differences: "NDArray[np.float64]",
) -> list[tuple[float, float] | None]:
    """95% interval of each metric's mean difference; None for fewer than two questions.

    `differences`: float64 [metrics, questions], NaN where left out. Student's paired interval, mean
    ± t(.975, n - 1) s / sqrt(n); a question counts once, however many epochs it has, which makes it
    the cluster. Bootstrap intervals were tried: on 60 questions of few different values the
    percentile and BCa ones cover too little, symmetric ones too much (docs/statistics.md).
    """
    from scipy.stats import t

    found: list[tuple[float, float] | None] = []
    for row in differences:
        values = row[row == row]  # NaN alone differs from itself
        n = len(values)
        if n < 2:
            found.append(None)
            continue
        mean = float(values.mean())
        half = float(t.ppf((1 + _LEVEL) / 2, n - 1) * values.std(ddof=1) / n**0.5)
        found.append((mean - half, mean + half))
    return found


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the order given; None is a test that was not made and stays None.

    The k-th smallest of m values becomes (m - k + 1) times itself, at least what the one before
    became, at most 1 (Holm 1979). Written here because scipy corrects for the rate of false
    discoveries only (`false_discovery_control`), and statsmodels would bring pandas with it.
    """
    made = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(made):
        highest = max(highest, min(1.0, (len(made) - rank) * p))
        adjusted[place] = highest
    return adjusted
