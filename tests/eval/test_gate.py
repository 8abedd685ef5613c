import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from branchwise.base.errors import InputError
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.gate import GateResult, gate, power_of
from branchwise.eval.scores import SUBSETS, Counts, ItemScore, Scorer, Scores

PAIRS = 2_000


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


def recall(rng: np.random.Generator, drop: float) -> tuple[NDArray[np.float64], ...]:
    """40 questions of ten answers; both systems find more of those of easy questions."""
    easy = rng.beta(4, 2, 40)
    base, new = rng.binomial(10, easy), rng.binomial(10, np.clip(easy - drop, 0, 1))
    return base / 10, new / 10


def exact(rng: np.random.Generator, drop: float) -> tuple[NDArray[np.float64], ...]:
    """200 questions: a sixth is right in one system alone."""
    u = rng.random(200)
    lost, gained = (u < 1 / 12 + drop / 2), (u > 1 - 1 / 12 + drop / 2)
    rest = rng.random(200) < 0.5
    return np.where(lost, 1.0, np.where(gained, 0.0, rest)), np.where(
        lost, 0.0, np.where(gained, 1.0, rest)
    )


@pytest.mark.long
@pytest.mark.parametrize(("kind", "margin"), [(recall, 0.0), (exact, 0.0), (recall, 0.02)])
def test_of_2000_pairs_as_many_are_worse_as_is_said(kind, margin: float) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(7)

    def alarms(drop: float) -> tuple[float, float]:
        """The share that is called worse, and the mean power for 0.08."""
        worse, powers = 0, []
        for _ in range(PAIRS):
            base, new = kind(rng, drop)
            found = gate(
                scores_of(m=base), scores_of(m=new), metrics=["m"], margin=margin, drop=0.08,
                flips=1_999,
            )  # fmt: skip
            worse += found.is_worse
            powers.append(found.metrics[0].power or 0.0)
        return worse / PAIRS, float(np.mean(powers))

    false_alarms, _ = alarms(margin)
    shown, power = alarms(0.08)
    assert false_alarms <= 0.05
    assert 0.2 < shown < 0.98
    # Clipped at 0, the drop of `recall` is a little less than it was asked for.
    assert shown == pytest.approx(power, abs=0.05)


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


def test_two_equal_runs_pass_without_a_power() -> None:
    (found,) = judged([1.0, 0.0, 0.5] * 10, [1.0, 0.0, 0.5] * 10).metrics
    assert (found.verdict, found.power, found.enough) == ("not worse", None, None)


def test_several_metrics_are_corrected_for_their_number() -> None:
    base = {name: [1.0] * 30 for name in "abc"}
    new = {"a": [0.0] * 6 + [1.0] * 24, "b": [1.0] * 30, "c": [1.0] * 30}
    alone = gate(scores_of(a=base["a"]), scores_of(a=new["a"]), metrics=["a"])
    together = gate(scores_of(**base), scores_of(**new), metrics=["a", "b", "c"])
    # Six of six lost: p = 2 / 64, which is too much for three metrics.
    assert alone.is_worse
    assert not together.is_worse
    assert together.metrics[0].difference.p_holm == pytest.approx(3 / 32)


@pytest.mark.parametrize(("margin", "drop"), [(0.05, 0.05), (-0.1, 0.05), (0.1, 0.0)])
def test_a_drop_that_no_test_could_show_is_refused(margin: float, drop: float) -> None:
    with pytest.raises(InputError, match="is not above the margin"):
        judged([1.0, 0.0], [0.0, 1.0], margin=margin, drop=drop)


def test_runs_without_a_common_question_are_refused() -> None:
    base, new = scores_of(m=[1.0]), scores_of(m=[1.0, 0.0])
    with pytest.raises(InputError, match="no question in common"):
        gate(base, Scores(new.scorer, new.counts, new.aggregates, new.items[1:]), metrics=["m"])
