"""Main effects and interactions of factorial studies, by hand and by an independent library."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pytest
import scipy.stats

from branchwise.base.errors import InputError
from branchwise.eval.effects import Cell, Effect, contrasts, effects, is_factorial, unknown_effects
from branchwise.eval.scores import Counts, ItemScore, Scorer, Scores

A, B, C = "+a", "+b", "c=9"
FULL = [
    {key: level for key, level, on in zip("abc", (A, B, C), own, strict=True) if on}
    for own in product((False, True), repeat=3)
]
"""None, c, b, bc, a, ac, ab, abc."""


def cell(levels: Mapping[str, str], values: Sequence[float | None]) -> Cell:
    rows = [ItemScore(f"q{n}", 0, n % 2 == 0, {"recall": value}) for n, value in enumerate(values)]
    scores = Scores(Scorer("branches", 1), Counts(len(rows), len(rows), 0, 0), {}, tuple(rows))
    return Cell(levels, scores)


def found(cells: Sequence[Cell], subset: str = "all") -> dict[tuple[str, ...], Effect]:
    return {e.changes: e for e in effects({"": cells}, ["recall"], [subset])}


def test_two_by_two_by_two_by_hand() -> None:
    # By question the scores of none, c, b, bc, a, ac, ab, abc.
    first = [0.1, 0.2, 0.3, 0.5, 0.4, 0.4, 0.8, 1.0]
    second = [0.0, 0.0, 0.5, 0.5, 0.0, 0.5, 0.5, 0.5]
    own = found([cell(levels, pair) for levels, *pair in zip(FULL, first, second, strict=True)])
    # a: (.4 + .4 + .8 + 1) / 4 - (.1 + .2 + .3 + .5) / 4 = .65 - .275, and .375 - .25.
    assert own[A,].difference == pytest.approx((0.375 + 0.125) / 2)
    # b: (.3 + .5 + .8 + 1) / 4 - (.1 + .2 + .4 + .4) / 4 = .65 - .275, and .5 - .125.
    assert own[B,].difference == pytest.approx((0.375 + 0.375) / 2)
    # c: (.2 + .5 + .4 + 1) / 4 - (.1 + .3 + .4 + .8) / 4 = .525 - .4, and .375 - .25.
    assert own[C,].difference == pytest.approx((0.125 + 0.125) / 2)
    # a beside b: (.8 + 1) / 2 - (.3 + .5) / 2 = .5; without: .4 - .15 = .25. Then .0 and .25.
    assert own[A, B].difference == pytest.approx((0.25 - 0.25) / 2)
    # a beside c: (.4 + 1) / 2 - (.2 + .5) / 2 = .35; without: .6 - .2 = .4. Then .25 and .0.
    assert own[A, C].difference == pytest.approx((-0.05 + 0.25) / 2)
    # b beside c: (.5 + 1) / 2 - (.2 + .4) / 2 = .45; without: .55 - .25 = .3. Then .25 and .5.
    assert own[B, C].difference == pytest.approx((0.15 - 0.25) / 2)
    # a x b beside c: (1 - .4) - (.5 - .2) = .3; without: (.8 - .4) - (.3 - .1) = .2.
    # Then (.5 - .5) - (.5 - 0) = -.5 and (.5 - 0) - (.5 - 0) = 0.
    assert own[A, B, C].difference == pytest.approx((0.1 - 0.5) / 2)
    # Of a, Student's with t(.975, 1) = 12.7062: s / sqrt(2) = .25 / 2.
    low, high = own[A,].low, own[A,].high
    assert (low, high) == pytest.approx((0.25 - 12.7062 * 0.125, 0.25 + 12.7062 * 0.125), abs=1e-4)
    # Of two questions the signs ++ and -- reach the sum .5: p = 1/2; 1 after Holm over seven.
    assert (own[A,].p, own[A,].p_holm, own[A,].family, own[A,].n) == (0.5, 1.0, 7, 2)
    assert [*own] == [(A,), (B,), (C,), (A, B), (A, C), (B, C), (A, B, C)]


LEVELS = [
    {"k": k, "x": "+x"} if x else {"k": k} for k, x in product((None, "k=5", "k=9"), (False, True))
]


@pytest.mark.slow
@pytest.mark.parametrize("levels", [FULL, LEVELS], ids=["2x2x2", "3x2"])
def test_as_statsmodels_has_it(levels: list[dict[str, str | None]]) -> None:
    """Least squares with a level for each question, and its cluster-robust covariance."""
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    design = [{key: level for key, level in own.items() if level} for own in levels]
    scores = np.random.default_rng(3).random((30, len(design))).round(2)
    own = found([cell(of, scores[:, n].tolist()) for n, of in enumerate(design)])
    assert len(own) == len(design) - 1
    names = {key: [*dict.fromkeys(o[key] for o in design if key in o)] for key in "abckx"}
    columns = [np.ones(len(design)), *(np.zeros(len(design)) for _ in own)]
    for column, changes in zip(columns[1:], own, strict=True):
        column += 1
        for change in changes:
            (of,) = [values for values in names.values() if change in values]
            column *= [(change in o.values()) - 1 / (len(of) + 1) for o in design]
    outcome, blocks = scores.ravel(), np.repeat(np.arange(30), len(design))
    exogenous = np.tile(np.array(columns[1:]).T, (30, 1))
    dummies = (blocks[:, None] == np.arange(30)).astype(float)
    fit = linear.OLS(outcome, np.hstack([exogenous, dummies])).fit(
        cov_type="cluster", cov_kwds={"groups": blocks, "use_correction": False}, use_t=True
    )
    assert fit.params[: len(own)] == pytest.approx([e.difference for e in own.values()])
    # Its standard errors with n / (n - 1), the one correction that makes them Student's.
    half = fit.bse[: len(own)] * (30 / 29) ** 0.5 * scipy.stats.t.ppf(0.975, 29)
    assert half == pytest.approx([(e.high or 0) - (e.difference or 0) for e in own.values()])


def test_levels_of_three_are_compared_with_the_base() -> None:
    means = {None: 0.1, "k=5": 0.4, "k=9": 0.3}
    design = [({"k": k} if k else {}) | ({"x": "+x"} if x else {}) for k in means for x in (0, 1)]
    of = [means[own.get("k")] + (0.2 if "x" in own and "k" in own else 0) for own in design]
    own = found([cell(levels, [value, value]) for levels, value in zip(design, of, strict=True)])
    # Over both levels of x: .5 - .1 and .4 - .1; x: the mean of 0, .2, .2.
    assert own["k=5",].difference == pytest.approx(0.4)
    assert own["k=9",].difference == pytest.approx(0.3)
    assert own["+x",].difference == pytest.approx(0.4 / 3)
    assert own["k=5", "+x"].difference == pytest.approx(0.2)


def test_what_combinations_cannot_tell_is_left_out() -> None:
    without = [levels for levels in FULL if len(levels) < 2]
    assert {*contrasts(without)} == {(A,), (B,), (C,)}
    assert {*map(len, unknown_effects(without))} == {2, 3}
    assert not is_factorial([cell(levels, [1.0]) for levels in without])
    own = found([cell(levels, [float(len(levels))] * 2) for levels in FULL if len(levels) < 3])
    assert [e.difference for e in own.values()] == pytest.approx([1, 1, 1, 0, 0, 0])


def test_questions_that_all_have_count_and_others_are_counted() -> None:
    half = [{}, {"a": A}, {"b": B}, {"a": A, "b": B}]
    values = [[0.0, 0.0, 0.0], [1.0, 0.0, None], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    own = found([cell(*pair) for pair in zip(half, values, strict=True)])
    assert (own[A,].n, own[A,].left_out, own[A,].difference) == (2, 1, 0.5)
    assert own[A, B].p == 1.0
    none = found([cell(*pair) for pair in zip(half, values, strict=True)], "unambiguous")
    assert (none[A,].n, none[A,].low, none[A,].p) == (1, None, None)
    nothing = found([cell(levels, [None]) for levels in half])
    assert (nothing[A,].n, nothing[A,].difference, nothing[A,].p_holm) == (0, None, None)


def test_questions_that_differ_under_one_id_are_refused() -> None:
    other = Cell({"a": A}, cell({}, [1.0]).scores)
    row = ItemScore("q0", 0, False, {"recall": 1.0})
    with pytest.raises(InputError, match="ambiguous in one run"):
        found([Cell({}, Scores(Scorer("branches", 1), Counts(1, 1, 0, 0), {}, (row,))), other])
