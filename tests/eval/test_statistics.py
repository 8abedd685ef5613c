"""Two systems compared question by question, and a difference in words."""

import random

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.comparison import (
    Comparison,
    ScoreDifference,
    compare,
    compare_systems,
    summary_line,
)
from branchwise.eval.paired_tests import LeftOutQuestions
from branchwise.eval.scores import SUBSETS, Counts, ItemScore, Scorer, Scores

SCORER = Scorer("branches", 1)
FLIPS = 499


def make_scores(rows: list[ItemScore], scorer: Scorer = SCORER) -> Scores:
    """Scores of item scores; their means are left out, since a comparison does not read them."""
    metrics = rows[0].metrics if rows else ("recall",)
    aggregates = dict.fromkeys(SUBSETS, dict.fromkeys(metrics, Aggregate(None, 0, None, None)))
    return Scores(scorer, Counts(len(rows), len(rows), 0, 0), aggregates, tuple(rows))


def scores_of(metric: str = "recall", **values: float | list[float | None] | None) -> Scores:
    """Unambiguous questions q1=..., q2=...: a value, or one for each epoch."""
    rows = []
    for name, value in values.items():
        epochs = value if isinstance(value, list) else [value]
        rows += [ItemScore(name, e, False, {metric: v}) for e, v in enumerate(epochs)]
    return make_scores(rows)


def columns(values: list[float | None], metric: str = "recall") -> Scores:
    return scores_of(metric, **{f"q{place:05}": value for place, value in enumerate(values)})


def only(comparison: Comparison, subset: str = "all") -> ScoreDifference:
    [found] = [d for d in comparison.differences if d.subset == subset]
    return found


def test_difference_by_hand():
    base = scores_of(q1=0.5, q2=0.0, q3=1.0, q4=0.2)
    other = scores_of(q1=1.0, q2=0.25, q3=0.8, q4=0.2)
    found = only(compare(base, other))
    assert (found.n, found.higher, found.lower, found.same) == (4, 2, 1, 1)
    assert found.base == pytest.approx(1.7 / 4)
    assert found.other == pytest.approx(2.25 / 4)
    assert found.difference == pytest.approx(0.55 / 4)
    # Of the 8 signs of .5, .25 and -.2 the sums .95, .55 and their negatives reach |.55|.
    assert (found.test, found.p) == ("exact permutation", 4 / 8)
    assert found.left_out == LeftOutQuestions()
    assert (found.p_holm, found.family) == (None, 1)


def test_epochs_of_a_question_are_averaged_first():
    base = scores_of(q1=[0.0, 1.0], q2=[1.0, 1.0, 1.0], q3=[0.0, None])
    other = scores_of(q1=[1.0, 1.0], q2=[0.0], q3=[None, 1.0])
    found = only(compare(base, other))
    assert found.n == 3
    assert found.base == pytest.approx(1.5 / 3)
    assert found.difference == pytest.approx((0.5 - 1 + 1) / 3)
    assert found.test == "exact permutation"


def test_every_question_that_is_left_out_is_counted_once_and_with_its_reason():
    base = scores_of(a=1.0, b=0.0, c=None, d=1.0, e=None, x=1.0)
    other = scores_of(a=1.0, b=1.0, c=1.0, d=None, e=None, y=1.0, z=0.5)
    found = only(compare(base, other))
    assert found.n == 2
    assert found.left_out == LeftOutQuestions(1, 2, 1, 1, 1)
    assert found.left_out.total == 6
    assert (found.base, found.other) == (0.5, 1.0)
    assert found.left_out.reasons() == (
        "1 only in the base, 2 only in the other, 1 unscored in the base, "
        "1 unscored in the other, 1 unscored in both"
    )


def test_subsets_are_compared_apart():
    def side(ambiguous: float, plain: float) -> Scores:
        rows = [ItemScore(f"a{n}", 0, True, {"recall": ambiguous}) for n in range(3)]
        rows += [ItemScore(f"u{n}", 0, False, {"recall": plain}) for n in range(2)]
        return make_scores(rows)

    compared = compare(side(0.25, 1.0), side(0.5, 1.0))
    assert compared.find("recall", "ambiguous").difference == 0.25
    assert compared.find("recall", "ambiguous").n == 3
    assert compared.find("recall", "unambiguous").difference == 0
    assert compared.find("recall").difference == pytest.approx(0.15)
    with pytest.raises(KeyError):
        compared.find("precision")


def test_runs_without_a_common_question_compare_nothing_and_say_so():
    found = only(compare(scores_of(q1=1.0), scores_of(q2=1.0)))
    assert (found.n, found.difference, found.low, found.p, found.test) == (0, *[None] * 4)
    assert found.left_out == LeftOutQuestions(only_base=1, only_other=1)
    assert only(compare(make_scores([]), make_scores([]))).n == 0


def test_one_question_has_a_difference_but_neither_interval_nor_test():
    found = only(compare(scores_of(q1=0.0), scores_of(q1=1.0)))
    assert (found.difference, found.low, found.high, found.p) == (1.0, None, None, None)


def test_other_tasks_and_other_questions_are_refused():
    base = scores_of(q1=1.0)
    with pytest.raises(InputError, match="branches and mdcr have no metric in common"):
        compare(base, make_scores(list(base.items), Scorer("mdcr", 1)))
    hostile = "q\x1b[31m" + "x" * 500
    one = make_scores([ItemScore(hostile, 0, True, {"recall": 1.0})])
    two = make_scores([ItemScore(hostile, 0, False, {"recall": 1.0})])
    with pytest.raises(InputError, match="is ambiguous in one run and not in the other") as raised:
        compare(one, two)
    assert "\x1b" not in str(raised.value)
    assert len(str(raised.value)) < 250


def test_what_else_differs_between_the_sides_is_said():
    base = scores_of(q1=[1.0, 0.0], q2=[1.0, 1.0])
    rows = [row for row in base.items if row.epoch == 0]
    other = make_scores(rows, Scorer("branches", 1, matcher="llm", model="openai:m", seed=3))
    assert compare(base, other).cautions == (
        "scored with a different matcher: lexical and llm",
        "scored with a different model: None and openai:m",
        "different numbers of epochs: 2 and 1",
    )
    assert compare(base, base).cautions == ()


def test_rounding_makes_no_difference_between_epoch_means():
    base = scores_of(q1=[1 / 3, 2 / 3], q2=[0.1, 0.2, 0.3])
    other = scores_of(q1=0.5, q2=0.2)
    found = only(compare(base, other))
    assert (found.same, found.p, found.difference) == (2, 1.0, 0.0)


def test_what_is_no_finite_number_is_unscored():
    base = scores_of(q1=float("inf"), q2=float("nan"), q3=0.0, q4=0.5)
    other = scores_of(q1=float("inf"), q2=1.0, q3=float("-inf"), q4=1.0)
    found = only(compare(base, other))
    assert (found.n, found.difference) == (1, 0.5)
    assert found.left_out == LeftOutQuestions(unscored_base=1, unscored_other=1, unscored_both=1)


def test_metrics_are_those_of_both_or_those_named():
    base = make_scores([ItemScore(f"q{n}", 0, False, {"p": 1.0, "r": 0.0}) for n in range(2)])
    other = make_scores([ItemScore(f"q{n}", 0, False, {"r": 1.0, "f": 0.0}) for n in range(2)])
    assert {d.metric for d in compare(base, other).differences} == {"r"}
    named = compare(base, base, metrics=["p"], subsets=["all"])
    assert [(d.metric, d.subset) for d in named.differences] == [("p", "all")]
    assert compare(base, base, metrics=[]).differences == ()
    with pytest.raises(KeyError):
        compare(base, base, metrics=["q"])


# --- which test, which interval


def test_zeros_and_ones_get_mcnemars_test():
    base = [0.0] * 9 + [1.0] * 2 + [1.0] * 20
    other = [1.0] * 9 + [0.0] * 2 + [1.0] * 20
    found = only(compare(columns(base, "em"), columns(other, "em")))
    assert found.test == "McNemar"
    # statsmodels 0.15.0, contingency_tables.mcnemar(exact=True)
    assert found.p == pytest.approx(0.0654296875)
    assert (found.higher, found.lower, found.same) == (9, 2, 20)


def test_exact_up_to_sixteen_changes_and_drawn_from_there():
    for changes, name in ((16, "exact permutation"), (17, "permutation")):
        other = [0.5] * changes + [0.0] * 10
        assert only(compare(columns([0.0] * (changes + 10)), columns(other))).test == name


def test_monte_carlo_p_value_is_never_zero():
    found = only(compare(columns([0.1] * 40), columns([0.9] * 40), flips=999))
    assert (found.test, found.p) == ("permutation", 1 / 1000)


def test_another_seed_changes_only_what_is_drawn():
    generator = random.Random(2)
    base = columns([generator.random() for _ in range(40)])
    other = columns([generator.random() for _ in range(40)])
    one, again, two = (only(compare(base, other, seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert (one.difference, one.low, one.high) == (two.difference, two.low, two.high)
    assert one.p != two.p
    assert one.p == pytest.approx(two.p, abs=0.03)


def test_interval_is_that_of_scipys_paired_t():
    generator = np.random.default_rng(7)
    base, other = generator.choice([0.0, 0.5, 1.0], size=(2, 60))
    found = only(compare(columns(base.tolist()), columns(other.tolist())))
    theirs = scipy.stats.ttest_rel(other, base).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


# --- several systems


def test_systems_are_corrected_by_metric_and_subset():
    base = columns([0.0] * 12)
    others = {
        "all up": columns([1.0] * 12),
        "half up": columns([1.0] * 6 + [0.0] * 6),
        "same": columns([0.0] * 12),
        "elsewhere": scores_of(other=1.0),
    }
    found = compare_systems(base, others)
    assert list(found) == list(others)
    p = {name: only(comparison).p for name, comparison in found.items()}
    assert p == pytest.approx(
        {"all up": 2 / 2**12, "half up": 2 / 2**6, "same": 1.0, "elsewhere": None}
    )
    corrected = {name: only(comparison).p_holm for name, comparison in found.items()}
    assert corrected == pytest.approx(
        {"all up": 6 / 2**12, "half up": 4 / 2**6, "same": 1.0, "elsewhere": None}
    )
    assert only(found["all up"]).family == 3
    assert compare_systems(base, {}) == {}


def test_a_comparison_alone_is_as_it_is_among_others_but_for_the_correction():
    base, other = columns([0.0, 0.5, 0.25]), columns([1.0, 0.5, 0.0])
    [(_, found)] = compare_systems(base, {"x": other}).items()
    alone = only(compare(base, other))
    assert only(found).p_holm == alone.p
    assert only(found).difference == alone.difference


# --- properties

VALUE = st.sampled_from([0.0, 0.0, 1 / 3, 0.5, 1.0, 1.0, None])
SIDES = st.lists(st.tuples(VALUE, VALUE), min_size=2, max_size=30)


def sides(values: list[tuple[float | None, float | None]]) -> tuple[Scores, Scores]:
    return columns([a for a, _ in values]), columns([b for _, b in values])


@settings(deadline=None, max_examples=50)
@given(SIDES)
def test_swapping_the_systems_turns_the_signs(values):
    base, other = sides(values)
    one, two = only(compare(base, other, flips=FLIPS)), only(compare(other, base, flips=FLIPS))
    assert (one.n, one.p, one.test, one.same) == (two.n, two.p, two.test, two.same)
    assert (one.base, one.other, one.higher) == (two.other, two.base, two.lower)
    if one.difference is not None:
        assert one.difference == -two.difference
    if one.low is not None:
        assert (one.low, one.high) == pytest.approx((-two.high, -two.low))


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(SIDES, st.randoms(use_true_random=False))
def test_order_of_items_changes_nothing(values, shuffler):
    base, other = sides(values)
    mixed = make_scores(shuffler.sample(base.items, len(base.items)))
    assert compare(mixed, other, flips=FLIPS) == compare(base, other, flips=FLIPS)


@settings(deadline=None, max_examples=50)
@given(SIDES)
def test_equal_systems_do_not_differ(values):
    base, _ = sides(values)
    found = only(compare(base, base, flips=FLIPS))
    assert found.difference in (0, None)
    assert found.p == (1 if found.n > 1 else None)
    assert found.same == found.n
    if found.n > 1:
        assert (found.low, found.high) == (0, 0)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(SIDES)
def test_numbers_agree_with_each_other(values):
    found = only(compare(*sides(values), flips=FLIPS))
    assert found.higher + found.lower + found.same == found.n
    assert found.n + found.left_out.total == len(values)
    if found.n:
        assert found.other - found.base == pytest.approx(found.difference)
    if found.low is not None:
        assert found.low <= found.difference <= found.high
        assert 0 < found.p <= 1


def difference(**changes) -> ScoreDifference:
    known = {
        "metric": "strict_recall", "subset": "ambiguous", "n": 120, "base": 0.4, "other": 0.48,
        "difference": 0.08, "low": 0.03, "high": 0.13, "higher": 30, "lower": 12, "same": 78,
        "test": "permutation", "p": 0.002, "left_out": LeftOutQuestions(), "p_holm": 0.004,
        "family": 2,
    }  # fmt: skip
    return ScoreDifference(**known | changes)


def test_effect_and_interval_come_first_and_p_last():
    line = "recall on ambiguous questions +.08 [.03, .13] (p = .004 after Holm, n = 120)"
    assert summary_line(difference(), name="recall") == line
    assert summary_line(difference()).startswith("strict recall on ambiguous questions +.08")
    assert "(p = .002, n = 120)" in summary_line(difference(p_holm=None, family=1))
    assert "(p = .002, n = 120)" in summary_line(difference(p_holm=0.002, family=1))
    assert "strict EM on all questions" in summary_line(
        difference(metric="strict_em", subset="all")
    )


def test_a_loss_that_rounds_to_zero_has_no_sign_and_what_is_left_out_is_said():
    line = summary_line(
        difference(
            difference=-0.004, low=-0.02, high=0.012, left_out=LeftOutQuestions(unscored_both=3)
        )
    )
    assert " .00 [-.02, .01]" in line
    assert line.endswith("n = 120; left out: 3 unscored in both)")


def test_what_could_not_be_compared_is_said():
    nothing = difference(
        n=0, difference=None, low=None, high=None, p=None, left_out=LeftOutQuestions(only_base=9)
    )
    assert summary_line(nothing) == (
        "strict recall on ambiguous questions: nothing to compare "
        "(n = 0; left out: 9 only in the base)"
    )
    one = difference(n=1, difference=1.0, low=None, high=None, p=None)
    assert summary_line(one).endswith("questions +1.00 (no interval, no test, n = 1)")
