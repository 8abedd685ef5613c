"""Free-text answers: alignment of properties and the task's metrics, by hand."""

from pathlib import Path

import pytest
from hypothesis import strategies as st

from branchwise.agents.prediction import Prediction
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.passages import make_passage
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.items import AnsweredItem, Evidence, Graded
from branchwise.eval.properties import (
    ConditionalAnswer,
    PropertyGrade,
    PropertyPair,
    align_properties,
    gold_properties,
)
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.tasks import get_task
from branchwise.graphs.flows import Brief

PASSAGES = tuple(make_passage(f"T{k}", f"text {k}") for k in range(1, 5))
P1, P2, P3, P4 = (passage.id for passage in PASSAGES)
QUESTION = Question(
    id="q",
    question="When did\nSpain win?",
    ambiguous=True,
    branches=(
        Branch(name="men's team", answers=(Answer(text="in July 2010"),), citations=(P1,)),
        Branch(name="women's team", answers=(Answer(text="in August 2023"),), citations=(P2, P3)),
    ),
    passages=PASSAGES,
)
TASK = get_task("condambigqa")


def metrics(
    answers: dict[str, tuple[str, ...]], citations: dict[str, tuple[str, ...]] | None = None
) -> dict[str, float | None]:
    prediction = Prediction(answers=answers, citations=citations or {})
    shown = Evidence(tuple(passage.id for passage in PASSAGES))
    return dict(TASK.score(AnsweredItem(QUESTION, prediction, evidence=shown)))


def test_a_perfect_answer() -> None:
    found = metrics(
        {"women's team": ("in August 2023",), "men's team": ("in July 2010",)},
        {"women's team": (P3, P2), "men's team": (P1,)},
    )
    assert found == {
        "answer_f1": 1.0,
        "condition_f1": 1.0,
        "count_difference": 0.0,
        "count_error": 0.0,
        "citation_precision": 1.0,
        "cite_all_precision": pytest.approx((1 / 4 + 2 / 4) / 2),
        "citation_recall": 1.0,
        "cite_all_recall": 1.0,
        "citation_f1": 1.0,
        "citation_recall_question": 1.0,
    }


def test_the_questions_citations_count_whichever_property_has_them() -> None:
    # Gold cites P2 and P3, and P1. The men's answer cites what the women's should: P3.
    found = metrics(
        {"women's team": ("in August 2023",), "men's team": ("in July 2010",)},
        {"women's team": (P1,), "men's team": (P3, P4)},
    )
    assert (found["citation_precision"], found["citation_recall"]) == (0.0, 0.0)
    assert found["citation_f1"] == 0.0
    assert found["citation_recall_question"] == pytest.approx(2 / 3)


def test_a_missed_property_counts_zero() -> None:
    found = metrics({"men": ("July 2010",)}, {"men": (P1, P4)})
    # Answer F1 of (july 2010) and (in july 2010) is 4/5; "men" and "mens" share nothing.
    assert found["answer_f1"] == pytest.approx(0.8 / 2)
    assert found["condition_f1"] == 0
    assert (found["count_difference"], found["count_error"]) == (-1, 1)
    assert found["citation_precision"] == 0.5
    assert found["cite_all_precision"] == 0.25
    assert found["citation_recall"] == 0.5
    assert found["cite_all_recall"] == 0.5


def test_an_empty_prediction_scores_zero_and_misses_every_answer() -> None:
    found = metrics({"men's team": ("  ",)})
    assert (found["answer_f1"], found["condition_f1"]) == (0, 0)
    assert (found["citation_precision"], found["citation_recall"]) == (0, 0)
    assert (found["count_difference"], found["count_error"]) == (-2, 2)


def test_answers_under_default_are_answers_of_their_own() -> None:
    found = metrics({"default": ("in July 2010", "in August 2023")})
    assert found["answer_f1"] == 1.0
    assert found["condition_f1"] == 0.0
    assert found["count_difference"] == 0


def test_gold_texts_of_one_branch_are_parts_of_one_answer_and_aliases_other_wordings() -> None:
    parts = Branch(name="c", answers=(Answer(text="one"), Answer(text="two")))
    alias = Branch(name="default", answers=(Answer(text="one", aliases=("uno",)),))
    gold = gold_properties(Question(id="q", question="?", branches=(parts, alias)))
    assert [(p.condition, p.answers) for p in gold] == [("", ("one", "uno")), ("c", ("one two",))]
    [pair] = align_properties([ConditionalAnswer("", ("uno",), frozenset())], gold)
    assert (pair.gold, pair.answer_f1) == (0, 1.0)


def test_the_alignment_is_the_optimum_not_the_greedy_one() -> None:
    gold = [ConditionalAnswer("", (text,), frozenset()) for text in ("a1 b1 c1", "a1 b1")]
    predicted = [ConditionalAnswer("", (text,), frozenset()) for text in ("a1 b1 c1 d1", "c1")]
    # Greedy and optimum: 6/7 + 0; crossed: 4/6 + 2/4 is more.
    pairs = {(p.predicted, p.gold) for p in align_properties(predicted, gold)}
    assert pairs == {(0, 1), (1, 0)}


def test_the_condition_decides_between_equal_answers() -> None:
    gold = [ConditionalAnswer(c, ("2010",), frozenset()) for c in ("men", "women")]
    predicted = [ConditionalAnswer(c, ("2010",), frozenset()) for c in ("women", "men")]
    pairs = {(p.predicted, p.gold) for p in align_properties(predicted, gold)}
    assert pairs == {(0, 1), (1, 0)}


@pytest.mark.parametrize("variant", ["", "one-to-one"])
def test_where_conditions_are_given_an_answer_under_another_one_is_wrong(variant: str) -> None:
    swapped = Prediction(
        answers={"men's team": ("in August 2023",), "women's team": ("in July 2010",)}
    )
    # Gold in order of condition: men, women; so are the predicted ones.
    alike, unlike = PropertyGrade(1.0, 0.1), PropertyGrade(0.1, 1.0)
    pairs = [PropertyPair(p, g) for p in (0, 1) for g in (0, 1)]
    graded = Graded({pair: alike if pair.predicted == pair.gold else unlike for pair in pairs})
    task = get_task("condambigqa", variant)
    by = {
        protocol: task.score(AnsweredItem(QUESTION, swapped, graded=graded, protocol=protocol))
        for protocol in ("default", "guided")
    }
    assert (by["default"]["answer_f1"], by["default"]["condition_f1"]) == (1.0, 0.5)
    # Of three tokens one is shared: "in".
    assert by["guided"]["answer_f1"] == pytest.approx(1 / 3)
    if variant:
        assert (by["default"]["answer_score"], by["guided"]["answer_score"]) == (1.0, 0.1)
    beside = task.beside(QUESTION, swapped, "guided")
    assert beside is not None
    assert [one.gold and one.predicted and one.gold[0] == one.predicted[0] for one in beside] == [
        True,
        True,
    ]


def test_between_equal_alignments_the_order_of_gold_decides_nothing() -> None:
    men, women = (
        Branch(name=name, answers=(Answer(text="2010"),), citations=(cited,))
        for name, cited in (("men", "p1"), ("women", "p2"))
    )
    prediction = Prediction(answers={"x": ("2010",)}, citations={"x": ("p1",)})
    one, other = (
        TASK.score(AnsweredItem(Question(id="q", question="?", branches=branches), prediction))
        for branches in ((men, women), (women, men))
    )
    assert one == other


def test_questions_without_gold_are_unscored() -> None:
    bare = Question(id="q", question="?")
    found = TASK.score(AnsweredItem(bare, Prediction(answers={"default": ("x",)})))
    assert set(found) == {column.key for column in TASK.columns}
    assert set(found.values()) == {None}


def test_without_tools_the_questions_own_passages_are_given_by_number() -> None:
    brief = TASK.brief(QUESTION, has_tools=False)
    assert brief.prompt == "conditions_given"
    assert [passage.id for passage in brief.passages] == [P1, P2, P3, P4]
    blocks = brief.message.split("\n\n")
    assert blocks[0] == "When did Spain win?"
    assert blocks[1] == "Fragment 1: T1\ntext 1"
    assert blocks[4] == "Fragment 4: T4\ntext 4"


def test_with_tools_the_agent_searches_and_nothing_is_given() -> None:
    line = "When did Spain win?"
    assert TASK.brief(QUESTION, has_tools=True) == Brief("conditions_with_tools", line, line)


TEXTS = st.lists(st.sampled_from(["spain", "won", "2010", "2023", "july"]), min_size=1).map(
    " ".join
)


@pytest.fixture(scope="module")
def questions(condambigqa_dir: Path) -> tuple[Question, ...]:
    return load_questions(f"condambigqa:{condambigqa_dir / 'dev.json'}").questions


def scored(questions: tuple[Question, ...], predictions: list[Prediction]) -> Scores:
    items = [
        AnsweredItem(
            question, prediction, evidence=Evidence(tuple(p.id for p in question.passages))
        )
        for question, prediction in zip(questions, predictions, strict=True)
    ]
    return score_items(get_task("condambigqa"), items)


@pytest.mark.slow
def test_gold_answers_itself_exactly(questions: tuple[Question, ...]) -> None:
    own = [
        Prediction(
            answers={b.name: tuple(a.text for a in b.answers) for b in q.branches},
            citations={b.name: b.citations for b in q.branches},
        )
        for q in questions
    ]
    found = scored(questions, own).aggregates["all"]
    perfect = ("answer_f1", "condition_f1", "citation_precision", "citation_recall")
    assert all(found[metric].mean == pytest.approx(1) for metric in perfect)
    assert found["count_error"].mean == 0
    assert found["answer_f1"].n == 102
    # Every gold citation is among the 20 passages; few of the 20 are cited.
    assert found["cite_all_recall"].mean == pytest.approx(1)
    assert found["cite_all_precision"].mean < 0.2
