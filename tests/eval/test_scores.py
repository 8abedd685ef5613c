import pytest

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.items import AnsweredItem, support_recall
from branchwise.eval.scores import Counts, Scorer, score_items
from branchwise.eval.tasks import get_task
from support.eval.scoring_cases import item

BRANCHES = get_task("branches")
ONE = {"default": ["A", "B"]}
TWO = {"in 1986": ["A"], "in 1995": ["B"]}


def test_means_over_questions_apart_and_together() -> None:
    items = [
        item("q1", ONE, {"default": ["A", "B"]}),
        item("q2", ONE, {"default": ["A", "X"]}),
        item("q3", TWO, {"in 1986": ["B"], "in 1995": ["B"]}),
    ]
    found = score_items(BRANCHES, items).aggregates
    assert found["unambiguous"]["strict_precision"].mean == pytest.approx((1 + 1 / 2) / 2)
    assert found["ambiguous"]["strict_precision"] == Aggregate(0.5, 1, None, None)
    assert found["ambiguous"]["pooled_precision"] == Aggregate(1.0, 1, None, None)
    # In strict the second branch is right alone: 1 of 2 predicted, 1 of 2 gold; pooled: B only.
    assert found["ambiguous"]["pooled_recall"].mean == 0.5
    assert found["all"]["strict_recall"].mean == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert found["all"]["strict_em"].n == 3


def test_precision_answered_leaves_empty_predictions_out() -> None:
    items = [item("q1", ONE, {"default": ["A"]}), item("q2", ONE, {"default": [""]})]
    scores = score_items(BRANCHES, items)
    found = scores.aggregates["all"]
    assert scores.counts.answered == 1
    assert (found["strict_precision"].mean, found["strict_precision"].n) == (0.5, 2)
    assert (found["precision_answered"].mean, found["precision_answered"].n) == (1.0, 1)


def test_a_failed_item_counts_zero_whatever_it_holds() -> None:
    failed = item("q1", ONE, {"default": ["A", "B"]}, error="the model hung up")
    scores = score_items(BRANCHES, [failed])
    assert scores.aggregates["all"]["strict_recall"].mean == 0
    assert scores.aggregates["all"]["precision_answered"].n == 0
    assert scores.counts == Counts(items=1, answered=0, failed=1, format_errors=0)


def test_format_errors_are_counted_apart_from_failures() -> None:
    items = [item("q1", ONE, {}, how="failed"), item("q2", ONE, {"default": ["A"]}, how="repaired")]
    assert score_items(BRANCHES, items).counts == Counts(2, 1, 0, 1)


def test_epochs_are_averaged_within_a_question_first() -> None:
    right, wrong = {"default": ["A", "B"]}, {"default": ["X"]}
    items = [item("q1", ONE, right, epoch=e) for e in range(3)] + [item("q2", ONE, wrong)]
    items.append(item("q2", ONE, right, epoch=1))
    found = score_items(BRANCHES, items).aggregates["all"]["strict_em"]
    # (1 + (0 + 1) / 2) / 2, over two questions, not 4/5 over five items.
    assert (found.mean, found.n) == (0.75, 2)


def test_no_items_have_no_means() -> None:
    scores = score_items(BRANCHES, [])
    assert scores.counts == Counts(0, 0, 0, 0)
    assert set(scores.aggregates["all"].values()) == {Aggregate(None, 0, None, None)}


def supported(id: str, shown: tuple[str, ...]) -> AnsweredItem:
    made = item(id, ONE, {}, shown=shown)
    branch = Branch(name="default", answers=(Answer(text="A", support=("p1", "p2")),))
    question = Question(id=id, question="?", branches=(branch,))
    return AnsweredItem(question, made.prediction, evidence=made.evidence)


def test_support_recall_counts_items_that_retrieved_nothing() -> None:
    items = [supported("q1", ("p1", "x")), supported("q2", ())]
    found = score_items(BRANCHES, items).aggregates["all"]["support_recall_5"]
    assert (found.mean, found.n) == (0.25, 2)


def test_the_digest_names_what_scores_depend_on() -> None:
    one = Scorer("branches", 1)
    assert one.digest == Scorer("branches", 1).digest
    others = [Scorer("branches", 2), Scorer("condambigqa", 1), Scorer("branches", 1, seed=1)]
    assert one.digest not in {other.digest for other in others}


SHOWN = ["p1", "p2", "p1", "p3", "p4", "p5", "p6"]


@pytest.mark.parametrize(
    ("gold", "shown", "k", "recall"),
    [
        *(({"p2", "p6", "unseen"}, SHOWN, k, r) for k, r in ((1, 0), (2, 1 / 3), (5, 1 / 3))),
        *(({"p2", "p6", "unseen"}, SHOWN, k, 2 / 3) for k in (6, None)),
        ({"p1"}, [], 5, 0),
        (frozenset(), SHOWN, 5, None),
    ],
)
def test_recall_counts_distinct_passages_in_order_first_shown(gold, shown, k, recall):
    assert support_recall(gold, shown, k) == recall
