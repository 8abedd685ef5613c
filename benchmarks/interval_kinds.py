"""How often several kinds of 95% interval cover a mean, on the same simulated data."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from simulated_pairs import KINDS, Kind

from branchwise.eval.bootstrap import aggregate

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Low and high ends of an interval, float64 [data sets]."""

RESAMPLES, AT_ONCE, ROUNDING = 2_000, 100, 1e-9
NAMES = ("Student's t", "percentile", "symmetric", "BCa")


def show_intervals(sizes: Sequence[int], sets: int) -> None:
    """Print the coverage of differences between two systems, and of the base's own mean."""
    print(
        f"\nother intervals, {sets:,} data sets (three standard errors: "
        f"{3 * (0.05 * 0.95 / sets) ** 0.5:.1%})"
    )
    for what in ("difference", "mean of the base"):
        print(f"\n{what:<28}{'n':>6}" + "".join(f"{name:>13}" for name in NAMES))
        for questions in sizes:
            for kind in KINDS:
                if what == "difference" or (kind.difference == 0 and not kind.stress):
                    shares = coverage(kind, questions, sets, of_base=what != "difference")
                    cells = "".join(f"{share:>13.1%}" for share in shares)
                    print(f"{kind.name:<28}{questions:>6}{cells}", flush=True)


def coverage(kind: Kind, questions: int, sets: int, *, of_base: bool) -> NDArray[np.float64]:
    """Share of data sets that each kind of interval covers the truth of."""
    truth = kind.base if of_base else kind.difference
    hits, blocks = np.zeros(len(NAMES)), -(-sets // AT_ONCE)
    for seed in range(blocks):
        base, other = kind.make(np.random.default_rng([seed, questions]), (AT_ONCE, questions))
        values = (base if of_base else other - base).mean(axis=0)
        for place, (low, high) in enumerate(intervals(values, seed)):
            hits[place] += ((low <= truth + ROUNDING) & (truth - ROUNDING <= high)).sum()
    return hits / (blocks * AT_ONCE)


def intervals(values: NDArray[np.float64], seed: int) -> list[Ends]:
    """Intervals of each row's mean in the order of NAMES; `values`: [data sets, questions]."""
    n, centre = values.shape[1], values.mean(axis=1)
    reach = stats.t.ppf(0.975, n - 1) * values.std(axis=1, ddof=1) / n**0.5
    named = aggregate({str(row): line.tolist() for row, line in enumerate(values)}, seed=seed)
    ends = np.array([(found.low, found.high) for found in named.values()], dtype=float)
    means = resampled(values, seed)
    return [
        (centre - reach, centre + reach),
        (ends[:, 0], ends[:, 1]),
        symmetric(means, centre, n),
        bca(means, values),
    ]


def resampled(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Means of resamples: float64 [resamples, data sets]."""
    n, rng = values.shape[1], np.random.default_rng(seed)
    return rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) @ values.T / n


def symmetric(means: NDArray[np.float64], centre: NDArray[np.float64], n: int) -> Ends:
    """Quantile of |resampled mean - mean|, at the level of Hesterberg's expanded percentile."""
    level = 2 * stats.norm.cdf((n / (n - 1)) ** 0.5 * stats.t.ppf(0.975, n - 1)) - 1
    reach = np.quantile(np.abs(means - centre), level, axis=0)
    return centre - reach, centre + reach


def bca(means: NDArray[np.float64], values: NDArray[np.float64]) -> Ends:
    """Bias-corrected and accelerated (Efron 1987); ties count half. Percentile without spread."""
    centre = values.mean(axis=1)
    below = (
        (means < centre - ROUNDING).mean(axis=0) + (means < centre + ROUNDING).mean(axis=0)
    ) / 2
    bias = stats.norm.ppf(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    apart = values - centre[:, None]
    spread = np.maximum((apart**2).sum(axis=1), ROUNDING) ** 1.5
    acceleration = (apart**3).sum(axis=1) / (6 * spread)
    found = []
    for level in (0.025, 0.975):
        shifted = bias + stats.norm.ppf(level)
        levels = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
        columns = zip(means.T, levels, strict=True)
        found.append(np.array([np.quantile(column, at) for column, at in columns]))
    return found[0], found[1]
