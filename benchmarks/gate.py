"""How often `branchwise gate` calls a metric worse, by simulation, and whether it says so before.

Each of three metrics (shares of up to four answers, token F1, exact match; or one alone) falls by
just as much as is asked for, whatever the others do: a question's value moves up the grid of its
metric with a fixed chance, and down with the chance that makes up the mean difference. Where
the drop does not exceed the margin, calling any metric worse is a false alarm. Where it does, the
table has the share called worse beside the mean predicted power.

    python benchmarks/gate.py [--pairs 2000] [--questions 30 100 300]
"""

import argparse
from collections.abc import Sequence

import numpy as np
from machine import describe_machine
from numpy.typing import NDArray
from scipy.stats import norm

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.gate import GateResult, gate
from branchwise.eval.scores import SUBSETS, Counts, ItemScore, Scorer, Scores

Floats = NDArray[np.float64]

# Values that a metric may have, and the share of questions that have each in the base.
RECALL = (np.array([0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1]), [0.3, 0.02, 0.06, 0.1, 0.06, 0.02])
F1 = (np.linspace(0, 1, 19), [0.25, *[0.35 / 17] * 17])
EM = (np.array([0.0, 1.0]), [0.55])
KINDS = {
    "three, apart": ((RECALL, F1, EM), 0.0, 0.12),
    "three, alike": ((RECALL, F1, EM), 0.7, 0.08),
    "F1": ((F1,), 0.0, 0.15),
    "EM": ((EM,), 0.0, 0.08),
}
"""Metrics, the correlation of their draws, and the chance of a question to move up."""

# Drop and margin.
CASES = ((0.0, 0.0), (0.02, 0.02), (0.05, 0.05), (0.05, 0.0), (0.05, 0.02), (0.1, 0.0), (0.1, 0.05))


def main() -> None:
    """Print a line for each kind, number of questions, drop and margin."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--questions", type=int, nargs="+", default=[30, 100, 300])
    options = parser.parse_args()
    print(describe_machine())
    print(
        f"{'kind':<14}{'n':>5}{'drop':>6}{'margin':>8}{'any worse':>11}  worse (power), by metric"
    )
    for kind in KINDS:
        for n in options.questions:
            for drop, margin in CASES:
                rng = np.random.default_rng([n, round(1000 * drop)])
                told = max(drop, margin + 0.05) if drop <= margin else drop
                found = [
                    gate(*a_pair(rng, kind, n, drop), margin=margin, drop=told, flips=499,
                         metrics=[f"m{k}" for k in range(len(KINDS[kind][0]))])
                    for _ in range(options.pairs)
                ]  # fmt: skip
                print(f"{kind:<14}{n:>5}{drop:>6}{margin:>8}{line_of(found, drop > margin)}")


def line_of(found: Sequence[GateResult], has_power: bool) -> str:
    """Shares of the pairs that are called worse, and the power where there is a drop to show."""
    worse = np.mean([[m.verdict == "worse" for m in each.metrics] for each in found], axis=0)
    power = np.mean([[m.power or 0.0 for m in each.metrics] for each in found], axis=0)
    cells = [
        f"{a:.3f}" + (f" ({b:.3f})" if has_power else "") for a, b in zip(worse, power, strict=True)
    ]
    return f"{np.mean([each.is_worse for each in found]):>11.3f}  {'  '.join(cells)}"


def a_pair(rng: np.random.Generator, kind: str, n: int, drop: float) -> tuple[Scores, Scores]:
    """A base and a system that is worse by `drop` in each metric, on the same n questions."""
    metrics, correlation, up = KINDS[kind]

    def draws() -> Floats:
        own, shared = rng.standard_normal((len(metrics), n)), rng.standard_normal(n)
        mixed: Floats = norm.cdf(correlation**0.5 * shared + (1 - correlation) ** 0.5 * own)
        return mixed

    levels, moves, places = draws(), draws(), draws()
    base, new = [], []
    for row, (values, shares) in enumerate(metrics):
        top = len(values) - 1
        at = np.searchsorted(np.cumsum(shares), levels[row])
        # Whatever moves comes to any lower, or any higher, value alike.
        chances = np.append(shares, 1 - sum(shares))
        falls = [values[k] - values[:k].mean() if k else 0.0 for k in range(top + 1)]
        rises = [values[k + 1 :].mean() - values[k] if k < top else 0.0 for k in range(top + 1)]
        down = (up * (chances @ rises) + drop) / (chances @ falls)
        lower = np.floor(places[row] * at).astype(int)
        higher = np.minimum(top, at + 1 + np.floor(places[row] * (top - at)).astype(int))
        moved = np.where(moves[row] < down, lower, np.where(moves[row] > 1 - up, higher, at))
        base.append(values[at])
        new.append(values[moved])
    return scores_of(base), scores_of(new)


def scores_of(columns: Sequence[Floats]) -> Scores:
    """Scores with the metrics m0, m1, … of these columns, a value a question."""
    items = tuple(
        ItemScore(f"q{n:05}", 0, False, {f"m{k}": float(value) for k, value in enumerate(row)})
        for n, row in enumerate(zip(*columns, strict=True))
    )
    nothing = {f"m{k}": Aggregate(None, 0, None, None) for k in range(len(columns))}
    counts = Counts(len(items), len(items), 0, 0)
    return Scores(Scorer("branches", 1), counts, dict.fromkeys(SUBSETS, nothing), items)


if __name__ == "__main__":
    main()
