"""Paired tests and intervals: of mean differences, and of scores that are functions of sums.

`Pairs` are the questions that two systems have in common, as aligned columns of numbers. A score of
sums over questions, such as corpus F1 (`TotalPairs`), has no difference per question to average,
hence neither Student's interval nor a mean whose signs could be flipped: instead, questions are
resampled, or the two systems' addends swapped, and the score is recomputed each time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import TYPE_CHECKING, Any, Literal

from branchwise.base.errors import InputError
from branchwise.eval.bootstrap import RESAMPLES, Summed, aggregate_sums
from branchwise.eval.scores import ItemScore, Scores, of_subset, question_means, question_sums
from branchwise.eval.tasks import Total

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
_LEVEL = 0.95
_SHOWN_OF_AN_ID = 80
_Vector = tuple[float, ...]


@dataclass(frozen=True)
class LeftOutQuestions:
    """How many questions stay out of a pair of columns, each counted once. `only_*`: the other
    system has no ended item of them; `unscored_*`: the metric is None there in every epoch."""

    only_base: int = 0
    only_other: int = 0
    unscored_base: int = 0
    unscored_other: int = 0
    unscored_both: int = 0

    @classmethod
    def of(
        cls, only_base: int, only_other: int, unscored: Iterable[tuple[bool, bool]]
    ) -> "LeftOutQuestions":
        """Of questions that both have; `unscored`: whether each is so in the base, in the other."""
        counts = Counter(unscored)
        by_side = (counts[sides] for sides in ((True, False), (False, True), (True, True)))
        return cls(only_base, only_other, *by_side)

    @property
    def total(self) -> int:
        return sum(vars(self).values())

    def reasons(self) -> str:
        """As a person reads it: "2 only in the base, 1 unscored in both"; empty for none."""
        counts = ((key.split("_"), count) for key, count in vars(self).items() if count)
        words = {"base": "the base", "other": "the other", "both": "both"}
        return ", ".join(f"{count} {why} in {words[side]}" for (why, side), count in counts)

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Pairs:
    """Two systems' metrics over the same questions, in order of their ids: float64 [metrics,
    questions], epochs averaged; NaN is unscored, as is a mean that is not finite. `strata`:
    each question's set."""

    metrics: tuple[str, ...]
    base: "NDArray[np.float64]"
    other: "NDArray[np.float64]"
    only_base: int
    only_other: int
    strata: tuple[str, ...]

    @cached_property
    def differences(self) -> "NDArray[np.float64]":
        """other - base, NaN where either is unscored; rounded: an epoch mean of 1/3 and 2/3 equals
        1/2."""
        import numpy as np

        return np.round(self.other - self.base, 12)

    def left_out(self, row: int) -> LeftOutQuestions:
        import numpy as np

        base, other = np.isnan(self.base[row]).tolist(), np.isnan(self.other[row]).tolist()
        unscored = zip(base, other, strict=True)
        return LeftOutQuestions.of(self.only_base, self.only_other, unscored)


def pair_questions(base: Scores, other: Scores, metrics: Sequence[str], subset: str) -> Pairs:
    ours, theirs = of_subset(base.items, subset), of_subset(other.items, subset)
    in_base, in_other = {row.id for row in ours}, {row.id for row in theirs}
    common = in_base & in_other
    sets = {row.id: row.set for row in ours if row.id in common}
    return Pairs(
        tuple(metrics),
        question_columns(ours, common, metrics),
        question_columns(theirs, common, metrics),
        len(in_base - common),
        len(in_other - common),
        tuple(sets[id] for id in sorted(sets)),
    )


def check_same_questions(base: Scores, other: Scores) -> None:
    """Raise InputError where a question is ambiguous for one system and not for the other: then
    they answered different questions under one id."""
    ambiguous = {row.id: row.ambiguous for row in base.items}
    for row in other.items:
        if ambiguous.get(row.id, row.ambiguous) != row.ambiguous:
            shown = f"question {row.id[:_SHOWN_OF_AN_ID]!r}"
            problem = f"{shown} is ambiguous in one run and not in the other"
            raise InputError(problem, remedy="compare runs over the same questions")


def question_columns(
    rows: Sequence[ItemScore], common: set[str], metrics: Sequence[str]
) -> "NDArray[np.float64]":
    """Means over epochs of the questions in `common`: float64 [metrics, questions], NaN where
    unscored; sorted by id, so that no order changes a draw."""
    import numpy as np

    chosen = sorted((row for row in rows if row.id in common), key=lambda r: (r.id, r.epoch))
    columns = np.array([question_means(chosen, metric) for metric in metrics], dtype=np.float64)
    columns[~np.isfinite(columns)] = np.nan
    return columns.reshape(len(metrics), len(common))


@dataclass(frozen=True)
class PairedTest:
    """A two-sided p-value and the test that gave it."""

    name: TestName
    p: float


def paired_tests(pairs: Pairs, *, seed: int = 0, flips: int = FLIPS) -> list[PairedTest | None]:
    """A test for each metric; None for fewer than two questions. Values that are all 0 or 1 get the
    exact McNemar test; others that of `flip_tests`. Without any difference p is 1."""
    import numpy as np

    tests: dict[int, PairedTest | None] = {}
    for row, change in enumerate(pairs.differences):
        paired = ~np.isnan(change)
        if np.isin([pairs.base[row][paired], pairs.other[row][paired]], (0.0, 1.0)).all():
            p = mcnemar(int((change > 0).sum()), int((change < 0).sum()))
            tests[row] = PairedTest("McNemar", p) if paired.sum() > 1 else None
    rows = [row for row in range(len(pairs.metrics)) if row not in tests]
    flipped = flip_tests(pairs.differences[rows], seed=seed, flips=flips)
    tests |= dict(zip(rows, flipped, strict=True))
    return [tests[row] for row in range(len(pairs.metrics))]


def flip_tests(
    differences: "NDArray[np.float64]", *, seed: int = 0, flips: int = FLIPS
) -> list[PairedTest | None]:
    """The permutation test of each row's mean, None for fewer than two questions. `differences`:
    float64 [rows, questions], NaN where left out. Exact where at most 16 questions differ, else
    with `flips` random sign vectors, the same ones for all rows."""
    import numpy as np

    tests: list[PairedTest | None] = []
    drawn: list[int] = []
    for row, change in enumerate(differences):
        paired = ~np.isnan(change)
        # Signs of differences that are 0 change no sum.
        changed = change[paired & (change != 0)]
        test: PairedTest | None = None
        if paired.sum() < 2:
            pass
        elif len(changed) <= EXACT_UP_TO:
            test = PairedTest("exact permutation", all_flips(changed))
        else:
            drawn.append(row)
        tests.append(test)
    p_values = random_flips(differences[drawn], seed=seed, flips=flips) if drawn else []
    for row, p in zip(drawn, p_values, strict=True):
        tests[row] = PairedTest("permutation", p)
    return tests


def mcnemar(gained: int, lost: int) -> float:
    """Exact McNemar test: whether the discordant pairs are a fair coin's (McNemar 1947). `gained`:
    questions that only the other system has right, `lost`: that only the base has."""
    from scipy.special import bdtr  # binomial distribution; scipy.stats takes a second to load

    return min(1.0, 2 * float(bdtr(min(gained, lost), gained + lost, 0.5)))


def all_flips(differences: "NDArray[np.float64]") -> float:
    """Exact two-sided p-value: the share of sign vectors with at least the observed |sum|.
    `differences`: float64 [questions], no NaN; time and memory are 2^questions. Zeros may stay out:
    their sign changes no sum."""
    import numpy as np

    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    least = abs(differences.sum()) - ROUNDING * np.abs(differences).sum()
    return float((np.abs(sums) >= least).mean())


def random_flips(
    differences: "NDArray[np.float64]", *, seed: int = 0, flips: int = FLIPS
) -> list[float]:
    """Monte Carlo two-sided p-values of the sign-flip test, one for each metric. `differences`:
    float64 [metrics, questions], NaN where left out. (b + 1) / (m + 1), b of m random sign vectors
    giving at least the observed |sum|: never 0, and never rejecting too often (Phipson and Smyth
    2010). One matrix product does for all metrics; scipy's `permutation_test` takes 30 times as
    long or more (docs/statistics.md) and draws for each metric alone."""
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


def students_intervals(
    differences: "NDArray[np.float64]", strata: Sequence[str] = ()
) -> list[tuple[float, float] | None]:
    """95% interval of each metric's mean difference; None where a stratum has fewer than two
    questions. `differences`: float64 [metrics, questions], NaN where left out; `strata`: the
    stratum of each question, by default one. Student's paired interval, mean ± t(.975, n - 1) s /
    sqrt(n); a question counts once, however many epochs it has, which makes it the cluster. Of
    several strata the variances of the mean add up, (n_h / n)^2 s_h^2 / n_h, with the degrees of
    freedom of Satterthwaite 1946. Bootstrap intervals were tried: on 60 questions of few different
    values the percentile and BCa ones cover too little, symmetric ones too much
    (docs/statistics.md)."""
    import numpy as np
    from scipy.special import stdtrit  # quantiles of Student's t

    def interval(values: "NDArray[np.float64]") -> tuple[float, float] | None:
        scored = values == values  # NaN alone differs from itself
        sets = np.array(strata or [""] * len(values))
        parts = [values[scored & (sets == name)] for name in np.unique(sets[scored])]
        if not parts or min(map(len, parts)) < 2:
            return None
        n, mean = int(scored.sum()), float(values[scored].mean())
        spreads = [(float(part.std(ddof=1)), len(part)) for part in parts]

        def error(times: float) -> list[float]:
            return [times * spread * (size / n) / size**0.5 for spread, size in spreads]

        if not (whole := hypot(*error(1.0))):
            return mean, mean
        shares = ((own / whole) ** 4 for own in error(1.0))
        inverse = sum(share / (len(part) - 1) for share, part in zip(shares, parts, strict=True))
        # Rounded, so that of one stratum it is n - 1.
        half = hypot(*error(float(stdtrit(round(1 / inverse, 9), (1 + _LEVEL) / 2))))
        return mean - half, mean + half

    return [interval(row) for row in differences]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the order given; None is a test that was not made and stays None. The
    k-th smallest of m values becomes (m - k + 1) times itself, at least what the one before became,
    at most 1 (Holm 1979). Written here because scipy corrects for the rate of false discoveries
    only (`false_discovery_control`), and statsmodels would bring pandas with it."""
    made = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(made):
        adjusted[index] = highest = max(highest, min(1.0, (len(made) - rank) * p))
    return adjusted


@dataclass(frozen=True)
class TotalPairs:
    """Two systems' addends over the questions that both have, by id, epochs averaged; None is
    unscored."""

    total: Total
    base: tuple[_Vector | None, ...]
    other: tuple[_Vector | None, ...]
    only_base: int
    only_other: int

    @cached_property
    def paired(self) -> list[tuple[_Vector, _Vector]]:
        both = zip(self.base, self.other, strict=True)
        return [(own, other) for own, other in both if own is not None and other is not None]

    @property
    def left_out(self) -> LeftOutQuestions:
        unscored = ((a is None, b is None) for a, b in zip(self.base, self.other, strict=True))
        return LeftOutQuestions.of(self.only_base, self.only_other, unscored)

    def score(self, side: int) -> float | None:
        """The score of one side (0 the base, 1 the other) over the paired questions."""
        vectors = [pair[side] for pair in self.paired]
        return self.total.of(*map(sum, zip(*vectors, strict=True))) if vectors else None

    def questions(self) -> Iterator[float]:
        """other - base of each question alone, where its own scores are defined."""
        for vector, other_vector in self.paired:
            base, other = self.total.of(*vector), self.total.of(*other_vector)
            if base is not None and other is not None:
                yield round(other - base, 12)

    @property
    def change(self) -> Callable[..., float | None]:
        """From the sums of the base, then of the other, to the difference of their scores."""
        of, width = self.total.of, len(self.total.sums)

        def difference(*sums: float) -> float | None:
            base, other = of(*sums[:width]), of(*sums[width:])
            return None if base is None or other is None else other - base

        return difference


def pair_totals(base: Scores, other: Scores, total: Total, subset: str) -> TotalPairs:
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
    """95% interval of the difference: percentile bootstrap over pairs of addends. Both systems get
    the same questions in each resample. None for fewer than two questions."""
    together = Summed([(*base, *other) for base, other in pairs.paired], pairs.change)
    score = aggregate_sums(together, seed=seed, resamples=resamples)
    return None if score.low is None or score.high is None else (score.low, score.high)


def total_test(pairs: TotalPairs, *, seed: int = 0, flips: int = FLIPS) -> PairedTest | None:
    """Two-sided permutation test: under no difference a question's addends may be either system's.

    The statistic is the difference of the two scores. All swaps where at most 16 questions differ,
    else `flips` random ones and p = (b + 1) / (m + 1). A swap for which the score is undefined
    counts as extreme. None for fewer than two questions, or where the difference is undefined.
    """
    import numpy as np

    if len(pairs.paired) < 2:
        return None
    base, other = (np.array(vectors) for vectors in zip(*pairs.paired, strict=True))
    # Plain numbers, here and below: what comes of them is written as JSON.
    sums = [*base.sum(axis=0).tolist(), *other.sum(axis=0).tolist()]
    if (observed := pairs.change(*sums)) is None:
        return None
    gain = (other - base)[(other != base).any(axis=1)]
    exact = len(gain) <= EXACT_UP_TO
    swaps = random_heads(len(gain), seed=seed, flips=flips)
    if exact:  # every choice of questions to swap, once
        choices = np.arange(2 ** len(gain))[:, None] >> np.arange(len(gain)) & 1
        swaps = iter([choices.astype(np.float64)])
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
