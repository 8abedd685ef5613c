"""What generated questions reward: reading, not counting. And that their answers are right."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.corpora.conditions.documents import AllOf, Atom, ConditionsSet, Expression, Scenario
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.loaders.mdcr import questions_of
from branchwise.worlds.conditions.balance import answer_balance
from branchwise.worlds.conditions.domain import Claim
from branchwise.worlds.conditions.generate import DraftSet, MdcrSettings, draft_set

Group = frozenset[str]


@pytest.fixture(scope="module", params=[1, 2, 3])
def drafts(request) -> DraftSet:
    """300 questions."""
    return draft_set(MdcrSettings(groups=20, scenarios=100, seed=request.param))


@pytest.fixture(scope="module")
def conditions(drafts) -> ConditionsSet:
    return drafts.finished()


@pytest.fixture(scope="module")
def questions(conditions):
    return questions_of(conditions)


@pytest.fixture(scope="module")
def asked(questions) -> dict[str, list[ConditionsQuestion]]:
    read = list(map(ConditionsQuestion.of, questions))
    return {kind: [q for q in read if q.problem.kind == kind] for kind in ("q1", "q2", "q3")}


def test_counting_the_documents_is_no_answer(conditions, questions, asked):
    assert [len(of_kind) for of_kind in asked.values()] == [100, 100, 100]
    answers = {kind: Counter(q.gold.short for q in of_kind) for kind, of_kind in asked.items()}
    all_of_them = sum(q.gold.short == len(q.problem.documents) for q in asked["q3"])
    assert 80 <= answers["q1"]["yes"] <= 98
    assert answers["q2"]["yes"] <= 8
    assert all_of_them <= 8
    assert (answers["q1"]["yes"] + answers["q2"]["yes"] + all_of_them) / 300 <= 0.4
    best = mean(max(counts.values()) / 100 for counts in answers.values())
    assert best <= 0.88  # that of the published scenarios, by their authors' gold
    assert len(answers["q3"]) >= 3

    balance = answer_balance(conditions, questions)
    assert balance.at_least_one == answers["q1"]["yes"] / 100
    assert balance.all_together == answers["q2"]["yes"] / 100
    assert balance.maximum_is_all == all_of_them / 100
    assert balance.best_constant == pytest.approx(best)


def test_conflicts_are_the_rule(conditions):
    kinds = Counter(relation.kind for relation in conditions.relations)
    assert kinds["conflicting"] > 2 * kinds["inclusive"] > 2 * kinds["equivalent"] > 0
    assert kinds["conflicting"] > 5 * kinds["equivalent"]


def test_documents_are_as_large_as_published_ones(conditions, asked):
    texts = [" ".join(one.sentences.values()) for one in conditions.documents.values()]
    assert 230 <= mean(len(re.sub("<[^>]*>", " ", text).split()) for text in texts) <= 330
    assert 5.5 <= mean(len(one.conditions) for one in conditions.documents.values()) <= 7.5
    assert 2.4 <= mean(len(q.problem.documents) for q in asked["q1"]) <= 3.4


def test_gold_is_what_claims_mean(drafts, asked):
    claims = claims_of(drafts)
    for question in (question for of_kind in asked.values() for question in of_kind):
        answer = plain_answer(question, claims)
        assert (question.gold.short, {*map(frozenset, question.gold.groups)}) == answer


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(8, 14), st.integers(1, 3))
def test_small_sets_are_consistent(seed, documents, groups):
    dials = MdcrSettings(documents=documents, groups=groups, scenarios=3, seed=seed)
    drafts = draft_set(dials)
    assert drafts == draft_set(dials)
    for question in map(ConditionsQuestion.of, questions_of(drafts.finished())):
        answer = plain_answer(question, claims_of(drafts))
        assert (question.gold.short, {*map(frozenset, question.gold.groups)}) == answer


def test_a_set_without_questions_has_no_balance(conditions):
    empty = ConditionsSet("f", {}, (), (), {})
    assert answer_balance(empty, []).best_constant is None
    one = conditions.scenarios[0]
    alone = Scenario(one.id, one.documents, one.parts, ("q1",))
    only_q1 = ConditionsSet("f", conditions.documents, (), (alone,), {})
    balance = answer_balance(only_q1, questions_of(only_q1))
    assert (balance.best_constant, balance.maximum_is_all) == (1, None)


def claims_of(drafts: DraftSet) -> dict[str, Claim]:
    return {
        f"{document.id}-{name}": claim
        for document in drafts.documents
        for name, claim in document.claims.items()
    }


def plain_answer(
    question: ConditionsQuestion, claims: dict[str, Claim]
) -> tuple[str | int, set[Group]]:
    """The answer from what claims mean, without relations or solver: every way to have a document
    is written out, and ways are joined wherever no two of their claims exclude each other."""
    problem = question.problem
    order = list(problem.conditions)
    documents = {id: id.rpartition("-")[0] for id in order}

    def related(one: str, other: str) -> bool:
        return claims[one].facet == claims[other].facet and documents[one] != documents[other]

    def implies(one: str, other: str) -> bool:
        is_narrower = related(one, other) and claims[one].means <= claims[other].means
        return one == other or is_narrower

    def excludes(one: str, other: str) -> bool:
        return related(one, other) and not claims[one].means & claims[other].means

    said_true = {id for id, value in problem.values.items() if value}
    true = {id for id in order if any(implies(one, id) for one in said_true)}
    said_false = {id for id, value in problem.values.items() if not value}
    false = {
        id
        for id in order
        if any(implies(id, no) for no in said_false) or any(excludes(id, yes) for yes in true)
    }

    def possible(group: Group) -> bool:
        return not group & false and not any(excludes(*pair) for pair in combinations(group, 2))

    def least(groups: set[Group]) -> set[Group]:
        return {group for group in groups if not any(other < group for other in groups)}

    def ways(expression: Expression, document: str) -> Iterator[Group]:
        if isinstance(expression, Atom):
            yield frozenset({f"{document}-{expression.name}"}) - true
        elif isinstance(expression, AllOf):
            for parts in product(*(list(ways(part, document)) for part in expression.parts)):
                yield frozenset().union(*parts)
        else:
            for part in expression.parts:
                yield from ways(part, document)

    each = [least({*filter(possible, ways(d.expression, d.id))}) for d in problem.documents]

    def joined(size: int) -> set[tuple[int, Group]]:
        return {
            (number, group)
            for number, chosen in enumerate(combinations(each, size))
            for group in least({frozenset().union(*parts) for parts in product(*chosen)})
            if possible(group)
        }

    def stands_for(one: str, other: str) -> bool:
        is_later = order.index(one) > order.index(other)
        return one != other and implies(one, other) and (is_later or not implies(other, one))

    def shown(group: Group) -> Group:
        kept = (id for id in group if not any(stands_for(other, id) for other in group))
        return frozenset(problem.conditions[id].sentence_id for id in kept)

    count = len(each)
    sizes = {"q1": [1], "q2": [count], "q3": list(range(count, 0, -1))}[problem.kind]
    size, found = next(((size, joined(size)) for size in sizes if joined(size)), (0, set()))
    short: str | int = size if problem.kind == "q3" else "yes" if found else "no"
    return short, least({shown(group) for _, group in found}) - {frozenset()}
