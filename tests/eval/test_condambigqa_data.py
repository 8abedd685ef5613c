"""The task on the published development file: found through BRANCHWISE_DATA, else skipped."""

from pathlib import Path

import pytest

from branchwise.agents.prediction import Prediction
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.tasks import get_task


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
