"""Questions are made from a graph that is not a world: real films, under a schema of their own."""

import pytest

from branchwise.worlds.questions.plans import Plan
from branchwise.worlds.questions.wording.grammar import Grammar
from branchwise.worlds.questions.wording.writing import check
from support.synthesis.generated import SLICE, from_slice, slice_schema
from support.synthesis.plain_check import Checker, focus_of

COUNT = 20


@pytest.fixture(scope="module")
def questions() -> list[dict]:
    return from_slice(COUNT, 3)


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker.of_files(SLICE / "films.nt", [SLICE / "films.yaml"], SLICE / "names.jsonl")


@pytest.mark.slow
def test_real_films_give_as_many_questions_as_are_asked_for(questions):
    assert len(questions) == COUNT
    assert sum(question["ambiguous"] for question in questions) == 8
    assert len({question["question"] for question in questions}) == COUNT


def test_the_gold_of_real_films_is_right(questions, checker):
    assert [problem for question in questions for problem in checker.problems(question)] == []


def test_questions_name_real_things(questions, checker):
    for question in questions:
        name = checker.kg.labels[focus_of(question["plan"])["entity"]]
        assert name in question["question"]
        assert question["question"].endswith("?")
        assert "Q2" not in question["question"]


def test_the_grammar_keeps_to_the_plan_as_a_model_must(questions, checker):
    worder, labels = Grammar(slice_schema(), 3), checker.kg.labels
    titles = {b["id"]: b["title"] for bearers in checker.names.values() for b in bearers}
    asking = [q for q in questions if q["question"].startswith(("Which", "Who", "What"))]
    assert asking
    for question in asking:
        plan = Plan.from_json(question["plan"])
        focus = plan.steps[plan.focus].entity
        own = {focus: labels[focus]} if question["ambiguous"] else {}
        called = titles | own
        check(
            question["question"],
            plan,
            worder.steps(plan, lambda entity, called=called: called.get(entity, labels[entity])),
            [called.get(entity, labels[entity]) for entity in plan.entities()],
        )
