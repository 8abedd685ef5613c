import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom
from scipy.stats import t as student

from branchwise.base.errors import InputError
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.gate import GateResult, gate, power_of
from branchwise.eval.scores import SUBSETS, Counts, ItemScore, Scorer, Scores


def scores_of(**metrics: list[float] | NDArray[np.float64]) -> Scores:
    """Of a question a value of each metric."""
    rows = zip(*(map(float, values) for values in metrics.values()), strict=True)
    items = tuple(
        ItemScore(f"q{n:04}", 0, False, dict(zip(metrics, row, strict=True)))
        for n, row in enumerate(rows)
    )
    nothing = dict.fromkeys(metrics, Aggregate(None, 0, None, None))
    counts = Counts(len(items), len(items), 0, 0)
    return Scores(Scorer("branches", 1), counts, dict.fromkeys(SUBSETS, nothing), items)


def judged(base: list[float], new: list[float], **options: float) -> GateResult:
    return gate(scores_of(m=base), scores_of(m=new), metrics=["m"], **options)  # type: ignore[arg-type]


def test_a_clear_drop_is_worse_and_a_rise_is_not() -> None:
    base, new = [1.0, 0.9, 0.8] * 20, [0.6, 0.6, 0.4] * 20
    assert judged(base, new).is_worse
    assert not judged(new, base).is_worse


def test_a_drop_within_the_margin_is_not_worse() -> None:
    base = [0.5, 0.6, 0.7, 0.8] * 50
    new = [value - 0.01 - 0.002 * (n % 3) for n, value in enumerate(base)]
    assert judged(base, new).is_worse
    (within,) = judged(base, new, margin=0.02).metrics
    assert within.verdict == "not worse"
    assert within.power == pytest.approx(1.0)


def test_five_questions_cannot_tell() -> None:
    (found,) = judged([1.0, 0.5, 0.7, 0.9, 0.4], [0.7, 0.6, 0.5, 0.9, 0.4]).metrics
    assert found.verdict == "too few questions"
    # Three of five differ; five at least must, for a p below .05.
    assert found.power is not None
    assert found.power <= math.comb(5, 5) * 0.6**5 + 1e-12
    assert found.enough is not None
    enough = power_of(found.difference, 0.0, 0.05, found.enough)
    less = power_of(found.difference, 0.0, 0.05, found.enough * 9 // 10)
    assert enough is not None
    assert less is not None
    assert less < 0.8 <= enough


def test_the_power_of_mcnemars_test_is_that_of_all_tables_of_six_questions() -> None:
    base, new = [1.0, 1, 1, 0, 1, 0], [0.0, 1, 1, 1, 0, 0]
    (found,) = judged(base, new, drop=0.4).metrics
    assert found.difference.test == "McNemar"
    # Half of the questions differ, 9 of 10 of them are lost; only six of six lost have p < .05.
    lost, gained = 0.45, 0.05
    by_hand = sum(
        math.prod({"lost": lost, "gained": gained, "same": 0.5}[each] for each in table)
        for table in product(("lost", "gained", "same"), repeat=6)
        if table.count("lost") == 6
    )
    assert found.power == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize("values", [(1.0, 0.0), (0.7, 0.4)])
def test_a_few_questions_that_all_fall_alike_cannot_tell(values: tuple[float, float]) -> None:
    base, new = ([value] for value in values)
    for n in (1, 2, 5):
        assert judged(base * n, new * n).metrics[0].verdict == "too few questions"
    # Six of six: p = 2 / 64.
    assert judged(base * 6, new * 6).is_worse


def test_equal_runs_are_not_worse_once_a_drop_would_have_shown() -> None:
    for values in ([1.0, 0.0], [0.3, 0.7]):
        (few,) = judged(values * 30, values * 30).metrics
        (many,) = judged(values * 100, values * 100).metrics
        assert (few.verdict, many.verdict) == ("too few questions", "not worse")
        # A twentieth of 200 questions lost, and no other one changed: six are enough.
        assert many.power == pytest.approx(binom.sf(5, 200, 0.05))


def test_the_power_is_a_number_where_only_rounding_differs() -> None:
    base = [0.1 * n for n in range(10)] * 5
    (found,) = judged(base, [value - 0.1 for value in base]).metrics
    assert (found.verdict, found.power) == ("worse", 1.0)


def test_a_drop_of_the_margin_is_corrected_for_the_number_of_metrics() -> None:
    rng = np.random.default_rng(3)
    base = np.full(100, 0.8)
    change = rng.normal(size=100)
    change = (change - change.mean()) / change.std(ddof=1)
    # Student's t against the margin: -2.2, of which p is .03 with 99 degrees of freedom.
    new = base - 0.1 - 0.022 + 0.1 * change
    alone = gate(scores_of(a=base), scores_of(a=new), metrics=["a"], margin=0.1, drop=0.2)
    both = {"a": base, "b": base}
    together = gate(
        scores_of(**both), scores_of(a=new, b=base), metrics=["a", "b", "a"], margin=0.1, drop=0.2
    )
    p = 2 * student.cdf(-2.2, 99)
    assert [alone.is_worse, together.is_worse] == [True, False]
    assert alone.metrics[0].difference.corrected_p == pytest.approx(p)
    # A metric that is named twice is one.
    assert [m.difference.corrected_p for m in together.metrics] == [pytest.approx(2 * p), 1.0]


def test_several_metrics_are_corrected_for_their_number() -> None:
    base = {"a": [1.0] * 30, "b": [1.0] * 30, "c": [0.5] * 30}
    new = base | {"a": [0.0] * 6 + [1.0] * 24}
    alone = gate(scores_of(a=base["a"]), scores_of(a=new["a"]), metrics=["a"])
    together = gate(scores_of(**base), scores_of(**new), metrics=["a", "b", "c"])
    # Six of six lost: p = 2 / 64, which is too much for three metrics.
    assert alone.is_worse
    assert not together.is_worse
    assert together.metrics[0].difference.p_holm == pytest.approx(3 / 32)
    # The same on every question, so one test: with `c` two.
    same = gate(
        scores_of(**base | {"b": base["a"]}), scores_of(**new | {"b": new["a"]}), metrics=[*"abc"]
    )
    assert [metric.difference.p_holm for metric in same.metrics[:2]] == [pytest.approx(1 / 16)] * 2
    assert same.cautions == ("a, b: the same on every question, so one test",)


@pytest.mark.parametrize(("margin", "drop"), [(0.05, 0.05), (-0.1, 0.05), (0.1, 0.0)])
def test_a_drop_that_no_test_could_show_is_refused(margin: float, drop: float) -> None:
    with pytest.raises(InputError, match="is not above the margin"):
        judged([1.0, 0.0], [0.0, 1.0], margin=margin, drop=drop)


def test_runs_without_a_common_question_are_refused() -> None:
    base, new = scores_of(m=[1.0]), scores_of(m=[1.0, 0.0])
    with pytest.raises(InputError, match="no question in common"):
        gate(base, Scores(new.scorer, new.counts, new.aggregates, new.items[1:]), metrics=["m"])
