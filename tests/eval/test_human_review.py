"""HumanGrades of people: the sample, agreement by hand, what is kept, CSV, corrections."""

import csv
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.eval.agreement import krippendorff_alpha, pairwise_kappa
from branchwise.eval.human_review import (
    HumanGrade,
    HumanReview,
    corrected,
    from_csv,
    tabulate,
    to_csv,
)

ONE = '{{"id": "p{0}", "question": "Who wrote P{0}?", "answers": ["Ana"]}}'
TWO = (
    '{{"id": "a{0}", "question": "Who directed A{0}?", '
    '"answers": {{"A (1933)": ["Tom"], "A (1976)": ["Eva"]}}}}'
)


@pytest.fixture
def questions(tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(line.format(n) for n in range(20) for line in (ONE, TWO)))
    return load_questions(str(file))


@pytest.fixture
def whole(tmp_path, questions):
    return HumanReview(tmp_path / "whole.review", questions, 1, 1)


def test_the_sample_is_a_share_of_either_half_in_file_order(tmp_path, questions):
    review = HumanReview(tmp_path / "r", questions, 0.15, 1)
    ids = [question.id for question in review.questions]
    assert [sum(id[0] == half for id in ids) for half in "pa"] == [3, 3]
    assert ids == [question.id for question in questions.questions if question.id in ids]
    assert [q.id for q in HumanReview(tmp_path / "r", questions, None, 1).questions] == ids
    assert [q.id for q in HumanReview(tmp_path / "s", questions, 0.15, 2).questions] != ids


def test_agreement_of_three_raters_of_which_one_left_items_out():
    first, second = {"a": 1, "b": 1, "c": 0}, {"a": 1, "b": 0, "c": 0}
    # First and second: p_o = 2/3, p_e = 2/9 + 2/9 = 4/9, kappa .4. First and third give one grade
    # alone: undefined. Second and third: of a and b they agree on one, p_e = 1/2, kappa 0.
    third = {"a": 1, "b": 1}
    assert pairwise_kappa([first, second]) == pytest.approx(0.4)
    assert pairwise_kappa([first, second, third]) == pytest.approx((0.4 + 0.0) / 2)
    # Alpha of the two (no missing values, 6 values, 3 of each): observed disagreement 1/3,
    # expected 2 * 3 * 3 / (6 * 5) = .6.
    assert krippendorff_alpha([first, second], "nominal") == pytest.approx(1 - (1 / 3) / 0.6)
    assert krippendorff_alpha([{"a": 1}, {"a": 1}], "nominal") is None
    assert krippendorff_alpha([{"a": 1}, {"b": 2}], "nominal") is None


def test_the_table_averages_over_raters(whole):
    for rater, natural, correct in (("ana", (3, 2), (True, True)), ("tom", (3, 3), (False, True))):
        for id, grade, right in zip(("p0", "p1"), natural, correct, strict=True):
            whole.save(rater, id, HumanGrade(naturalness=grade, correct=right))
    whole.save("ana", "a0", HumanGrade(3, True, "", {"A (1933)": True, "A (1976)": False}))
    one, several = tabulate(whole, ambiguous=False), tabulate(whole, ambiguous=True)
    assert (one.raters, one.naturalness.mean, one.correct.mean) == (2, 2.75, 0.75)
    assert (one.naturalness.graded, one.correct.kappa) == (2, 0)
    assert (several.all_helpful.mean, several.helpful.mean) == (0, 0.5)
    assert several.helpful.graded == 2
    assert several.correct.kappa is None


def test_raters_who_begin_and_grade_at_once_lose_nothing(tmp_path, questions):
    def grade(rater):
        review = HumanReview(tmp_path / "r", questions, 1, 1)
        for question in review.questions:
            review.save(rater, question.id, HumanGrade(3, True))

    with ThreadPoolExecutor(2) as raters:
        deque(raters.map(grade, ("ana", "tom")), maxlen=0)
    assert len(HumanReview(tmp_path / "r", questions, None, 1).grades()) == 80


def test_grades_go_through_csv_and_back(whole):
    whole.save("ana", "p0", HumanGrade(2, False, "Eva wrote it, too"))
    whole.save("ana", "a0", HumanGrade(3, True, "", {"A (1933)": True}))
    text = to_csv(whole, ["ana"])
    rows = [*csv.DictReader(text.splitlines())]
    assert len(rows) == 20 + 3 * 20
    assert [row["why"] for row in rows if row["id"] == "p0"] == ["Eva wrote it, too"]
    read = from_csv(text, whole, "g.csv")
    assert {key: grade for key, grade in read.items() if grade != HumanGrade()} == whole.grades()


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("ana,p0,,,4,,,", "naturalness is '4', not 1, 2 or 3"),
        ("ana,p0,,,,maybe,,", "correct is 'maybe', not yes or no"),
        ("ana,x9,,,3,,,", "question 'x9' is not in the sample"),
        ("ana,a0,,A (2005),,,yes,", "question 'a0' has no reading 'A (2005)'"),
        (",p0,,,3,,,", "the rater has no name"),
    ],
)
def test_a_wrong_cell_is_named_with_its_line(whole, row, wrong):
    header = "rater,id,question,reading,naturalness,correct,helpful,why"
    with pytest.raises(InputError) as error:
        from_csv(f"{header}\nana,p1,,,3,yes,,\n{row}\n", whole, "g.csv")
    assert str(error.value).startswith(f"g.csv:3: {wrong}")


def test_a_csv_without_the_column_of_ids_is_refused(whole):
    with pytest.raises(InputError, match="there is no column 'id'"):
        from_csv("rater,naturalness\nana,3\n", whole, "g.csv")


def test_a_review_is_of_its_questions_and_its_sample_alone(tmp_path, questions, whole):
    other = load_questions(str(_written(tmp_path / "o.jsonl", ONE.format(7))))
    with pytest.raises(InputError, match="before it changed, or of other questions"):
        HumanReview(whole.path, other, None, 1)
    with pytest.raises(InputError, match="has a sample of 100"):
        HumanReview(whole.path, questions, 0.5, 1)
    with pytest.raises(InputError, match="is not a review"):
        HumanReview(_written(tmp_path / "text", "no database " * 99), questions, None, 1)


def _written(path, text):
    path.write_text(text)
    return path


def test_what_most_raters_call_wrong_is_left_out_of_a_new_set(whole, questions):
    three = '{"id": "t", "question": "Who?", "answers": {"X": ["a"], "Y": ["b"], "Z": ["c"]}}'
    whole.save("ana", "p0", HumanGrade(3, False, "wrong"))
    whole.save("ana", "p1", HumanGrade(3, False, "wrong"))
    whole.save("tom", "p1", HumanGrade(3, True))
    whole.save("ana", "a0", HumanGrade(3, True, "", {"A (1933)": False, "A (1976)": True}))
    kept, left_out = corrected(whole, questions)
    assert left_out == ["p0: Who wrote P0?", "a0: Who directed A0?"]
    assert len(kept) == 38
    assert kept[0].meta["parent"] == {"source": questions.source, "digest": questions.digest}
    set_of_three = load_questions(str(_written(whole.path.with_suffix(".jsonl"), three)))
    review = HumanReview(whole.path.with_suffix(".three"), set_of_three, 1, 1)
    review.save("ana", "t", HumanGrade(3, True, "", {"X": False, "Y": True, "Z": True}))
    kept, left_out = corrected(review, set_of_three)
    assert [branch.name for branch in kept[0].branches] == ["Y", "Z"]
    assert left_out == ["t: the reading X"]
