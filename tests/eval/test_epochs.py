from itertools import combinations
from statistics import fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings import TracedItem
from branchwise.eval.epochs import MetricSpread, best_of_k, epoch_spread
from branchwise.eval.tasks import Column
from support.eval.traced_cases import traced, traced_items

EM = Column("em", "EM", "scores")
FOUR = [(0, 0), (0, 1), (0, 2), (0, 3)]


def asked(id: str, *values: float | None, ambiguous: bool = False) -> list[TracedItem]:
    """A question's epochs with these values of the metric `em`."""
    return [
        traced(id, FOUR, epoch=epoch, ambiguous=ambiguous, metrics={"em": value})
        for epoch, value in enumerate(values)
    ]


def test_spread_of_a_metric_by_hand() -> None:
    items = asked("a", 1.0, 0.0, 0.5) + asked("b", 1.0, 1.0, 1.0)
    spread = epoch_spread(items, [EM])
    assert spread is not None
    found = spread.metrics["all"]["em"]
    # a: sqrt((1/4 + 1/4 + 0) / 2) = 1/2; b: 0. Epochs: 1, 1/2, 3/4.
    # Of a's pairs of epochs the best are 1, 1 and 1/2, the worst 0, 0 and 1/2; none of them agree.
    assert found == MetricSpread(
        n=2,
        within=0.25,
        between=0.25,
        best=1.0,
        worst=0.5,
        trials=(1.0, 0.5, 0.75),
        best_of=(0.75, pytest.approx((2.5 / 3 + 1) / 2), 1.0),  # type: ignore[arg-type]
        worst_of=(0.75, pytest.approx((0.5 / 3 + 1) / 2), 0.5),  # type: ignore[arg-type]
        agreement=0.5,
    )
    assert spread.epochs == 3


def test_only_questions_with_every_epoch_are_compared() -> None:
    # b has not ended in the second epoch, c is unscored there: epoch means are a's alone.
    items = asked("a", 0.0, 1.0) + asked("b", 1.0) + asked("c", 1.0, None)
    spread = epoch_spread(items, [EM])
    assert spread is not None
    assert spread.metrics["all"]["em"] == MetricSpread(
        1, stdev([0, 1]), stdev([0, 1]), 1.0, 0.0, (0.0, 1.0), (0.5, 1.0), (0.5, 0.0), 0.0
    )
    assert spread.metrics["ambiguous"]["em"] == MetricSpread(0)
    assert spread.union["all"]["mean_recall"].n == 2


def test_one_epoch_has_no_spread() -> None:
    assert epoch_spread(asked("a", 1.0) + asked("b", 1.0), [EM]) is None
    assert epoch_spread([], [EM]) is None


def test_what_asking_again_finds_by_hand() -> None:
    items = [
        traced("a", FOUR, [(0, 0), (0, 1)], epoch=0), traced("a", FOUR, [(0, 1), (0, 2)], epoch=1),
        traced("b", [(0, 0)], [], epoch=0), traced("b", [(0, 0)], [], epoch=1),
        traced("none", [], [], epoch=0), traced("none", [], [], epoch=1),
    ]  # fmt: skip
    spread = epoch_spread(items, [])
    assert spread is not None
    found = spread.union["all"]
    # a: 2/4 each time, 3/4 together; b: nothing; a question without gold is in no mean.
    assert found["mean_recall"] == Aggregate(0.25, 2, 0.0, 0.5)
    assert found["union_recall"] == Aggregate(0.375, 2, 0.0, 0.75)
    assert found["gain"] == Aggregate(0.125, 2, 0.0, 0.25)
    assert spread.metrics["all"] == {}


@pytest.mark.slow
@settings(max_examples=40)
@given(traced_items())
def test_the_union_has_at_least_the_best_and_at_most_the_sum(items: list[TracedItem]) -> None:
    spread = epoch_spread(items, [])
    if spread is None:
        return
    found = spread.union["all"]
    mean, union, gain = (found[m].mean for m in ("mean_recall", "union_recall", "gain"))
    if mean is None or union is None or gain is None:
        assert mean is union is gain is None
        return
    assert gain == pytest.approx(union - mean)
    assert mean - 1e-12 <= union <= min(1, spread.epochs * mean) + 1e-12


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=6), st.data())
def test_the_best_of_k_is_the_mean_over_all_choices(values, data):
    k = data.draw(st.integers(1, len(values)))
    choices = [max(chosen) for chosen in combinations(values, k)]
    assert best_of_k(values, k) == pytest.approx(fmean(choices))
