"""The solver against brute force over all assignments, and by hand."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.conditions.authors_groups import spread_one_step
from branchwise.corpora.conditions.conditions_file import parse_conditions
from branchwise.corpora.conditions.documents import ConditionsAnswer, ConditionsProblem
from branchwise.corpora.conditions.minimal_groups import MAX_GROUPS, TooManyGroupsError
from branchwise.corpora.conditions.solver import (
    are_feasible,
    equivalent_sentences,
    relations_decide,
    solve,
    standing,
)
from branchwise.corpora.conditions.spreading import ContradictionError, RelationNetwork
from support.conditions.plain_answers import ContradictsError, Table, can_hold
from support.conditions.random_problems import problems, random_expression, written


def problem_of(kind, documents, relations=(), values=None):
    """`documents`: expressions by id, conditions in alphabetic order, each its own sentence;
    `relations`: as "A-a conflicts B-b", "A-a is B-b", "A-a implies B-b"."""
    record = {
        "mdcr": 1,
        "documents": [document(id, expression) for id, expression in documents.items()],
        "relations": [relation(*one.split()) for one in relations],
        "scenarios": [{"id": "s", "documents": [*documents], "text": "", "values": values or {}}],
    }
    found = parse_conditions(record, "f")
    return found.problem(found.scenarios[0], kind)


def document(id, expression):
    stated = sorted({word.strip("()") for word in expression.split()} - {"AND", "OR"})
    return {
        "id": id,
        "title": id,
        "domain": "things",
        "sentences": {f"c{place}": name for place, name in enumerate(stated)},
        "conditions": {name: f"c{place}" for place, name in enumerate(stated)},
        "expression": expression,
    }


def relation(one, verb, other):
    if verb == "implies":
        return {"kind": "inclusive", "narrower": one, "wider": other}
    kinds = {"conflicts": "conflicting", "is": "equivalent"}
    return {"kind": kinds[verb], "between": [one, other]}


def answer(*arguments):
    """The short answer, and groups as texts of their ids."""
    found = solve(problem_of(*arguments)).answer
    return found.short, [" ".join(group) for group in found.groups]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_answers_equal_brute_force(seed):
    seen: Counter[str] = Counter()
    for plain, problem in problems(seed):
        try:
            table = Table(plain)
        except ContradictsError as contradiction:
            seen["contradiction"] += 1
            check_contradiction(plain, problem, contradiction)
            continue
        short, groups = table.answer()
        found = solve(problem)
        assert found.answer.short == short, problem
        assert {frozenset(group) for group in found.answer.groups} == named(problem, groups)
        assert len(set(found.answer.groups)) == len(found.answer.groups)
        check_standing(problem, table)
        seen[plain.kind] += 1
        seen["groups"] += len(groups)
        if sum(seen[kind] for kind in ("q1", "q2", "q3")) == 500:
            break
    assert min(seen[kind] for kind in ("q1", "q2", "q3", "contradiction")) > 50
    assert seen["groups"] > 500


def check_contradiction(plain, problem, contradiction):
    """The solver finds it, and without any part of what it names there is none."""
    with pytest.raises(ContradictionError) as refused:
        solve(problem)
    found = refused.value
    assert bool(found.impossible) == contradiction.by_relations
    number = {id: place for place, id in enumerate(problem.conditions)}
    named = {found.impossible: True} if found.impossible else found.values
    values = [(number[id], value) for id, value in named.items()]
    relations = [(one.kind, number[one.first], number[one.second]) for one in found.relations]
    parts = [*values, *relations]
    assert not can_hold(len(number), parts)
    for place in range(len(parts)):
        assert can_hold(len(number), parts[:place] + parts[place + 1 :])
    assert {*values, *relations} <= {*plain.values.items(), *plain.relations, *values[:1]}


def check_standing(problem, table):
    found = standing(problem)
    assert list(found.values.values()) == table.value
    reach = [table.reach(place) for place in range(len(problem.documents))]
    assert list(found.reach.values()) == reach
    classes: dict[str, set[str]] = {}
    for id, last in equivalent_sentences(problem).items():
        classes.setdefault(last, set()).add(id)
    assert set(map(frozenset, classes.values())) == named(problem, table.classes())
    for last, members in classes.items():
        assert last == max(members, key=lambda id: problem.places[id])


def named(problem, groups):
    """Groups of sentences by their numbers as groups of their ids."""
    ids = {int(one.sentence[1:]): one.sentence_id for one in problem.conditions.values()}
    return {frozenset(ids[sentence] for sentence in group) for group in groups}


@pytest.mark.slow
def test_whether_relations_decide_equals_brute_force():
    seen: Counter[bool] = Counter()
    for plain, problem in problems(9):
        try:
            with_relations = Table(plain).answer()
        except ContradictsError:
            continue
        without = Table(plain._replace(relations=[])).answer()
        found = relations_decide(problem, solve(problem).answer)
        assert found is (with_relations != without)
        seen[found] += 1
        if sum(seen.values()) == 200:
            break
    assert min(seen.values()) > 50


TWO = {"A": "a AND b", "B": "c OR d"}


@pytest.mark.parametrize(
    ("arguments", "short", "groups"),
    [
        (("q1", TWO), "yes", ["A-c0 A-c1", "B-c0", "B-c1"]),
        (("q2", TWO), "yes", ["A-c0 A-c1 B-c0", "A-c0 A-c1 B-c1"]),
        (("q3", TWO), 2, ["A-c0 A-c1 B-c0", "A-c0 A-c1 B-c1"]),
        (("q2", TWO, (), {"A-a": True, "B-c": True}), "yes", ["A-c1"]),
        # Nothing more is needed: the only group is empty.
        (("q1", TWO, (), {"B-c": True}), "yes", []),
        (("q3", TWO, (), {"A-a": False}), 1, ["B-c0", "B-c1"]),
        (("q2", TWO, (), {"A-a": False}), "no", []),
        (("q3", TWO, (), {"A-a": False, "B-c": False, "B-d": False}), 0, []),
        # Values spread: both ways between equivalent ones, up and (negated) down.
        (("q2", TWO, ["A-a is B-c"], {"A-a": True}), "yes", ["A-c1"]),
        (("q2", TWO, ["A-a is B-c"], {"B-c": False}), "no", []),
        (("q2", TWO, ["B-c implies A-a"], {"B-c": True}), "yes", ["A-c1"]),
        (("q2", TWO, ["A-a implies B-c"], {"B-c": False}), "no", []),
        (("q2", TWO, ["A-a conflicts B-c"], {"B-c": True}), "no", []),
        # What is false because of a true one is no way to go; a group is never in conflict.
        (("q2", TWO, ["A-a conflicts B-c"]), "yes", ["A-c0 A-c1 B-c1"]),
        # ... also where the conflict is only implied, as A-a implies E-e.
        (
            ("q1", {"A": "a AND b", "D": "d", "E": "e"},
             ["A-a implies D-d", "A-b implies E-e", "D-d conflicts E-e"]),
            "yes",
            ["D-c0", "E-c0"],
        ),
        # Of equivalent ones the last stays, of an inclusive pair the narrower.
        (("q2", TWO, ["A-a is B-c"]), "yes", ["A-c0 A-c1 B-c1", "A-c1 B-c0"]),
        (("q2", TWO, ["B-c implies A-a"]), "yes", ["A-c0 A-c1 B-c1", "A-c1 B-c0"]),
        (("q2", TWO, ["A-a implies B-c"]), "yes", ["A-c0 A-c1"]),
        # A condition outside of the group stands for none in it: relations do not make groups.
        (("q1", {"A": "a", "B": "b AND c"}, ["B-b implies A-a"]), "yes", ["A-c0", "B-c0 B-c1"]),
        # Of a chain only the narrowest stays.
        (
            ("q2", {"A": "a", "B": "b", "C": "c"}, ["A-a implies B-b", "B-b implies C-c"]),
            "yes",
            ["A-c0"],
        ),
        # Implied both ways is equivalent.
        (("q2", {"A": "a", "B": "b"}, ["A-a implies B-b", "B-b implies A-a"]), "yes", ["B-c0"]),
        # A repeated condition adds nothing, an absorbed part neither.
        (("q1", {"A": "a OR (a AND b)"}), "yes", ["A-c0"]),
    ],
)  # fmt: skip
def test_answers_by_hand(arguments, short, groups):
    assert answer(*arguments) == (short, groups)


def test_contained_groups_are_left_out_after_conditions_became_sentences():
    record = {
        "mdcr": 1,
        "documents": [
            {"id": "A", "title": "", "domain": "things", "sentences": {"c1": "", "c2": ""},
             "conditions": {"p": "c1", "q": "c1", "r": "c2"},
             "expression": "(p AND r) OR q"},
        ],
        "relations": [],
        "scenarios": [{"id": "s", "documents": ["A"], "text": "", "values": {}}],
    }  # fmt: skip
    found = parse_conditions(record, "f")
    solution = solve(found.problem(found.scenarios[0], "q1"))
    assert solution.answer == ConditionsAnswer("yes", (("A-c1",),))
    # The group comes from q; that of p and r contains it.
    assert [one.conditions for one in solution.derivations["A-c1",]] == [("A-q",)]


@pytest.mark.slow
@given(st.integers(0, 10**6))
def test_the_order_of_what_is_not_ordered_changes_nothing(seed):
    """Relations, values, and the order within expressions; the order of documents only by which of
    equivalent conditions stays."""
    rng = Random(seed)
    _, problem = next(problems(seed))
    try:
        expected = solve(problem)
    except ContradictionError:
        return
    shuffled = replace(
        problem,
        relations=tuple(rng.sample(problem.relations, len(problem.relations))),
        values=dict(rng.sample(list(problem.values.items()), len(problem.values))),
    )
    assert solve(shuffled) == expected
    for order in permutations(problem.documents):
        moved = solve(replace(problem, documents=order))
        assert moved.answer.short == expected.answer.short
        assert {frozenset(one) for one in moved.sets} == {frozenset(one) for one in expected.sets}
        if all(one.kind != "equivalent" for one in problem.relations) and not two_way(problem):
            assert groups(moved) == groups(expected)


def two_way(problem):
    network = RelationNetwork(problem)
    return any(bits & (bits - 1) for bits in network.equivalent)


def groups(solution):
    return {frozenset(group) for group in solution.answer.groups}


@given(st.integers(0, 10**6))
def test_values_spread_until_no_relation_gives_another(seed):
    _, problem = next(problems(seed))
    try:
        network = RelationNetwork(problem)
        spread = network.spread(problem.values)
    except ContradictionError:
        return
    values = dict.fromkeys(network.named(spread.true), True)
    values |= dict.fromkeys(network.named(spread.false), False)
    assert network.spread(values) == spread
    assert spread_one_step(replace(problem, values=values)) == values
    assert spread_one_step(problem).items() <= values.items()


@given(st.integers(0, 10**6))
def test_groups_are_enough_and_nothing_in_them_is_superfluous(seed):
    """Where each condition has its own sentence, making a group true makes the answer hold without
    more; leaving out any of it does not."""
    _, problem = next(problems(seed))
    try:
        found = solve(problem)
    except ContradictionError:
        return
    for group in found.answer.groups:
        for one in found.derivations[group]:
            documents = tuple(d for d in problem.documents if d.id in one.documents)
            fulfilled = with_true(problem, one.conditions)
            assert are_feasible(fulfilled, documents)
            reach = standing(fulfilled).reach
            assert {reach[document.id] for document in documents} == {"satisfied"}
            assert set(one.kept) <= set(one.conditions)


def with_true(problem: ConditionsProblem, ids) -> ConditionsProblem:
    return replace(problem, values={**problem.values, **dict.fromkeys(ids, True)})


@pytest.mark.slow
def test_groups_of_a_document_are_the_prime_implicants_that_sympy_finds():
    import sympy

    rng = Random(3)
    for _ in range(60):
        text = written(random_expression(rng, range(7), 3))
        python = text.replace("AND", "&").replace("OR", "|")
        symbols = {f"x{i}": sympy.Symbol(f"x{i}") for i in range(7)}
        simplified = sympy.to_dnf(eval(python, {}, symbols), simplify=True, force=True)
        terms = simplified.args if isinstance(simplified, sympy.Or) else [simplified]
        expected = {frozenset(str(atom) for atom in term.atoms()) for term in terms}
        problem = problem_of("q1", {"A": text})
        stated = {one.sentence_id: one.name for one in problem.conditions.values()}
        found = solve(problem).answer.groups
        assert {frozenset(stated[id] for id in group) for group in found} == expected


def wide(count, of):
    """An expression with `of` to the power of `count` minimal groups."""
    return " AND ".join(
        f"({' OR '.join(f'x{number}_{part}' for part in range(of))})" for number in range(count)
    )


@pytest.mark.slow
def test_more_than_the_bound_of_groups_is_an_error():
    assert len(answer("q1", {"A": wide(4, 10)})[1]) == MAX_GROUPS
    with pytest.raises(TooManyGroupsError, match="has more than 10,000 minimal groups"):
        answer("q1", {"A": wide(4, 10), "B": "b"})
    with pytest.raises(TooManyGroupsError, match="has more than 10,000 minimal groups"):
        answer("q2", {"A": wide(20, 3), "B": wide(20, 3)})


def test_endless_groups_do_not_matter_beside_a_document_that_needs_nothing():
    assert answer("q1", {"A": wide(20, 3), "B": "b"}, (), {"B-b": True}) == ("yes", [])


@pytest.mark.slow
def test_what_conflicts_leave_of_endless_groups_is_found():
    ways = [f"x{number}_{part}" for number in range(20) for part in (1, 2)]
    conflicts = [f"A-{way} conflicts B-b" for way in ways]
    documents = {"A": wide(20, 3), "B": "b"}
    with pytest.raises(TooManyGroupsError):
        answer("q1", documents, conflicts)
    short, groups = answer("q2", documents, conflicts)
    assert short == "yes"
    assert len(groups) == 1


@pytest.mark.slow
def test_relations_that_keep_the_answer_from_being_endless_decide_it():
    ways = [f"x{number}_{part}" for number in range(20) for part in (1, 2)]
    problem = problem_of(
        "q2", {"A": wide(20, 3), "B": "b"}, [f"A-{way} conflicts B-b" for way in ways]
    )
    assert relations_decide(problem, solve(problem).answer)
