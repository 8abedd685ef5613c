"""Whether the paired statistics keep their word, by simulation, and what they cost.

Two systems that do not differ are compared many times: the test should reject about 5% of the
time, or as often as so few different values let it ("attainable": McNemar's test has few possible
p-values, none of them just below 5%). The interval should cover the true difference about 95% of
the time. Everything goes through `compare`; a hundred data sets are the hundred metrics of one
pair of scores, so that they share their draws. A rate farther from what it should be than three
standard errors is marked `*`. Then other kinds of interval on the same data, and costs.

    python benchmarks/paired_statistics.py [--sets 4000] [--questions 60 200 1800]
"""

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from interval_kinds import AT_ONCE, show_intervals
from machine import describe_machine
from numpy.typing import NDArray
from scipy import stats
from simulated_pairs import EPOCHS, KINDS, Kind, Values, recall

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.comparison import compare
from branchwise.eval.effects import Cell, effects
from branchwise.eval.paired_tests import random_flips
from branchwise.eval.scores import SUBSETS, Counts, ItemScore, Scorer, Scores

LEVEL = 0.05
LARGE = 1_000
ROUNDING = 1e-9


class Rates(NamedTuple):
    """Of many comparisons: shares that reject, that could at most, and that cover the truth."""

    rejected: float
    attainable: float
    covered: float


def main() -> None:
    """Print a table of rates, tables of other intervals, and costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sets", type=int, default=4_000, help="a quarter for over 1,000 questions"
    )
    parser.add_argument("--questions", type=int, nargs="+", default=[60, 200, 1800])
    options = parser.parse_args()
    began = time.perf_counter()
    print(describe_machine())
    print(
        f"{options.sets:,} data sets of each kind and size, a quarter for more than {LARGE:,} "
        f"questions; {EPOCHS} epochs where named; nominal {LEVEL:.0%} and {1 - LEVEL:.0%}"
    )
    print(f"\n{'kind':<28}{'n':>6}{'rejected':>10}{'attainable':>13}{'covered':>10}{'± 3 SE':>8}")
    off = 0
    for questions in options.questions:
        sets = options.sets if questions <= LARGE else options.sets // 4
        off += sum(show_rates(kind, questions, max(AT_ONCE, sets)) for kind in KINDS)
    print(f"\nrates off by more than three standard errors, the last two kinds aside: {off}")
    show_effects([n for n in (20, *options.questions, 400) if n <= LARGE], options.sets // 4)
    show_intervals([n for n in options.questions if n <= LARGE], options.sets // 2)
    show_costs()
    print(f"{time.perf_counter() - began:.0f} s, {time.process_time():.0f} s of processor time")


def show_rates(kind: Kind, questions: int, sets: int) -> int:
    """Print one line, and return how many of its rates are off."""
    rates = simulate(kind, questions, sets)
    no_difference = kind.difference == 0
    cells = [
        judged(rates.rejected, rates.attainable, sets, judge=no_difference and not kind.stress),
        judged(rates.covered, 1 - LEVEL, sets, judge=not kind.stress),
    ]
    aim = f"{rates.attainable:.1%}" if no_difference else "(power)"
    error = 3 * (LEVEL * (1 - LEVEL) / sets) ** 0.5
    print(
        f"{kind.name:<28}{questions:>6}{cells[0]:>11}{aim:>12}{cells[1]:>11}{error:>7.1%}",
        flush=True,
    )
    return sum("*" in cell for cell in cells)


def judged(rate: float, aim: float, sets: int, *, judge: bool) -> str:
    is_off = judge and abs(rate - aim) > 3 * (aim * (1 - aim) / sets) ** 0.5
    return f"{rate:.1%}{'*' if is_off else ' '}"


def simulate(kind: Kind, questions: int, sets: int) -> Rates:
    """Compare `sets` data sets, a hundred at a time, by the public function."""
    rejected = covered = attained = 0.0
    for seed in range(sets // AT_ONCE):
        rng = np.random.default_rng([seed, questions])
        base, other = kind.make(rng, (AT_ONCE, questions))
        compared = compare(scores_of(base), scores_of(other), subsets=["all"], seed=seed)
        for found in compared.differences:
            rejected += found.p is not None and found.p <= LEVEL
            if found.low is not None and found.high is not None:
                covered += found.low - ROUNDING <= kind.difference <= found.high + ROUNDING
        attained += sum(attainable(row, kind.steps) for row in (other - base).mean(axis=0))
    made = sets // AT_ONCE * AT_ONCE
    return Rates(rejected / made, attained / made, covered / made)


def scores_of(values: Values) -> Scores:
    """Scores in which each data set is a metric."""
    names = [f"set {number}" for number in range(values.shape[1])]
    items = [
        ItemScore(f"q{number:05}", epoch, False, dict(zip(names, row, strict=True)))
        for epoch, table in enumerate(values)
        for number, row in enumerate(table.T.tolist())
    ]
    nothing = dict.fromkeys(names, Aggregate(None, 0, None, None))
    counts = Counts(len(items), len(items), 0, 0)
    return Scores(Scorer("branches", 1), counts, dict.fromkeys(SUBSETS, nothing), tuple(items))


def attainable(differences: NDArray[np.float64], steps: int | None) -> float:
    """How often a test of level 5% rejects at most when every sign is a fair coin's.

    Differences in multiples of 1/steps have few possible sums: their distribution is the product
    of one polynomial (x^-d + x^d)/2 for each. It owes nothing to what is tested here.
    """
    if steps is None:
        return LEVEL
    sizes, counts = np.unique(np.abs(np.rint(differences * steps)).astype(int), return_counts=True)
    chances = np.ones(1)
    for size, count in zip(sizes[sizes > 0], counts[sizes > 0], strict=True):
        coins = np.zeros(2 * size * count + 1)
        coins[:: 2 * size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        chances = np.convolve(chances, coins)
    centre = len(chances) // 2
    tails = np.cumsum(chances[: centre + 1]) * 2
    return float(tails[tails <= LEVEL].max(initial=0.0))


TRUE_EFFECTS = {("a",): 0.15, ("b",): 0.1, ("c",): 0.0, ("a", "b"): 0.1}
"""Of means .1 a + .05 b + .1 a b higher than the base's; interactions with c are 0."""


def show_effects(sizes: Sequence[int], sets: int) -> None:
    """Print how often intervals of a 2 x 2 x 2 study cover, and tests of what is 0 reject."""
    systems = [dict.fromkeys(names, "") for n in range(4) for names in combinations("abc", n)]
    print(
        f"\neffects of 2 x 2 x 2 systems{'n':>6}{'main':>9}{'two':>8}{'three':>8}{'rejected':>10}"
    )
    for name, gold in (("recall of 5 answers", 5), ("EM", 1)):
        for questions in sizes:
            covered: dict[int, list[bool]] = {1: [], 2: [], 3: []}
            rejected: list[bool] = []
            for seed in range(max(1, sets // AT_ONCE)):
                rng = np.random.default_rng([seed, questions])
                size = (AT_ONCE, questions)
                easy = np.where(rng.random(size) < 0.7, 0.05, 0.6)
                helped = 2 * (rng.random(size) < 0.5)  # some questions gain by a, and others not
                cells = []
                for own in systems:
                    a, b = "a" in own, "b" in own
                    chance = easy + 0.1 * a * helped + 0.05 * b + 0.1 * a * b
                    found = rng.binomial(gold, chance) / gold
                    cells.append(Cell({key: key for key in own}, scores_of(found[None])))
                metrics = [f"set {n}" for n in range(AT_ONCE)]
                for effect in effects({"": cells}, metrics, ["all"]):
                    truth = TRUE_EFFECTS.get(effect.changes, 0.0)
                    low, high = effect.low or 0.0, effect.high or 0.0
                    is_covered = low - ROUNDING <= truth <= high + ROUNDING
                    covered[len(effect.changes)].append(is_covered)
                    if not truth and effect.p is not None:
                        rejected.append(effect.p <= LEVEL)
            shares = "".join(f"{np.mean(own):8.1%}" for own in covered.values())
            print(f"{name:<27}{questions:>6} {shares}{np.mean(rejected):>10.1%}", flush=True)


def show_costs() -> None:
    """Print what 3,600 questions and ten metrics take, with scipy's permutation test beside."""
    metrics, questions = size = (10, 3_600)
    base, other = recall(np.random.default_rng(1), size, 0.4)
    pair, change = (scores_of(base), scores_of(other)), (other - base)[0]
    ours, whole = seconds(lambda: random_flips(change)), seconds(lambda: compare(*pair))
    theirs = seconds(
        lambda: stats.permutation_test(
            (change,),
            np.mean,
            permutation_type="samples",
            vectorized=True,
            n_resamples=9_999,
            batch=100,
            axis=1,
            rng=1,
        ),
        runs=1,
    )
    print(
        f"\n{questions:,} questions, {metrics} metrics: compare {whole:.2f} s (three subsets); "
        f"sign flips {ours:.3f} s, scipy's permutation_test {theirs:.2f} s "
        f"({theirs / ours:.0f} times)"
    )


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    """Median of some runs."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


if __name__ == "__main__":
    main()
