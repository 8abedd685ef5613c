"""Scores of clarification questions and of the answers to their options, worked out by hand."""

from dataclasses import replace
from typing import Any

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.prediction import FormatError, Prediction
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import score_items
from branchwise.eval.tasks.cambignq.clarifications import (
    bare_answer,
    bleu_counts,
    corpus_bleu,
    read_asked,
)
from branchwise.eval.tasks.cambignq.option_scores import PUBLISHED, SUBSEQUENCE, SUBSTRING
from branchwise.eval.tasks.cambignq.tasks import ClarificationTask, ClarifiedTask, ClarifyTask
from branchwise.eval.tasks.task import totals_of
from support.eval.scoring_cases import Gold, item

GOLD_TEXT = "Which version: the 2002 film, or the book?"
GOLD: Gold = {
    "the 2002 film": [Answer(text="Jane Doe", aliases=("J. Doe",))],
    "the book": ["An Author"],
}
TASKS = [
    kind(way)
    for kind in (ClarificationTask, ClarifiedTask, ClarifyTask)
    for way in (SUBSTRING, SUBSEQUENCE, PUBLISHED)
]


def answered(
    output: Any, gold: Gold = GOLD, text: str | None = GOLD_TEXT, id: str = "q", **more: Any
) -> AnsweredItem:
    made = item(id, gold, {}, **more)
    meta = {"clarification_question": text} if text else {}
    question = made.question.model_copy(update={"meta": meta})
    return replace(made, question=question, prediction=Prediction(task_output=output))


def asked(text: str) -> dict[str, Any]:
    return {"clarification_question": text}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.name}-{task.way.matcher}")
@pytest.mark.parametrize("gold", [GOLD, {DEFAULT_BRANCH: ["x"]}])
def test_every_column_and_sum_has_a_metric(task: Any, gold: Gold) -> None:
    sums = {name for total in totals_of(task.columns).values() for name in total.sums}
    assert set(task.score(answered(None, gold))) == {c.key for c in task.columns} | sums
    score_items(task, [answered(None, gold)])


def test_a_question_is_scored_whole_by_category_and_by_options() -> None:
    found = ClarificationTask().score(answered(asked("Which version: the film, or book?")))
    # " film" is 5 of the 8 and of the 13 characters, "book" 4 of 4 and of 8.
    assert found["option_precision"] == pytest.approx((5 / 8 + 1) / 2)
    assert found["option_recall"] == pytest.approx((5 / 13 + 4 / 8) / 2)
    assert (found["category_exact"], found["category_bleu1"]) == (1, 1)
    assert (found["option_count"], found["form_errors"]) == (2, 0)
    assert found["bleu4"] is not None
    assert 0 < found["bleu4"] < 1


@pytest.mark.parametrize("output", [asked("What do you mean?"), asked(""), None])
def test_a_text_of_another_form_is_counted_and_offers_nothing(output: Any) -> None:
    found = ClarificationTask().score(answered(output))
    assert (found["form_errors"], found["option_count"], found["category_exact"]) == (1, 0, 0)
    assert (found["option_said"], found["option_gold"], found["option_recall"]) == (0, 2, 0)


def test_published_code_reads_something_out_of_everything() -> None:
    task = ClarificationTask(PUBLISHED)
    found = task.score(answered(asked("What do you mean?")))
    assert (found["form_errors"], found["option_count"]) == (0, 1)
    exact = task.score(answered(asked(GOLD_TEXT)))
    assert (exact["option_f1"], exact["category_exact"]) == (1, 1)
    # Its category is the whole head, and it has no mapping that ties could leave open.
    assert (exact["head_bleu1"], exact["category_bleu1"]) == (1, None)
    assert exact["option_lowest_f1"] is None


def test_bleu_of_the_category_counts_which_apart() -> None:
    text = "In which version: the 2002 film, or the book?"
    found = ClarificationTask().score(answered(asked(text)))
    # "version" is all of the category; "In which version" has one word of "Which version".
    assert (found["category_exact"], found["category_bleu1"]) == (1, 1)
    assert found["head_bleu1"] == pytest.approx(1 / 3)


def test_ties_leave_a_range() -> None:
    gold: Gold = {"the play": ["x"], "the plays": ["y"]}
    found = ClarificationTask().score(answered(asked("Which one: play, or film?"), gold, None))
    # "play" is whole in either, 4 of 8 or of 9; "film" shares " " or "l" with the other, 1 of 4.
    assert found["option_precision"] == pytest.approx((1 + 1 / 4) / 2)
    assert found["option_recall"] == pytest.approx((4 / 8 + 1 / 9) / 2)
    assert found["option_lowest_recall"] == pytest.approx((4 / 9 + 1 / 8) / 2)
    low, high = found["option_lowest_f1"], found["option_f1"]
    assert low is not None
    assert high is not None
    assert low < high


def test_without_a_gold_text_only_options_are_scored_and_one_reading_not_at_all() -> None:
    task = ClarificationTask()
    found = task.score(answered(asked(GOLD_TEXT), text=None))
    assert (found["option_f1"], found["bleu4"], found["category_exact"]) == (1, None, None)
    one = task.score(answered(asked(GOLD_TEXT), {DEFAULT_BRANCH: ["x"]}, None))
    assert set(one.values()) == {None}


def pairs(*answers: tuple[str, list[str]], text: str = GOLD_TEXT) -> dict[str, Any]:
    return {"clarification_question": text, "answers": [list(pair) for pair in answers]}


def test_answers_count_by_their_best_form_and_by_place_where_options_are_gold() -> None:
    output = pairs(("the 2002 film", ["The director is J. Doe."]), ("the book", ["an author"]))
    found = ClarifiedTask().score(answered(output))
    # "director is j doe" holds all 5 characters of "j doe", 5 of its own 17; "author" is whole.
    assert found["answer_precision"] == pytest.approx((5 / 17 + 1) / 2)
    assert found["answer_recall"] == 1
    assert (found["option_exact"], found["option_accuracy"]) == (1 / 2, 1)


def test_own_options_have_no_accuracy_and_repeated_answers_are_told_apart() -> None:
    found = ClarifiedTask().score(answered(pairs(("a", ["Jane Doe"]), ("a", ["jane doe"]))))
    assert (found["option_accuracy"], found["option_exact"]) == (None, None)
    assert (found["answer_count"], found["different_answers"]) == (2, 1)
    # The second is left for "author", with which it shares one character of its 8.
    assert found["answer_precision"] == pytest.approx((1 + 1 / 8) / 2)


def test_called_unambiguous_the_gold_answers_are_missed() -> None:
    task = ClarifyTask()
    missed = answered({**pairs(text=""), "ambiguous": False}, id="a")
    right = pairs(("the 2002 film", ["Jane Doe"]), ("the book", ["Author"]))
    found = answered({**right, "ambiguous": True}, id="b")
    scores = score_items(task, [missed, found])
    means = {key: scores.mean(key, "all").mean for key in scores.aggregates["all"]}
    # Two right answers, and one wrong one for the question that was answered as it is.
    assert (means["answer_precision"], means["answer_recall"]) == (2 / 3, 1 / 2)
    assert means["answer_f1"] == pytest.approx(4 / 7)
    assert (means["ambiguous_recall"], means["ambiguous_precision"]) == (1 / 2, 1)
    assert means["form_errors"] == 0


@pytest.mark.parametrize("way", [SUBSTRING, PUBLISHED])
def test_end_to_end_unambiguous_questions_count_in_detection_alone(way: Any) -> None:
    task = ClarifyTask(way)
    output = {**pairs(("a", ["x"]), ("b", ["y"])), "ambiguous": True}
    wrong = answered(output, {DEFAULT_BRANCH: ["x"]}, None, id="a")
    found = task.score(wrong)
    assert {found[key] for key in ("answer_precision", "answer_said", "form_errors")} == {None}
    right = pairs(("the 2002 film", ["Jane Doe"]), ("the book", ["An Author"]))
    scores = score_items(task, [wrong, answered({**right, "ambiguous": True}, id="b")])
    assert scores.mean("answer_f1", "all").mean == scores.mean("answer_f1", "ambiguous").mean == 1
    assert scores.mean("ambiguous_precision", "all").mean == 1 / 2


def test_a_failed_item_is_missed_and_no_format_error() -> None:
    for task in (ClarificationTask(), ClarifiedTask(), ClarifyTask()):
        found = task.score(answered(None, error="died"))
        recall = next(one.key for one in task.columns if one.role == "recall")
        assert (found[recall], found["form_errors"]) == (0, 0)


@pytest.mark.parametrize(
    ("task", "output"),
    [
        (ClarificationTask(), {}),
        (ClarificationTask(), "Which?"),
        (ClarificationTask(), asked(3)),  # type: ignore[arg-type]
        (ClarifiedTask(), asked(GOLD_TEXT)),
        (ClarifiedTask(), {**asked(GOLD_TEXT), "answers": [["a"]]}),
        (ClarifiedTask(), {**asked(GOLD_TEXT), "answers": [[["a"], "b"]]}),
        (ClarifyTask(), pairs()),
        (ClarifyTask(), {**pairs(), "ambiguous": "yes"}),
    ],
)
def test_an_output_of_another_shape_is_refused(task: Any, output: Any) -> None:
    with pytest.raises(FormatError):
        task.read_output(output)


def test_outputs_read_back_as_they_are() -> None:
    output = pairs(("a", ["x"]))
    assert ClarificationTask().read_output(asked(GOLD_TEXT)) == asked(GOLD_TEXT)
    assert ClarifiedTask().read_output(output) == output
    whole = {**output, "ambiguous": True}
    assert ClarifyTask().read_output(whole) == whole
    # A verdict alone is enough: of a question that is not ambiguous there is no more to say.
    alone = {"ambiguous": False}
    assert ClarifyTask().read_output(alone) == {**pairs(), **asked(""), **alone}


def test_what_is_compared_of_an_answer() -> None:
    assert bare_answer("The  J. R. R. Tolkien!") == "j r r tolkien"
    assert [bare_answer(text) for text in ("A", "!?")] == ["a", "!?"]
    assert read_asked("Which one: A, or B?").options == ("A", "B")


GOLD_QUESTION = "Which version: the 2002 film, or the book?"
texts = st.lists(st.sampled_from(["the", "film", "book", "or", ","]), max_size=9).map(" ".join)


@pytest.mark.slow
@given(st.lists(st.tuples(texts, texts.filter(bool)), min_size=1, max_size=5))
@pytest.mark.parametrize("order", [1, 4])
def test_sums_give_sacrebleus_corpus_score(order: int, pairs: list[tuple[str, str]]) -> None:
    said, gold = zip(*pairs, strict=True)
    sums = map(sum, zip(*(bleu_counts(*pair, order) for pair in pairs), strict=True))
    metric = sacrebleu.BLEU(smooth_method="none", max_ngram_order=order)
    assert corpus_bleu(*sums) == pytest.approx(metric.corpus_score(said, [gold]).score / 100)


def test_nothing_said_is_zero_and_no_gold_is_undefined() -> None:
    assert corpus_bleu(*bleu_counts("", GOLD_QUESTION, 4)) == 0
    assert corpus_bleu(*[0.0] * 10) is None
