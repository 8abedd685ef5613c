import pytest
from hypothesis import given, settings

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings import Curve, Effort, TracedItem, ceilings, recall_curve
from support.eval.traced_cases import evidence, traced, traced_items

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
        (0, 0, 2),
        (100, 0.25, 2),
        (200, 0.25, 2),
        (500, 0.5, 2),
        (1000, 0.5, 1),
        (2000, 0.75, 1),
    ]


def test_every_point_is_over_all_questions() -> None:
    curve = recall_curve([A, B], "calls")
    assert [point.recall.n for point in curve.points] == [2] * 4
    assert curve.points[3].recall == Aggregate(0.75, 2, 0.5, 1.0)


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
def test_curves_never_fall_and_end_at_the_ceiling_over_what_was_retrieved(
    items: list[TracedItem],
) -> None:
    end = ceilings(items, recall="strict_recall").aggregates["all"]["ceiling_retrieved"]
    for by in Effort.__args__:
        curve = recall_curve(items, by)
        values = [point.recall.mean or 0 for point in curve.points]
        assert values == sorted(values)
        searching = [point.searching for point in curve.points]
        assert searching == sorted(searching, reverse=True)
        if curve.points:
            assert curve.points[-1].recall == end


@pytest.mark.slow
@settings(max_examples=40)
@given(traced_items())
def test_a_point_is_what_a_run_cut_off_there_would_have_retrieved(items: list[TracedItem]) -> None:
    for point in recall_curve(items, "calls").points:
        cut = [_cut_off(item, point.effort) for item in items]
        if any(item.has_evidence for item in cut):
            assert (
                ceilings(cut, recall="strict_recall").aggregates["all"]["ceiling_retrieved"]
                == point.recall
            )
        else:
            assert not point.recall.mean


def _cut_off(item: TracedItem, calls: int) -> TracedItem:
    """The item as if it had made no more calls than these."""
    if item.evidence is None:
        return item
    gold = [(pair.branch, pair.entity) for pair in item.pairs]
    right = [(pair.branch, pair.entity) for pair in item.right]
    left = {
        (pair.branch, pair.entity): [(p.call, p.shown) for p in places if p.call <= calls]
        for pair, places in item.evidence.places.items()
    }
    before = [call.tokens for call in item.evidence.calls[:calls]]
    question = item.item.question
    return traced(
        question.id,
        gold,
        right,
        evidence(left, before),
        epoch=item.item.epoch,
        ambiguous=question.ambiguous,
    )
