"""Ceilings of a run, and the curves that lead to them."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_scores import GoldPair
from branchwise.eval.ceilings import (
    CEILINGS,
    LOSSES,
    Curve,
    Effort,
    TracedItem,
    ceiling_metrics,
    recall_curve,
)
from branchwise.eval.ceilings import ceilings as run_ceilings
from branchwise.eval.reach import Reach
from support.eval.traced_cases import evidence, traced, traced_items

RECALL = "strict_recall"
ceilings = partial(run_ceilings, recall=RECALL)
METRICS = ceiling_metrics(RECALL)
FOUR = [(0, 0), (0, 1), (1, 0), (1, 1)]
# The first was shown; the second was retrieved twice and cut off both times; the others never came.
SOME = evidence({(0, 0): [(1, True)], (0, 1): [(1, False), (2, False)], (1, 0): []}, [500, 900])


def reach(**known: list[bool | None]) -> Reach:
    """Reach of the pairs in `FOUR`, in order, by question."""
    return Reach(
        {
            id: {GoldPair(*pair): is_in for pair, is_in in zip(FOUR, found, strict=True)}
            for id, found in known.items()
        }
    )


def metrics(item: TracedItem, reach: Reach | None = None) -> list[float | None]:
    """`METRICS` of one item: reach, retrieved, extracted, shown, recall; then the four losses."""
    return list(ceilings([item], reach).items[0].metrics.values())


def test_losses_of_one_item_by_hand() -> None:
    item = traced("q", FOUR, [(0, 0)], SOME)
    known = reach(q=[True, True, True, False])
    assert ceilings([item], known).items[0].metrics == {
        "ceiling_reach": 0.75, "ceiling_retrieved": 0.5, "ceiling_extracted": 0.25,
        "ceiling_shown": 0.25, "strict_recall": 0.25, "retrieval_loss": 0.25,
        "extraction_loss": 0.25, "context_loss": 0.0, "reasoning_loss": 0.0,
    }  # fmt: skip


def test_what_no_answered_request_held_is_no_loss_of_extraction() -> None:
    # The first was cut off everywhere; the second once, and once it never fitted a request.
    places = {(0, 0): [(1, False)], (0, 1): [(1, False), (2, False)], (1, 0): [(2, True)]}
    item = traced("q", FOUR, (), evidence(places, [500, 900], unread=[2]))
    assert metrics(item) == [None, 0.75, 0.5, 0.25, 0, None, 0.25, 0.25, 0.25]
    # What was retrieved was within reach, whatever gold says.
    assert metrics(traced("q", FOUR, (), SOME), reach(q=[False, False, True, False]))[0] == 0.75
    # A pair that was shown once was shown.
    seen = evidence({(0, 0): [(1, False), (2, True), (3, False)]}, [1, 2, 3])
    assert metrics(traced("q", [(0, 0)], (), seen))[3] == 1
    # Places of pairs that are no gold count nothing.
    stray = evidence({(0, 0): [(1, True)], (7, 7): [(1, True)]}, [1])
    assert metrics(traced("q", [(0, 0), (0, 1)], (), stray))[1] == 0.5


def test_what_another_epoch_retrieved_was_within_reach() -> None:
    items = [traced("q", FOUR, (), SOME), traced("q", FOUR, (), evidence({}, [100]), epoch=1)]
    scores = ceilings(items, reach(q=[False] * 4))
    assert [row.metrics["ceiling_reach"] for row in scores.items] == [0.5, 0.5]
    assert [row.metrics["retrieval_loss"] for row in scores.items] == [0, 0.5]


def test_reach_is_unknown_where_it_is_for_any_pair_even_one_that_was_retrieved() -> None:
    item = traced("q", FOUR, (), SOME)
    for known in ([None, True, True, True], [True, True, True, None]):
        assert metrics(item, reach(q=known)) == [None, 0.5, 0.25, 0.25, 0, None, 0.25, 0, 0.25]
    assert metrics(item, Reach({}))[0] is None


def test_means_over_questions_by_subset_with_epochs_averaged_first() -> None:
    items = [
        traced("a", FOUR, [(0, 0)], SOME, ambiguous=True),
        traced("a", FOUR, [(0, 0)], evidence({}, [1]), epoch=1, ambiguous=True),
        traced("b", [(0, 0)], [(0, 0)], evidence({(0, 0): [(1, True)]}, [1])),
    ]
    found = ceilings(items).aggregates
    # a: retrieved (2/4 + 0) / 2 = 1/4, shown (1/4 + 0) / 2 = 1/8, recall 1/4; b: 1, 1, 1.
    assert found["ambiguous"]["ceiling_retrieved"] == Aggregate(0.25, 1, None, None)
    assert found["unambiguous"]["ceiling_retrieved"] == Aggregate(1.0, 1, None, None)
    assert found["all"]["ceiling_retrieved"].mean == pytest.approx(5 / 8)
    assert found["all"]["ceiling_shown"].mean == pytest.approx(9 / 16)
    assert found["all"]["extraction_loss"].mean == pytest.approx(1 / 16)
    assert found["all"]["reasoning_loss"].mean == pytest.approx(-1 / 16)
    assert found["all"]["ceiling_reach"] == Aggregate(None, 0, None, None)
    # Of two questions a resample has both, or one of them twice.
    assert (found["all"]["ceiling_retrieved"].low, found["all"]["ceiling_retrieved"].high) == (
        0.25,
        1.0,
    )


def test_a_run_without_any_evidence_has_no_ceilings_but_recall() -> None:
    items = [traced("a", FOUR, [(0, 0)], evidence()), traced("b", FOUR, (), evidence())]
    found = ceilings(items, reach(a=[True] * 4, b=[True] * 4)).aggregates["all"]
    assert {m: found[m].n for m in METRICS} == dict.fromkeys(METRICS, 0) | {"strict_recall": 2}
    assert found["strict_recall"].mean == 0.125


def test_an_item_that_never_searched_in_a_run_that_did_counts_zero() -> None:
    items = [traced("a", FOUR, (), SOME), traced("b", FOUR, (), evidence())]
    assert ceilings(items).aggregates["all"]["ceiling_retrieved"].mean == 0.25
    # Passages that mention nothing are evidence too.
    items = [traced("a", FOUR, (), evidence(), given=("p1",))]
    assert ceilings(items).aggregates["all"]["ceiling_retrieved"] == Aggregate(0.0, 1, None, None)


@pytest.mark.slow
@settings(max_examples=40)
@given(traced_items(), st.booleans())
def test_each_ceiling_is_at_most_the_one_before_and_losses_add_up(items, within):
    scores = ceilings(
        items, Reach({i.item.question.id: dict.fromkeys(i.pairs, within) for i in items})
    )
    for row in scores.items:
        values = [row.metrics[metric] for metric in CEILINGS]
        known = [value for value in values if value is not None]
        assert len(known) in (0, len(CEILINGS))
        assert [1, *known, 0] == sorted([1, *known, 0], reverse=True)
        if known:
            lost = sum(row.metrics[metric] or 0 for metric in LOSSES)
            assert lost == pytest.approx(known[0] - (row.metrics["strict_recall"] or 0))


@pytest.mark.slow
@settings(max_examples=40)
@given(traced_items(), st.randoms(use_true_random=False))
def test_the_order_of_items_changes_nothing(items, shuffle):
    assert ceilings(shuffle.sample(items, len(items))) == ceilings(items)


TWO = [(0, 0), (0, 1)]
# a finds one answer with its 1st call, both with its 3rd; b finds one with its 2nd and stops.
A = traced(
    "a", TWO, (), evidence({(0, 0): [(1, True), (3, True)], (0, 1): [(3, False)]}, [90, 400, 1200])
)
B = traced("b", TWO, (), evidence({(0, 0): [(2, True)]}, [150, 450]))


def points(curve: Curve) -> list[tuple[int, float | None, int]]:
    return [(point.effort, point.recall.mean, point.searching) for point in curve.points]


def test_recall_after_each_call_by_hand() -> None:
    found = points(recall_curve([A, B], "calls"))
    assert found == [(0, 0, 2), (1, 0.25, 2), (2, 0.5, 2), (3, 0.75, 1)]


def test_recall_by_tokens_by_hand() -> None:
    # A call counts with what was spent before it: a's at 90 and 1,200, b's at 450.
    assert points(recall_curve([A, B], "tokens")) == [
        (0, 0, 2), (100, 0.25, 2), (200, 0.25, 2), (500, 0.5, 2), (1000, 0.5, 1), (2000, 0.75, 1)
    ]  # fmt: skip


def test_what_the_question_brought_is_there_before_any_call() -> None:
    given = traced("a", TWO, (), evidence({(0, 0): [(0, True)], (0, 1): [(1, True)]}, [100]))
    assert points(recall_curve([given], "calls")) == [(0, 0.5, 1), (1, 1, 1)]
    assert points(recall_curve([given], "tokens")) == [(0, 0.5, 1), (100, 1, 1)]


def test_without_evidence_there_is_no_curve() -> None:
    for items in ([], [traced("a", TWO, TWO, evidence())], [traced("a", TWO, TWO, None)]):
        assert recall_curve(items, "calls").points == ()


def test_many_calls_make_few_points() -> None:
    long = traced("a", TWO, (), evidence({(0, 0): [(9_999, True)]}, [1] * 10_000))
    found = points(recall_curve([long], "calls"))
    assert [effort for effort, _, _ in found][23:30] == [23, 24, 32, 48, 64, 96, 128]
    assert len(found) < 50
    assert found[-1] == (10_000, 0.5, 1)
    assert found[-2][1] == 0


@pytest.mark.slow
@settings(max_examples=40)
@given(traced_items())
def test_curves_never_fall_and_end_at_the_ceiling_over_what_was_retrieved(items):
    end = run_ceilings(items, recall="strict_recall").aggregates["all"]["ceiling_retrieved"]
    for by in Effort.__args__:
        curve = recall_curve(items, by)
        values = [point.recall.mean or 0 for point in curve.points]
        assert values == sorted(values)
        searching = [point.searching for point in curve.points]
        assert searching == sorted(searching, reverse=True)
        if curve.points:
            assert curve.points[-1].recall == end
