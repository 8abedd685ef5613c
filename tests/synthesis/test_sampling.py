"""Shapes of plans, and plans that are sampled on the facts."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.worlds.questions.ambiguity import Bearer, EntityNaming, Focuses, shared_names
from branchwise.worlds.questions.drafts import (
    Focus,
    Moves,
    NameQuota,
    PlanLimits,
    RejectedError,
    conditions,
)
from branchwise.worlds.questions.plans import Amount, Plan, Years, satisfying
from branchwise.worlds.questions.sampling import SET_OPERATIONS, TemplateDraw, templates
from branchwise.worlds.questions.sources import open_source
from support.synthesis.generated import SLICE

KONG = ("Q309048", "Q1142862", "Q160215")


@pytest.fixture(scope="module")
def films():
    names = SLICE / "names.jsonl"
    return open_source(str(SLICE / "films.nt"), schema=SLICE / "films.yaml", names=names)


@pytest.fixture(scope="module")
def moves(films):
    return Moves(films.facts.schema, films.domains["films"], (), lambda relation, inverse: True)


SHAPES = [*templates(ambiguous=False), *templates(ambiguous=True)]


def test_every_shape_comes_to_a_single_set():
    for template in SHAPES:
        depth = 0
        for letter in template.letters:
            depth += {"A": 1}.get(letter, -1 if letter in SET_OPERATIONS else 0)
            assert 1 <= depth <= 2
        assert depth == 1


def test_shapes_have_two_to_eight_steps_and_no_set_operation_twice():
    assert {len(template.letters) for template in SHAPES} == set(range(2, 9))
    assert len({t.letters for t in SHAPES}) == len(SHAPES) / 2
    for template in SHAPES:
        assert all(template.letters.count(letter) < 2 for letter in SET_OPERATIONS)


def test_parts_are_single_operations_and_second_sets():
    by_letters = {template.letters: template for template in SHAPES}
    assert list(by_letters["AJFAJFD"].parts()) == [("J", ""), ("F", ""), ("D", "AJF")]
    assert list(by_letters["AJAFDF"].parts()) == [("J", ""), ("D", "AF"), ("F", "")]
    assert list(by_letters["AAUAD"].parts()) == [("U", "A"), ("D", "A")]


@pytest.mark.slow
def test_shapes_that_were_accepted_come_less_often():
    choice = TemplateDraw(Random(1), ambiguous=False)
    often = next(template for template in SHAPES if template.letters == "AJ")
    before = Counter(choice.draw().letters for _ in range(4000))["AJ"]
    for _ in range(50):
        choice.accept(often)
    assert Counter(choice.draw().letters for _ in range(4000))["AJ"] < before / 3


def test_moves_fit_the_types_they_start_from(moves):
    onward = {(move.relation, move.inverse) for move in moves.onward(("film",))}
    assert ("directed_by", False) in onward
    assert ("cast", False) in onward
    assert ("cast", True) not in onward
    assert moves.filters_of(("film",)) == ["film_honour", "film_genre", "released", "runtime"]
    assert moves.filters_of(("film", "actor")) == []


def test_what_cannot_be_said_is_no_move(films):
    silent = Moves(
        films.facts.schema, films.domains["films"], (), lambda relation, inverse: not inverse
    )
    assert all(not move.inverse for move in silent.all)
    assert "film_honour" not in silent.filters


def test_types_go_together_under_a_common_parent_only(moves):
    assert moves.common(("actor",), ("director",)) == ("actor", "director")
    assert moves.common(("film",), ("film",)) == ("film",)
    assert moves.common(("film",), ("actor",)) == ()


@pytest.mark.slow
@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1900, 2020), min_size=2),
    st.integers(0, 99),
)
def test_bounds_of_years_divide_what_they_are_chosen_for(films_of, seed):
    schema_relation = _relation("released")
    values = {film: (f"{year}-01-02",) for film, year in films_of.items()}
    for condition in conditions(schema_relation, values, Random(seed)):
        assert isinstance(condition, Years)
        assert satisfying(condition, values) == {
            film
            for film, year in films_of.items()
            if (condition.first or 0) <= year <= (condition.last or 9999)
        }


@pytest.mark.slow
def test_bounds_of_numbers_are_round_and_divide():
    values = {f"Q{n}": (str(n),) for n in (12, 480, 1733, 2100, 40211)}
    for seed in range(30):
        for condition in conditions(_relation("runtime"), values, Random(seed)):
            assert isinstance(condition, Amount)
            bound = condition.least or condition.most
            assert 0 < len(satisfying(condition, values)) < 5
            assert len(str(int(bound)).rstrip("0")) <= 2


def test_one_value_for_all_makes_no_condition():
    assert (
        list(conditions(_relation("released"), {"Q1": ("1990",), "Q2": ("1990",)}, Random(1))) == []
    )


def _relation(name):
    from branchwise.kg.schema import load_domain

    return load_domain(SLICE / "films.yaml").relations[name]


def test_single_entities_are_called_by_a_name_of_their_own(films, moves):
    naming = EntityNaming(films.facts, films.names)
    focuses = Focuses(naming, PlanLimits(), NameQuota(films.facts, None), Random(3))
    for _ in range(200):
        try:
            focus = focuses.single(moves, 1)
        except RejectedError:
            continue
        assert not focus.ambiguous
        assert focus.name not in films.names
        assert focus.name == naming(focus.entities[0])


def directed(film):
    """Who directed it?"""
    step = {"op": "atomic", "relation": "directed_by", "entity": film}
    return Plan.from_json([step])


def test_a_name_is_used_up_for_all_its_bearers_however_they_are_called(films):
    quota = NameQuota(films.facts, 2)
    heat, first, second = "Q42198", *KONG[:2]
    award = {"kind": "holds", "value": "Q103916"}
    honoured = {"op": "filter", "relation": "person_honour", "of": 0, "condition": award}
    quota.take(Plan.from_json([*directed(first).to_json(), honoured]))
    assert not quota.is_full(second)
    quota.take(directed(second))
    assert all(map(quota.is_full, KONG))
    assert not quota.is_full(heat)
    assert not quota.is_full("Q103916")  # named once
    quota.take(Plan.from_json([*directed(heat).to_json(), honoured]))
    assert quota.is_full("Q103916")


def test_genres_are_no_names_and_a_small_set_has_no_quota(films):
    drama = "Q130232"
    genre = {"op": "filter", "relation": "film_genre", "of": 0}
    genre |= {"condition": {"kind": "holds", "value": drama}}
    plan = Plan.from_json([*directed(KONG[0]).to_json(), genre])
    quota, unlimited = NameQuota(films.facts, 1), NameQuota(films.facts, None)
    quota.take(plan)
    unlimited.take(plan)
    assert (quota.is_full(drama), quota.is_full(KONG[0])) == (False, True)
    assert not unlimited.is_full(KONG[0])


def test_a_name_that_is_used_up_begins_no_plan(films, moves):
    quota = NameQuota(films.facts, 1)
    focuses = Focuses(EntityNaming(films.facts, films.names), PlanLimits(), quota, Random(3))
    seen: list[Focus] = []
    reasons: set[str] = set()
    for _ in range(200):
        try:
            seen.append(focuses.shared(moves, 1))
        except RejectedError as reason:
            reasons.add(str(reason))
            continue
        plan = directed(seen[-1].entities[0])
        quota.take(plan)
        focuses.used(seen[-1], plan)
    assert reasons == {"no shared name fits", "every name had its turns"}
    assert len({focus.name for focus in seen}) == len(seen) > 1


def test_shared_labels_are_found_where_there_is_no_file_of_names(films):
    found = shared_names(films.facts)
    assert {bearer.id for bearer in found["King Kong"]} == set(KONG)
    assert len({bearer.title for bearer in found["King Kong"]}) == 3
    assert isinstance(found["King Kong"][0], Bearer)
    assert all(len(bearers) > 1 for bearers in found.values())
