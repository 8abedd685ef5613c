"""The sets of the benchmarks' forms: small, whole, and what their page says."""

from pathlib import Path

import pytest

from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.loaders import load_questions

BENCHMARKS = Path(__file__).parents[2] / "examples" / "benchmarks"


@pytest.mark.slow
def test_the_mdcr_set_is_small_and_has_every_kind_of_question():
    file = BENCHMARKS / "mdcr.json"
    assert file.stat().st_size < 300_000
    loaded = load_questions(f"mdcr:{file}")
    read = [ConditionsQuestion.of(question) for question in loaded.questions]
    assert len(read) == 180
    assert len({question.scenario for question in read}) == 60
    assert {len(question.problem.documents) for question in read} == {2, 3, 4, 5}
    assert {question.domain for question in read} == {"scholarships", "internships"}
    assert {question.relations_decide for question in read} == {True, False}
    short = {(question.problem.kind, question.gold.short) for question in read}
    assert {("q1", "yes"), ("q2", "yes"), ("q2", "no"), ("q3", 1), ("q3", 2)} <= short
    assert all(question.meta["generated"] is True for question in loaded.questions)
