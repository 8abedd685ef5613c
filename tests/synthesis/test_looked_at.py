"""How many entities a question has looked at, counted by hand."""

import pytest

from branchwise.base.errors import InputError
from branchwise.worlds.questions.ambiguity import read_names
from branchwise.worlds.questions.drafts import PlanLimits
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.generate import generate
from branchwise.worlds.questions.plans import Plan, PlanExecution
from branchwise.worlds.questions.sources import Settings
from support.synthesis.generated import SLICE, slice_schema


def members(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAN = Plan.from_json(
    [
        {"op": "atomic", "relation": "city_country", "entity": "Q1", "focus": True},
        {"of": 0, "op": "join", "relation": "birthplace", "inverse": True},
        {"of": 1, "op": "group_by", "relation": "studied_at", "at_least": 2},
        {"op": "atomic", "relation": "university_city", "inverse": True, "entity": "Q2"},
        {"of": 2, "other": 3, "op": "intersection"},
    ]
)


def test_what_is_led_on_from_or_counted_in_is_looked_at_and_of_two_sets_the_smaller() -> None:
    sets = ("c", "p1 p2 p3 p4", "u1 u2 u3", "u1 u9", "u1")
    execution = PlanExecution(tuple(map(members, sets)))
    # One country is no work; the four people are counted in; of the universities the two.
    assert execution.looked_at(PLAN) == members("p1 p2 p3 p4 u1 u9")


def test_of_a_difference_the_first_set_is_looked_at_and_of_a_union_none() -> None:
    steps = [
        {"op": "atomic", "relation": "directed", "entity": "Q1", "focus": True},
        {"op": "atomic", "relation": "directed", "entity": "Q2"},
        {"of": 0, "other": 1, "op": "union"},
        {"op": "atomic", "relation": "directed", "entity": "Q3"},
        {"of": 2, "other": 3, "op": "difference"},
    ]
    sets = ("a b", "c d", "a b c d", "d e f", "a b c")
    execution = PlanExecution(tuple(map(members, sets)))
    assert execution.looked_at(Plan.from_json(steps)) == members("a b c d")


def test_only_questions_with_enough_to_look_at_are_made() -> None:
    schema = slice_schema()
    facts, names = KgFacts.load(SLICE / "films.nt", schema), read_names(SLICE / "names.jsonl")
    domains = {"films": tuple(schema.relations)}
    settings = Settings(6, 0.0, domains, limits=PlanLimits(looked_at=6), patience=400)
    made = generate(facts, names, settings)
    assert made
    assert all(question.meta["looked_at"] >= 6 for question in made)


def test_more_than_the_graph_has_is_refused() -> None:
    facts = KgFacts.load(SLICE / "films.nt", slice_schema())
    settings = Settings(6, 0.0, {"films": ("cast",)}, limits=PlanLimits(looked_at=5_000))
    with pytest.raises(InputError, match=r"the graph has only [\d,]+ entities, not 5,000"):
        next(generate(facts, {}, settings))
