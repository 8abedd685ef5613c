"""What a good question keeps to."""

import pytest

from branchwise.worlds.questions.drafts import PlanLimits, RejectedError
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import Plan, PlanExecution
from branchwise.worlds.questions.rules import (
    check_answers,
    check_effect,
    check_form,
    check_silent,
    check_unsaid,
)
from support.synthesis.generated import SLICE, slice_schema

FILMS = ("Q42198", "Q309048")
OTHER_HEATS = ["Q2100000027", "Q2100000031"]


def films_by(entity, relation="directed_by"):
    return {"op": "atomic", "relation": relation, "inverse": True, "entity": entity}


def cast(of, op="join", **more):
    return {"op": op, "relation": "cast", "of": of, **more}


def after(year, of, relation="released"):
    condition = {"kind": "years", "first": year}
    return {"op": "filter", "relation": relation, "condition": condition, "of": of}


def won(award, of):
    condition = {"kind": "holds", "value": award}
    return {"op": "filter", "relation": "won", "condition": condition, "of": of}


def both(op, of, other):
    return {"op": op, "of": of, "other": other}


def plan(*steps):
    return Plan.from_json(list(steps))


def run(*sets):
    return PlanExecution(tuple(frozenset(s.split()) for s in sets))


class Cast:
    """Facts: who acts in which film."""

    def __init__(self, **films):
        self._films = {film: tuple(actors.split()) for film, actors in films.items()}

    def related(self, relation, inverse, members):
        return {m: self._films[m] for m in members if m in self._films}


NOBODY = Cast()


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([films_by("Q1")], "fewer than two steps"),
        ([films_by("Q1"), {"op": "join", "relation": "directed_by", "of": 0}], "straight back"),
        (
            [films_by("Q1"), after(1990, 0), cast(1, "join", relation="directed_by")],
            "straight back",
        ),
        (
            [films_by("Q1"), cast(0, "group_by", relation="directed_by", at_least=2)],
            "straight back",
        ),
        (
            [
                films_by("Q1"),
                films_by("Q2", "cast"),
                both("intersection", 0, 1),
                cast(2, relation="directed_by"),
            ],
            "straight back",
        ),
        ([films_by("Q1"), after(1990, 0), after(1995, 1)], "filtered twice by one relation"),
        (
            [films_by("Q1", "won"), films_by("Q2"), both("union", 0, 1), won("Q1", 2)],
            "one thing twice",
        ),
        (
            [
                films_by("Q1"),
                films_by("Q2"),
                both("union", 0, 1),
                films_by("Q3"),
                both("union", 2, 3),
            ],
            "a set operation comes twice",
        ),
    ],
)
def test_a_plan_without_sense_is_rejected(steps, reason):
    with pytest.raises(RejectedError, match=reason):
        check_form(plan(*steps))


@pytest.mark.parametrize(
    "steps",
    [
        [films_by("Q1"), cast(0)],
        [films_by("Q1"), after(1990, 0), after(1950, 1, "studio_founded")],
        # Back, but from other films than it came to.
        [films_by("Q1"), films_by("Q2"), both("union", 0, 1), cast(2, relation="directed_by")],
        [films_by("Q1"), films_by("Q2", "cast"), both("difference", 0, 1)],
    ],
)
def test_a_plan_with_sense_passes(steps):
    check_form(plan(*steps))


@pytest.mark.parametrize(
    ("step", "sets", "reason"),
    [
        (after(1990, 0), ("a b", "a b"), "filter changes nothing"),
        (None, ("a b", "a b c", "a b"), "intersection changes nothing"),
        (None, ("a b", "b", "b"), "intersection changes nothing"),
    ],
)
def test_a_step_that_changes_nothing_is_rejected(step, sets, reason):
    steps = [films_by("Q1"), step or films_by("Q2")]
    if step is None:
        steps.append(both("intersection", 0, 1))
    with pytest.raises(RejectedError, match=reason):
        check_effect(plan(*steps), [run(*sets)], NOBODY)


def test_taking_away_or_adding_nothing_is_rejected():
    taken = plan(films_by("Q1"), films_by("Q2"), both("difference", 0, 1))
    with pytest.raises(RejectedError, match="difference changes nothing"):
        check_effect(taken, [run("a b", "c", "a b")], NOBODY)
    added = plan(films_by("Q1"), films_by("Q2"), both("union", 0, 1))
    with pytest.raises(RejectedError, match="union changes nothing"):
        check_effect(added, [run("a b", "b", "a b")], NOBODY)
    check_effect(added, [run("a b", "b c", "a b c")], NOBODY)


def test_a_count_that_all_reach_is_rejected():
    counted = plan(films_by("Q1"), cast(0, "group_by", at_least=2))
    facts = Cast(f="ann bob", g="ann bob")
    with pytest.raises(RejectedError, match="group_by changes nothing"):
        check_effect(counted, [run("f g", "ann bob")], facts)
    check_effect(counted, [run("f g", "ann")], Cast(f="ann bob", g="ann"))


def test_half_of_the_readings_must_be_changed():
    filtered = plan(films_by("Q1"), after(1990, 0))
    changed, same = run("a b", "a"), run("c", "c")
    check_effect(filtered, [changed, same], NOBODY)
    with pytest.raises(RejectedError, match="filter changes nothing"):
        check_effect(filtered, [changed, same, same], NOBODY)


def test_a_walk_back_to_where_it_began_is_rejected():
    capital = {"op": "atomic", "relation": "capital", "entity": "Q1"}
    back = plan(capital, {"op": "join", "relation": "city_country", "of": 0})
    with pytest.raises(RejectedError, match="leads back"):
        check_effect(back, [run("Q5", "Q1")], NOBODY)
    check_effect(back, [run("Q5", "Q2")], NOBODY)


@pytest.mark.parametrize(
    ("answers", "ambiguous", "reason"),
    [
        ([], False, "no answers"),
        (["a b"], True, "one reading"),
        (["a b", "b a"], True, "readings have the same answers"),
        (["a b", "a b", "a b", "c"], True, "readings have the same answers"),
        (["a b c d e"], False, "too many answers"),
        (["a b c", "a d"], True, "too many answers"),
    ],
)
def test_answers_that_make_no_question(answers, ambiguous, reason):
    with pytest.raises(RejectedError, match=reason):
        check_answers(
            [frozenset(a.split()) for a in answers], PlanLimits(answers=4), ambiguous=ambiguous
        )


def test_a_bearer_of_which_the_relation_says_nothing_has_no_answers():
    """Who scored Heat or King Kong (1933 film)? No composer is known of two films called Heat."""
    facts = KgFacts.load(SLICE / "films.nt", slice_schema())
    of_heat, of_kong = ({"op": "atomic", "relation": "score_by", "entity": e} for e in FILMS)
    either = plan(of_heat | {"focus": True}, of_kong, both("union", 0, 1))
    with pytest.raises(RejectedError, match="a reading without facts of its own"):
        check_silent(either, OTHER_HEATS, ("film",), facts)
    check_silent(either, OTHER_HEATS, ("actor",), facts)
    check_silent(either, [], ("film",), facts)
    check_silent(plan(of_heat), OTHER_HEATS, ("film",), facts)


def test_who_is_of_the_same_class_may_be_meant(little_facts):
    """Which films did 122 direct, or feature 121? An actor of that name directed nothing."""
    either = plan(films_by("Q111") | {"focus": True}, films_by("Q121", "cast"), both("union", 0, 1))
    with pytest.raises(RejectedError, match="a reading without facts of its own"):
        check_silent(either, ["Q122"], ("director",), little_facts)
    check_silent(either, ["Q104"], ("director",), little_facts)  # a song is none


def test_different_readings_may_share_answers():
    check_answers([frozenset("ab"), frozenset("bc")], PlanLimits(), ambiguous=True)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("Who wrote Reef?", True),
        ("Who wrote The Coral Reef, and when?", True),
        ("Who wrote Reefs?", False),
        ("Who wrote a reef?", False),
        ("Who wrote Atoll?", True),  # an alias
    ],
)
def test_an_answer_in_the_question(text, stands):
    names = {"Q1": ("Reef", "Atoll")}
    if stands:
        with pytest.raises(RejectedError, match="an answer stands in the question"):
            check_unsaid(text, names)
    else:
        check_unsaid(text, names)
