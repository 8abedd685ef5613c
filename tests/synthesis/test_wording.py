"""Questions from the grammar: how every shape reads, and what never happens."""

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.kg.schema import Domain, EntityType, Relation, Schema, merge
from branchwise.worlds.domains import world_schema
from branchwise.worlds.questions.drafts import RejectedError
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import (
    Amount,
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    Plan,
    PlanStep,
    Union,
    Years,
)
from branchwise.worlds.questions.wording.grammar import Grammar
from support.synthesis.random_plans import plans

NAMES = {
    "Q1": "Mara Voss", "Q2": "Jorge Falkfeld", "Q3": "Lindstrom Award", "Q4": "Redbrook Albion",
    "Q5": "Kilnlands Dynamo", "Q6": "Ellen Abadero", "Q7": "Farnora", "Q200092": "horror film",
    "Q188473": "action film", "Q201330": "goalkeeper", "Q131539": "children's literature",
    "Q33999": "actor", "Q639669": "musician", "Q8": "Glass Sail", "Q418": "telecommunications",
    "Q413": "physics",
}  # fmt: skip
VARIANTS = 100
BY_VOSS = Atomic(relation="directed_by", inverse=True, entity="Q1")
BY_FALKFELD = Atomic(relation="directed_by", inverse=True, entity="Q2")


@pytest.fixture(scope="module")
def schema() -> Schema:
    return world_schema()


@pytest.fixture
def said(schema: Schema) -> Callable[..., set[str]]:
    """All that a plan of these steps is said as."""

    def say(*steps: PlanStep) -> set[str]:
        worder = Grammar(schema, 1)
        plan = Plan(steps=steps)
        return {worder.question(plan, NAMES.__getitem__, v) for v in range(VARIANTS)}

    return say


BOTH_CLUBS = "played for both Redbrook Albion and Kilnlands Dynamo"
EXAMPLES: tuple[tuple[tuple[PlanStep, ...], tuple[str, ...]], ...] = (
    (
        (BY_VOSS, GroupBy(of=0, relation="cast", at_least=3)),
        (
            "Which actors appeared in at least three films directed by Mara Voss?",
            "Who appeared in three or more films directed by Mara Voss?",
        ),
    ),
    (
        (
            Atomic(relation="author", inverse=True, entity="Q6"),
            Filter(of=0, relation="novel_honour", condition=Holds(value="Q3")),
        ),
        ("Which novels by Ellen Abadero won the Lindstrom Award?",),
    ),
    (
        (
            BY_VOSS, Atomic(relation="film_honour", inverse=True, entity="Q3"),
            Difference(of=0, other=1),
        ),
        ("Which films directed by Mara Voss did not win the Lindstrom Award?",),
    ),
    (
        (BY_VOSS, Join(of=0, relation="written_by")),
        ("Who wrote scripts for films directed by Mara Voss?",),
    ),
    (
        (BY_VOSS, Join(of=0, relation="cast"), Join(of=1, relation="citizenship")),
        ("Citizens of which countries appeared in films directed by Mara Voss?",),
    ),
    (
        (BY_VOSS, Join(of=0, relation="cast"), GroupBy(of=1, relation="citizenship", at_least=3)),
        (
            "Which countries have three or more citizens "
            "who appeared in films directed by Mara Voss?",
        ),
    ),
    (
        (
            Atomic(relation="played_for", inverse=True, entity="Q4"),
            Atomic(relation="played_for", inverse=True, entity="Q5"),
            Intersection(of=0, other=1),
            Filter(of=2, relation="born", condition=Years(last=1979)),
        ),
        (
            f"Which footballers born before 1980 {BOTH_CLUBS}?",
            f"Who {BOTH_CLUBS} and was born before 1980?",
        ),
    ),
    (
        (
            BY_VOSS,
            BY_FALKFELD,
            Union(of=0, other=1),
            Filter(of=2, relation="film_genre", condition=Holds(value="Q200092")),
        ),
        ("Which horror films were directed by Mara Voss or Jorge Falkfeld?",),
    ),
    (
        (
            Atomic(relation="played_for", inverse=True, entity="Q4"),
            Filter(of=0, relation="position", condition=Holds(value="Q201330")),
        ),
        ("Which goalkeepers played for Redbrook Albion?",),
    ),
    (
        (BY_VOSS, Filter(of=0, relation="runtime", condition=Amount(most=120))),
        ("Which films no longer than 120 minutes did Mara Voss direct?",),
    ),
    (  # a person has one place of birth
        (
            Atomic(relation="birthplace", entity="Q6"),
            Join(of=0, relation="stadium_city", inverse=True),
        ),
        (
            "Which stadiums are in the birthplace of Ellen Abadero?",
            "Which stadiums are in Ellen Abadero's birthplace?",
        ),
    ),
    (
        (
            BY_VOSS,
            Join(of=0, relation="score_by"),
            Atomic(relation="produced_by", inverse=True, entity="Q2"),
            Join(of=2, relation="score_by"),
            Union(of=1, other=3),
        ),
        (
            "Who wrote the music for "
            "films that were either directed by Mara Voss or produced by Jorge Falkfeld?",
        ),
    ),
    ((Atomic(relation="members", entity="Q4"),), ("Which musicians played in Redbrook Albion?",)),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "questions"), EXAMPLES)
def test_a_plan_is_said_so(said, steps, questions):
    assert {*questions} <= said(*steps)


def test_two_descriptions_under_one_verb_are_refused(said: Callable[..., set[str]]) -> None:
    by_both = (BY_VOSS, Join(of=0, relation="cast"), BY_FALKFELD, Join(of=2, relation="cast"))
    with pytest.raises(RejectedError, match="same verb"):
        said(*by_both, Intersection(of=1, other=3))


LYRICISTS = Atomic(relation="lyrics_by", entity="Q8")
MUSICIANS = Filter(of=0, relation="occupation", condition=Holds(value="Q639669"))


@pytest.mark.slow
def test_an_occupation_that_must_be_stated_is_not_asked_for(said, schema):
    for steps in ((LYRICISTS, MUSICIANS), (LYRICISTS, MUSICIANS, Difference(of=0, other=1))):
        with pytest.raises(RejectedError, match="must be stated"):
            said(*steps)
    steps = Grammar(schema, 1).steps(Plan(steps=(LYRICISTS, MUSICIANS)), NAMES.__getitem__)
    assert steps[1] == "2. of 1, the people with the occupation musician"


IN_REDBROOK = Atomic(relation="company_home", inverse=True, entity="Q4")
EARLY = Filter(of=0, relation="company_founded", condition=Years(last=1949))


@pytest.mark.parametrize(
    "steps",
    [
        (IN_REDBROOK,),
        (IN_REDBROOK, EARLY),
        (Atomic(relation="owner", inverse=True, entity="Q5"),),
        (
            Atomic(relation="owner", inverse=True, entity="Q5"),
            IN_REDBROOK,
            Difference(of=0, other=1),
        ),
    ],
)
def test_companies_are_not_asked_for_where_others_fit(said, steps):
    with pytest.raises(RejectedError, match="covers other types"):
        said(*steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    [
        (Atomic(relation="founded_by", inverse=True, entity="Q1"), EARLY),
        (IN_REDBROOK, Filter(of=0, relation="industry", condition=Holds(value="Q418"))),
        (Atomic(relation="founded_by", entity="Q5"), Join(of=0, relation="owner")),
    ],
)
def test_companies_are_called_so_where_only_they_fit(said, steps):
    assert not any("(other than" in question for question in said(*steps))


def test_only_types_of_the_schema_are_set_apart() -> None:
    worder = Grammar(world_schema(["business", "movie"]), 1)
    steps = worder.steps(Plan(steps=(IN_REDBROOK,)), NAMES.__getitem__)
    assert steps == ["1. the companies (other than film studios) based in Redbrook Albion"]


def test_what_both_sides_share_is_said_once(said: Callable[..., set[str]]) -> None:
    questions = said(
        BY_VOSS,
        Filter(of=0, relation="film_genre", condition=Holds(value="Q188473")),
        Difference(of=0, other=1),
    )
    assert "Which films directed by Mara Voss are not action films?" in questions
    assert all(question.count("Mara Voss") == 1 for question in questions)


def test_years_go_with_the_verb_that_they_share(said: Callable[..., set[str]]) -> None:
    questions = said(
        Atomic(relation="founded_by", inverse=True, entity="Q1"),
        Filter(of=0, relation="company_founded", condition=Years(first=1950, last=1959)),
    )
    assert any("founded by Mara Voss between 1950 and 1959" in question for question in questions)


def test_a_word_of_the_noun_is_not_repeated_in_the_verb(said: Callable[..., set[str]]) -> None:
    questions = said(
        Atomic(relation="cast", inverse=True, entity="Q1"), Join(of=0, relation="directed_by")
    )
    assert not any("directors who directed" in question for question in questions)
    assert any(question.startswith("Who directed") for question in questions)


def test_an_alternative_of_two_clauses_is_refused(said: Callable[..., set[str]]) -> None:
    honoured = Filter(of=1, relation="film_honour", condition=Holds(value="Q3"))
    with pytest.raises(RejectedError, match="alternative of two clauses"):
        said(BY_VOSS, BY_FALKFELD, honoured, Union(of=0, other=2))


@pytest.mark.slow
def test_counts_nest(said: Callable[..., set[str]]) -> None:
    often = GroupBy(of=0, relation="cast", at_least=3)
    assert (
        "Which cities are the birthplaces of actors who appeared in at least three films "
        "directed by Mara Voss?"
    ) in said(BY_VOSS, often, Join(of=1, relation="birthplace"))


def test_an_exclusion_is_refused(said: Callable[..., set[str]]) -> None:
    long_ones = Filter(of=1, relation="runtime", condition=Amount(least=120))
    with pytest.raises(RejectedError, match="an exclusion"):
        said(BY_VOSS, BY_FALKFELD, long_ones, Difference(of=0, other=2))


def test_a_denial_inside_a_description_is_refused(said: Callable[..., set[str]]) -> None:
    honoured = Atomic(relation="film_honour", inverse=True, entity="Q3")
    denied = Difference(of=0, other=1)
    with pytest.raises(RejectedError, match="inside a description"):
        said(BY_VOSS, honoured, denied, Join(of=2, relation="cast"))


def test_unlike_alternatives_are_refused(said: Callable[..., set[str]]) -> None:
    honoured = Atomic(relation="film_honour", inverse=True, entity="Q3")
    with pytest.raises(RejectedError, match="unlike predicates"):
        said(BY_VOSS, honoured, Union(of=0, other=1))


def test_an_amount_before_an_adjective_takes_another_verb_or_none(said) -> None:
    questions = said(BY_VOSS, Filter(of=0, relation="runtime", condition=Amount(least=120)))
    assert questions == {"Which films directed by Mara Voss run for at least 120 minutes?"}
    tall = Filter(of=0, relation="height", condition=Amount(least=180))
    with pytest.raises(RejectedError, match="before an adjective"):
        said(Atomic(relation="played_for", inverse=True, entity="Q4"), tall)


@pytest.mark.slow
def test_places_are_asked_for_with_their_preposition(said: Callable[..., set[str]]) -> None:
    hometown = Atomic(relation="formed_in", entity="Q4")
    assert "In which country is the hometown of Redbrook Albion?" in said(
        hometown, Join(of=0, relation="city_country")
    )
    assert said(Atomic(relation="citizenship", entity="Q1")) == {
        "Of which country is Mara Voss a citizen?"
    }


def test_a_date_follows_its_verb(said: Callable[..., set[str]]) -> None:
    home = Atomic(relation="birthplace", entity="Q6")
    born = Join(of=0, relation="birthplace", inverse=True)
    questions = said(home, born, Filter(of=1, relation="born", condition=Years(first=1990)))
    assert any("born after 1989 in " in question for question in questions)
    assert not any(question.endswith("after 1989?") for question in questions)


LAUREATES = Atomic(relation="science_honour", inverse=True, entity="Q3")
LATE = Filter(of=0, relation="died", condition=Years(first=1950))
PHYSICISTS = Filter(of=1, relation="field", condition=Holds(value="Q413"))


@pytest.mark.slow
def test_the_pronoun_comes_again_where_two_nouns_could_be_meant(said) -> None:
    questions = said(LAUREATES, LATE, Join(of=1, relation="advisor", inverse=True))
    assert questions
    for question in questions:
        assert re.search(r"\bwho (won|died) .* and who (won|died) ", question), question


def test_three_conditions_on_a_noun_are_refused(said: Callable[..., set[str]]) -> None:
    with pytest.raises(RejectedError, match="three clauses"):
        said(LAUREATES, LATE, PHYSICISTS, Join(of=2, relation="advisor", inverse=True))


DEEP = (
    Atomic(relation="educated_at", inverse=True, entity="Q4"),
    Join(of=0, relation="directed_by", inverse=True),
    Join(of=1, relation="cast"),
)


@pytest.mark.slow
def test_what_nests_deep_is_one_sentence(said: Callable[..., set[str]]) -> None:
    assert (
        "Which actors appeared in films directed by people educated at Redbrook Albion?"
    ) in said(*DEEP)
    with pytest.raises(RejectedError, match="too deep"):
        said(*DEEP, Join(of=2, relation="birthplace"))


def test_steps_are_numbered_and_plain(schema: Schema) -> None:
    steps = (
        BY_VOSS,
        Filter(of=0, relation="released", condition=Years(first=1991)),
        GroupBy(of=1, relation="cast", at_least=3),
        Atomic(relation="citizenship", inverse=True, entity="Q7"),
        Difference(of=2, other=3),
    )
    assert Grammar(schema, 1).steps(Plan(steps=steps), NAMES.__getitem__) == [
        "1. the films directed by Mara Voss",
        "2. of 1, the films released after 1990",
        "3. the actors who appeared in at least three of 2",
        "4. the citizens of Farnora",
        "5. what is in 3 but not in 4",
    ]


def test_words_of_an_item_replace_its_label(said: Callable[..., set[str]]) -> None:
    questions = said(
        Atomic(relation="author", inverse=True, entity="Q6"),
        Filter(of=0, relation="novel_genre", condition=Holds(value="Q131539")),
    )
    assert all("children's novels" in question for question in questions)


def test_the_same_seed_gives_the_same_words(schema: Schema) -> None:
    plan = Plan(steps=(BY_VOSS, Join(of=0, relation="cast")))
    once, again, other = (
        [Grammar(schema, seed).question(plan, NAMES.__getitem__, v) for v in range(10)]
        for seed in (1, 1, 2)
    )
    assert once == again
    assert once != other
    assert len(set(once)) >= 4


def test_every_relation_of_a_world_can_be_said(schema: Schema) -> None:
    worder = Grammar(schema, 1)
    for name in schema.relations:
        if name != "instance_of":
            assert worder.sayable(name, True) == (name != "capital"), name  # said as a role alone
            assert worder.sayable(name, False), name
    assert not worder.sayable("instance_of")


def test_a_relation_without_words_is_refused() -> None:
    film = EntityType(noun="film", plural="films", **{"class": "Q1"})
    sequel = Relation(property="P1", label="sequel", subject="film", object="film")
    bare = merge({"d": Domain(types={"film": film}, relations={"sequel": sequel})})
    worder = Grammar(bare, 1)
    assert not worder.sayable("sequel", True)
    plan = Plan(steps=(Atomic(relation="sequel", entity="Q1"),))
    with pytest.raises(InputError, match="'sequel' cannot be said"):
        worder.question(plan, NAMES.__getitem__)


SLIPS = re.compile(
    r"\b(that|who|and|or|the|at|of|in|by|not|but) \1\b|  | [,.?]|\{|\[|\bthat who\b|\bwho that\b"
    r"|\ba [aeio]|\bone (that|who) are\b"
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), variant=st.integers(0, 20))
def test_no_plan_reads_with_a_slip(data: st.DataObject, variant: int, facts: KgFacts) -> None:
    plan = data.draw(plans(facts))
    worder = Grammar(facts.schema, 3)
    for step in plan.steps:
        if isinstance(step, Atomic | Join | GroupBy):
            assume(step.inverse or facts.schema.relations[step.relation].object)
        if relation := getattr(step, "relation", ""):
            assume(worder.sayable(relation, getattr(step, "inverse", True)))
    names = {entity: f"Name{n}" for n, entity in enumerate(dict.fromkeys(plan.entities()))}
    assert len(worder.steps(plan, names.__getitem__)) == len(plan.steps)
    try:
        text = worder.question(plan, names.__getitem__, variant)
    except RejectedError:
        return
    assert text[-1] == "?"
    assert text[0].isupper()
    assert not SLIPS.search(text), text
