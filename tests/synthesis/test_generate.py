"""Questions that are generated: how many, of what kind, and the same ones again."""

from collections import Counter

import pytest

from branchwise.base.errors import InputError
from branchwise.worlds.domains import DOMAINS
from branchwise.worlds.questions.generate import generate
from branchwise.worlds.questions.plans import Plan
from branchwise.worlds.questions.sources import (
    GenerationTally,
    Settings,
    open_source,
    world_domains,
)
from branchwise.worlds.questions.statistics import PUBLISHED, describe_questions
from branchwise.worlds.questions.wording.writing import Verbalizer

pytestmark = pytest.mark.slow

QUESTIONS = 120


@pytest.fixture(scope="module")
def source(world_2000):
    return open_source(str(world_2000))


def made(source, questions=QUESTIONS, seed=5, tally=None, words=None, **settings):
    chosen = {"ambiguous": 0.5, "domains": source.domains} | settings
    asked = Settings(questions, common=source.common, seed=seed, **chosen)
    return list(
        generate(
            source.facts, source.names, asked, tally=tally, support=source.support, words=words
        )
    )


@pytest.fixture(scope="module")
def tally():
    return GenerationTally()


@pytest.fixture(scope="module")
def questions(source, tally):
    return made(source, tally=tally)


def test_as_many_as_are_wanted_half_of_them_ambiguous(questions):
    assert Counter(q.ambiguous for q in questions) == {True: 60, False: 60}
    assert Counter(q.meta["domain"] for q in questions) == dict.fromkeys(DOMAINS, 20)


def test_no_two_are_alike(questions):
    assert len({q.id for q in questions}) == QUESTIONS
    assert len({q.question for q in questions}) == QUESTIONS
    plans = [
        Plan.from_json(q.plan).model_dump_json(exclude={"steps": {"__all__": {"condition"}}})
        for q in questions
    ]
    assert len(set(plans)) == QUESTIONS


def test_they_are_as_varied_as_published_ones(questions):
    found = describe_questions(questions)
    assert set(found.histograms["operations"]) == {
        "atomic", "join", "filter", "union", "intersection", "difference", "group_by",
    }  # fmt: skip
    assert found.shapes >= 30
    for kind, means in found.means.items():
        assert means.steps == pytest.approx(PUBLISHED[kind].steps, rel=0.2)
        assert 5 <= means.answers <= 12


@pytest.mark.long
def test_no_name_is_in_more_than_a_hundredth_of_a_set(source):
    found = made(source, questions=300)
    assert {q.meta["steps"] for q in found} >= set(range(2, 8))
    facts, counts = source.facts, Counter()
    for question in found:
        values = [step.get("condition", {}).get("value") for step in question.plan]
        named = {*values, *(step.get("entity") for step in question.plan)} - {None}
        counts.update({facts.label(entity) for entity in named if facts.type_of(entity)})
    assert len(found) == 300
    assert max(counts.values()) <= 3


def test_answers_are_of_bounded_number_and_not_in_the_question(questions):
    for question in questions:
        named = set(Plan.from_json(question.plan).entities())
        assert sum(len(branch.answers) for branch in question.branches) <= 45
        for branch in question.branches:
            assert branch.answers
            assert not named & {answer.qid for answer in branch.answers}
            forms = [form for answer in branch.answers for form in answer.forms]
            assert len(set(forms)) == len(forms)


def test_each_says_how_it_was_made(questions):
    for question in questions:
        plan = Plan.from_json(question.plan)
        meta = question.meta
        assert meta["steps"] == len(plan.steps) >= 2
        assert meta["operations"] == [step.op for step in plan.steps]
        assert meta["shape"] == plan.shape
        assert meta["wording"] == "grammar"
        assert (meta["benchmark"], meta["generated"]) == ("deepambigqa", True)
        numbers = [step.partition(". ")[0] for step in meta["plan"]]
        assert numbers == [str(n) for n in range(1, len(plan.steps) + 1)]
        for branch in question.branches:
            sizes = meta["sizes"][branch.name]
            assert len(sizes) == len(plan.steps)
            assert sizes[-1] == len(branch.answers)


def test_tries_are_counted_by_what_became_of_them(questions, tally):
    assert tally.accepted == QUESTIONS
    assert tally.tries == QUESTIONS + sum(tally.rejected.values())
    assert "no second set fits" in tally.rejected
    assert tally.exhausted == []


def test_the_same_seed_gives_the_same_questions(source, questions):
    assert made(source, questions=30) == made(source, questions=30)
    assert made(source, questions=30, seed=6) != made(source, questions=30)


def test_names_that_nobody_shares_make_no_ambiguous_questions(source):
    tally = GenerationTally()
    settings = Settings(4, 0.5, source.domains, source.common, patience=60)
    found = list(generate(source.facts, {}, settings, tally=tally))
    assert [q.ambiguous for q in found] == [False, False]
    assert tally.exhausted == [f"{domain} with several readings" for domain in DOMAINS]
    assert tally.rejected["no shared name fits"] == 60 * len(DOMAINS)


def test_a_relation_is_of_the_domains_that_it_needs():
    domains, common = world_domains(DOMAINS, ("movie", "book"))
    assert list(domains) == ["movie", "book"]
    assert "directed_by" in domains["movie"]
    assert "based_on" in domains["movie"]
    assert "based_on" in domains["book"]
    assert "birthplace" in common
    assert not set(common) & set(domains["movie"])
    with pytest.raises(InputError, match="no domain 'cooking'"):
        world_domains(DOMAINS, ("cooking",))


class Judge:
    """A reviewer that takes nothing that has a union in it, and no question about novels."""

    def __init__(self):
        self.templates, self.questions = [], []

    def judge_template(self, steps):
        self.templates.append(tuple(steps))
        return Verdict(not any("either" in step for step in steps))

    def judge(self, question, steps, answers):
        self.questions.append((question, tuple(answers)))
        return Verdict("novels" not in question)


class Verdict:
    def __init__(self, valid):
        self.valid = valid


class Copyist:
    """A writer that words every second question itself."""

    def __init__(self):
        self.asked = 0

    sees_answers = False

    def question(self, plan, steps, name, fallback, answers):
        self.asked += 1
        if self.asked % 2:
            return Wording(f"So, {fallback}", "model", None)
        return Wording(fallback, "grammar", "drops a name")


class Wording:
    def __init__(self, text, by, problem):
        self.text, self.by, self.problem = text, by, problem


def test_a_reviewer_drops_templates_once_and_questions_each(source):
    judge, tally = Judge(), GenerationTally()
    words = Verbalizer(source.facts.schema, 5, reviewer=judge)
    found = made(source, questions=24, tally=tally, words=words)
    assert len(found) == 24
    assert not any("novels" in q.question for q in found)
    assert len(set(judge.templates)) == len(judge.templates)
    assert all("a certain" in " ".join(steps) for steps in judge.templates)
    assert tally.rejected["the reviewer finds the question invalid"] > 0
    reviewed = {question for question, _ in judge.questions}
    assert {q.question for q in found} <= reviewed


def test_a_writer_is_named_in_its_questions_and_its_slips_are_counted(source):
    writer = Copyist()
    words = Verbalizer(source.facts.schema, 5, writer=writer)
    found = made(source, questions=12, words=words)
    by = Counter(q.meta["wording"] for q in found)
    assert by["model"] > 0
    assert by["grammar"] > 0
    assert all(q.question.startswith("So, ") == (q.meta["wording"] == "model") for q in found)
    assert words.strayed["drops a name"] >= by["grammar"]
