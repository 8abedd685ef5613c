"""Why an answer is what it is."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.conditions.conditions_file import parse_conditions
from branchwise.corpora.conditions.documents import ConditionRelation
from branchwise.corpora.conditions.explanation import (
    MAX_ORIGINS,
    Cause,
    Obstacle,
    explained,
    obstacles,
    requirements,
)
from branchwise.corpora.conditions.solver import are_feasible, solve
from branchwise.corpora.conditions.spreading import ContradictionError, RelationNetwork
from support.conditions.random_problems import problems

EQUIVALENT = ConditionRelation("equivalent", "B-c3", "C-c5")
NARROWER = ConditionRelation("inclusive", "C-c6", "B-c4")
CONFLICTS = [ConditionRelation("conflicting", f"A-c{n}", "B-c3") for n in (1, 2)]


def worked(kind, **values):
    record = {
        "mdcr": 1,
        "documents": [
            document("A", "c1 OR c2", "c1", "c2"),
            document("B", "c3 AND c4", "c3", "c4"),
            document("C", "c5 AND c6", "c5", "c6"),
        ],
        "relations": [
            {"kind": "equivalent", "between": ["B-c3", "C-c5"]},
            {"kind": "inclusive", "narrower": "C-c6", "wider": "B-c4"},
            {"kind": "conflicting", "between": ["A-c1", "B-c3"]},
            {"kind": "conflicting", "between": ["A-c2", "B-c3"]},
        ],
        "scenarios": [
            {
                "id": "s",
                "documents": ["A", "B", "C"],
                "text": "",
                "values": {id.replace("_", "-"): value for id, value in values.items()},
            }
        ],
    }
    found = parse_conditions(record, "f")
    return found.problem(found.scenarios[0], kind)


def document(id, expression, *names):
    stated = {name: name for name in names}
    return {
        "id": id,
        "title": id,
        "domain": "things",
        "sentences": stated,
        "conditions": stated,
        "expression": expression,
    }


def test_a_group_says_what_each_document_needs_and_what_stands_for_what():
    problem = worked("q3")
    (found,) = explained(problem, solve(problem))
    assert found.group == ("C-c5", "C-c6")
    assert found.count == 1
    (origin,) = found.origins
    assert origin.needed == {"B": ("B-c3", "B-c4"), "C": ("C-c5", "C-c6")}
    assert origin.left_out == (
        Cause("B-c3", True, "C-c5", True, (EQUIVALENT,)),
        Cause("B-c4", True, "C-c6", True, (NARROWER,)),
    )


def test_values_come_from_the_scenario_by_relations():
    problem = worked("q3", C_c5=True, B_c4=False)
    a, b, c = requirements(problem)
    assert a.decided == (
        Cause("A-c1", False, "C-c5", True, (EQUIVALENT, CONFLICTS[0])),
        Cause("A-c2", False, "C-c5", True, (EQUIVALENT, CONFLICTS[1])),
    )
    assert b.expression == "c3 AND c4"
    assert b.decided == (
        Cause("B-c3", True, "C-c5", True, (EQUIVALENT,)),
        Cause("B-c4", False, "B-c4", False, ()),
    )
    assert c.decided == (
        Cause("C-c5", True, "C-c5", True, ()),
        Cause("C-c6", False, "B-c4", False, (NARROWER,)),
    )
    # All three are out of reach: each says why.
    found = obstacles(problem, solve(problem))
    assert found == (
        Obstacle((("A", "c1 OR c2"),), {"C-c5": True}, (EQUIVALENT, *CONFLICTS)),
        Obstacle((("B", "c3 AND c4"),), {"B-c4": False}, ()),
        Obstacle((("C", "c5 AND c6"),), {"B-c4": False}, (NARROWER,)),
    )


def test_what_keeps_documents_apart_is_smallest():
    problem = worked("q2", C_c6=True)
    (found,) = obstacles(problem, solve(problem))
    assert found == Obstacle((("A", "c1 OR c2"), ("B", "c3 AND c4")), {}, tuple(CONFLICTS))


def test_only_some_origins_of_a_group_are_told():
    record = {
        "mdcr": 1,
        "documents": [document("A", "p OR q OR r OR s", "c1")],
        "relations": [],
        "scenarios": [{"id": "s", "documents": ["A"], "text": "", "values": {}}],
    }
    record["documents"][0]["conditions"] = dict.fromkeys("pqrs", "c1")
    parsed = parse_conditions(record, "f")
    problem = parsed.problem(parsed.scenarios[0], "q1")
    (found,) = explained(problem, solve(problem))
    assert (found.group, found.count, len(found.origins)) == (("A-c1",), 4, MAX_ORIGINS)


@given(st.integers(0, 10**6))
def test_causes_and_obstacles_are_true_of_random_problems(seed):
    _, problem = next(problems(seed))
    try:
        solution = solve(problem)
    except ContradictionError:
        return
    for one in requirements(problem):
        for cause in one.decided:
            check_cause(problem, cause)
            assert problem.values[cause.source] is cause.source_value
    for group in explained(problem, solution):
        for origin in group.origins:
            for cause in origin.left_out:
                check_cause(problem, cause)
                assert cause.value
                assert cause.source_value
    for found in obstacles(problem, solution):
        wanted = [document for document, _ in found.documents]
        documents = [one for one in problem.documents if one.id in wanted]
        reduced = replace(problem, values=found.values, relations=found.relations)
        assert not are_feasible(reduced, documents)
        for id in found.values:
            values = {other: value for other, value in found.values.items() if other != id}
            assert are_feasible(replace(reduced, values=values), documents)


def check_cause(problem, cause):
    """The value follows from its source by the named relations alone."""
    if not cause.relations:
        assert (cause.condition, cause.value) == (cause.source, cause.source_value)
        return
    network = RelationNetwork(replace(problem, relations=cause.relations))
    spread = network.spread({cause.source: cause.source_value})
    assert (spread.true if cause.value else spread.false) & network.bit[cause.condition]
