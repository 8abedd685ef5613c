import pytest

from branchwise.eval.items import support_recall

SHOWN = ["p1", "p2", "p1", "p3", "p4", "p5", "p6"]


@pytest.mark.parametrize(
    ("k", "recall"), [(1, 0.0), (2, 1 / 3), (5, 1 / 3), (6, 2 / 3), (None, 2 / 3)]
)
def test_recall_counts_distinct_passages_in_order_first_shown(k: int | None, recall: float) -> None:
    assert support_recall({"p2", "p6", "unseen"}, SHOWN, k) == recall


def test_nothing_shown_is_recall_zero() -> None:
    assert support_recall({"p1"}, [], 5) == 0


def test_without_gold_support_there_is_nothing_to_recall() -> None:
    assert support_recall(frozenset(), SHOWN, 5) is None
