"""Gold is right: an independent check of generated questions, and a check of the check."""

import copy
import os
from pathlib import Path

import pytest

from branchwise.kg.dials import Dials
from support.synthesis import plain_check
from support.synthesis.former_kg import triples
from support.synthesis.generated import DECLARED, SLICE, from_world
from support.synthesis.plain_check import Checker, is_former
from support.synthesis.plain_plans import STEPS, evaluate

pytestmark = pytest.mark.slow

ENTITIES = int(os.environ.get("BRANCHWISE_TEST_ENTITIES", "5000"))  # the size: 20000
COUNT = int(os.environ.get("BRANCHWISE_TEST_QUESTIONS", "300"))
KONG = ("Q309048", "Q1142862", "Q160215")


@pytest.fixture(scope="module")
def films() -> Checker:
    return Checker.of_files(SLICE / "films.nt", [SLICE / "films.yaml"], SLICE / "names.jsonl")


def question(plan, branches, text="Which films?", ambiguous=False):
    plan[0]["focus"] = True
    gold = [
        {
            "name": name,
            "qid": qid,
            "answers": [{"text": t, "qid": q, "support": s} for t, q, s in answers],
        }
        for name, qid, answers in branches
    ]
    return {"id": "q", "question": text, "ambiguous": ambiguous, "plan": plan, "branches": gold}


def kong():
    """Who directed King Kong? Three films, and two directors of the first."""
    return question(
        [{"op": "atomic", "relation": "directed_by", "entity": KONG[2]}],
        [
            ("King Kong (1933 film)", KONG[0], [
                ("Merian C. Cooper", "Q2100000001", []),
                ("Ernest B. Schoedsack", "Q2100000002", []),
            ]),
            ("King Kong (1976 film)", KONG[1], [("John Guillermin", "Q2100000009", [])]),
            ("King Kong (2005 film)", KONG[2], [("Peter Jackson", "Q4465", [])]),
        ],
        "Who directed King Kong?",
        ambiguous=True,
    ) | {"meta": {"entities": 4}}  # fmt: skip


def answers_of(films, *plan):
    """The labels that a plan about films comes to."""
    last = evaluate(list(plan), films.kg, films.schema)[-1]
    return sorted(films.kg.labels[member] for member in last)


def by(relation, entity, inverse=True):
    return {"op": "atomic", "relation": relation, "inverse": inverse, "entity": entity}


PACINO, DE_NIRO, SCORSESE = "Q41163", "Q36949", "Q41148"


def test_the_check_shares_no_code_with_what_it_checks():
    files = sorted(Path(plain_check.__file__).parent.glob("plain_*.py"))
    assert len(files) == 4
    for file in files:
        assert "branchwise" not in file.read_text(encoding="utf-8"), file


def test_who_acted_with_both_is_the_intersection(films):
    both = {"op": "intersection", "of": 0, "other": 1}
    found = answers_of(films, by("cast", PACINO), by("cast", DE_NIRO), both)
    assert found == ["Heat", "The Godfather Part II", "The Irishman"]


def test_films_of_one_without_another_are_the_difference(films):
    plan = (
        by("directed_by", SCORSESE),
        by("cast", DE_NIRO),
        {"op": "difference", "of": 0, "other": 1},
    )
    assert answers_of(films, *plan) == ["The Departed"]


def test_either_director_is_the_union(films):
    both = {"op": "union", "of": 0, "other": 1}
    found = answers_of(films, by("directed_by", "Q4465"), by("directed_by", "Q7374"), both)
    assert found == ["King Kong", "Psycho", "The Lord of the Rings: The Fellowship of the Ring"]


def test_films_are_filtered_by_year_number_and_genre(films):
    nineties = {"kind": "years", "first": 1990, "last": 1995}
    cases = {
        "released": (nineties, ["Cape Fear", "Casino", "Goodfellas"]),
        "runtime": ({"kind": "amount", "most": 128}, ["Cape Fear", "Taxi Driver"]),
        "film_genre": ({"kind": "holds", "value": "Q2484376"}, ["Cape Fear", "The Departed"]),
    }  # fmt: skip
    for relation, (condition, expected) in cases.items():
        step = {"op": "filter", "relation": relation, "of": 0, "condition": condition}
        assert answers_of(films, by("directed_by", SCORSESE), step) == expected


def test_counting_takes_those_with_enough(films):
    often = {"op": "group_by", "relation": "cast", "of": 0, "at_least": 3}
    assert answers_of(films, by("directed_by", SCORSESE), often) == ["Joe Pesci", "Robert De Niro"]


def test_a_join_goes_through_each_member(films):
    scores = {"op": "join", "relation": "score_by", "of": 0}
    found = answers_of(films, by("directed_by", SCORSESE), scores)
    assert found == ["Bernard Herrmann", "Elmer Bernstein", "Howard Shore"]


def test_a_relation_holds_between_its_types_only(films):
    prize = "Q103916"  # for acting, but none of its winners is a film
    assert answers_of(films, by("film_honour", prize)) == []
    assert "Al Pacino" in answers_of(films, by("person_honour", prize))


def test_right_gold_has_no_problem(films):
    assert list(films.problems(kong())) == []


def drop_a_branch(gold):
    del gold["branches"][0]


def drop_an_answer(gold):
    del gold["branches"][0]["answers"][0]


def add_an_answer(gold):
    gold["branches"][1]["answers"].append({"text": "Peter Jackson", "qid": "Q4465"})


def swap_titles(gold):
    first, second = gold["branches"][:2]
    first["name"], second["name"] = second["name"], first["name"]


def misname_an_answer(gold):
    gold["branches"][2]["answers"][0]["text"] = "P. Jackson"


def say_it_is_clear(gold):
    gold["ambiguous"] = False


def miscount_entities(gold):
    gold["meta"]["entities"] = 5  # two directors of 1933, one each of 1976 and 2005


@pytest.mark.parametrize(
    "spoil",
    [
        *(drop_a_branch, drop_an_answer, add_an_answer, swap_titles),
        *(misname_an_answer, say_it_is_clear, miscount_entities),
    ],
)
def test_wrong_gold_is_found(films, spoil):
    gold = copy.deepcopy(kong())
    spoil(gold)
    assert list(films.problems(gold))


def test_a_reading_that_only_the_other_half_of_a_union_answers_is_missed(films):
    plan = [by("score_by", film, inverse=False) for film in ("Q42198", KONG[0])]
    plan.append({"op": "union", "of": 0, "other": 1})
    held = evaluate(plan, films.kg, films.schema)[-1]
    answers = [(films.kg.labels[one], one, []) for one in held]
    gold = question(plan, [("Heat (1995 film)", "Q42198", answers)], "Who scored Heat or it?", True)
    (problem,) = [one for one in films.problems(gold) if "branches" in one]
    assert "Q2100000027" in problem


def test_a_namesake_of_the_same_class_that_only_the_other_half_answers_is_missed(films):
    """As if De Niro, who directed none of these films, were called Martin Scorsese, too."""
    bearers = [{"id": id, "title": id} for id in (SCORSESE, DE_NIRO, "Q42198")]
    checker = Checker(films.kg, films.schema, {"Martin Scorsese": bearers})
    both = {"op": "union", "of": 0, "other": 1}
    plan = [by("directed_by", SCORSESE), by("cast", PACINO), both]
    (problem,) = [one for one in checker.problems(question(plan, [])) if "same class" in one]
    assert DE_NIRO in problem


def test_a_title_in_the_question_makes_it_clear(films):
    gold = kong() | {
        "question": "Who directed King Kong (2005 film)?",
        "ambiguous": False,
        "meta": {},
    }
    gold["branches"] = [gold["branches"][2] | {"name": "default", "qid": None}]
    assert list(films.problems(gold)) == []


def test_support_must_be_there_to_the_point_and_complete(films):
    told = {"p1": {("Q160215", "P57", "Q4465")}, "p2": {("Q160215", "P161", "Q132616")}}
    checker = Checker(films.kg, films.schema, {}, told)
    plan = [by("directed_by", "Q160215", inverse=False)]

    def problems(*support):
        gold = question(plan, [("default", None, [("Peter Jackson", "Q4465", support)])])
        return list(checker.problems(gold))

    assert problems("p1") == []
    assert "untold" in problems()[0]
    assert "tells nothing" in problems("p1", "p2")[0]
    assert "no passage" in problems("p1", "p3")[0]


def test_what_was_so_before_is_what_has_ended_and_is_not_so_now(tmp_path):
    (tmp_path / "kg.nt").write_text(triples())
    (tmp_path / "names.jsonl").touch()
    checker = Checker.of_files(tmp_path / "kg.nt", DECLARED, tmp_path / "names.jsonl")
    seats = {city: by("formerly company_home", city) for city in ("Q11", "Q12")}
    found = {
        city: sorted(evaluate([step], checker.kg, checker.schema)[0])
        for city, step in seats.items()
    }
    assert found == {"Q11": ["Q2"], "Q12": ["Q1"]}


@pytest.mark.parametrize(
    "text", ["Which companies are based in Q12?", "Which companies were based in Q12?"]
)
def test_a_question_that_does_not_say_formerly_is_found(films, text):
    plan = [by("formerly company_home", "Q12") | {"focus": True}]
    said = question(plan, []) | {"question": text}
    assert any("of the past" in problem for problem in films._unsaid(said))
    said["question"] = "Which companies were formerly based in Q12?"
    assert list(films._unsaid(said)) == []


@pytest.fixture(scope="module")
def about_before(tmp_path_factory) -> tuple[list[dict], Checker]:
    """Questions of a world with hubs in which most of what changes has changed."""
    dials = Dials(former=80, hubs=60, bare_titles=50)
    return from_world(tmp_path_factory.mktemp("former") / "w", 2_000, 90, 5, dials)


@pytest.mark.long
def test_the_gold_of_questions_about_former_values_is_right(about_before):
    questions, checker = about_before
    assert 3 <= sum(any(map(is_former, q["plan"])) for q in questions) <= 20
    problems = [problem for question in questions for problem in checker.problems(question)]
    assert not problems, "\n".join([f"{len(problems)} problems", *problems[:12]])


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> tuple[list[dict], Checker]:
    return from_world(tmp_path_factory.mktemp("world") / "w", ENTITIES, COUNT, 11)


@pytest.mark.long
def test_the_gold_of_generated_questions_is_right(generated):
    questions, checker = generated
    assert len(questions) == COUNT
    problems = [problem for question in questions for problem in checker.problems(question)]
    assert not problems, "\n".join([f"{len(problems)} problems", *problems[:12]])


def test_every_answer_has_passages_that_lead_to_it(generated):
    questions, _ = generated
    branches = [branch for question in questions for branch in question["branches"]]
    assert all(answer["support"] for branch in branches for answer in branch["answers"])


def test_all_operations_and_domains_are_checked(generated):
    questions, _ = generated
    assert {step["op"] for question in questions for step in question["plan"]} == set(STEPS)
    assert len({question["meta"]["domain"] for question in questions}) == 6
    assert sum(question["ambiguous"] for question in questions) == COUNT // 2
