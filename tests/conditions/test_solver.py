"""The solver against brute force over all assignments, and by hand."""

from collections import Counter

import pytest

from branchwise.corpora.conditions.solver import (
    solve,
)
from branchwise.corpora.conditions.spreading import ContradictionError
from support.conditions.plain_answers import ContradictsError, Table
from support.conditions.random_problems import problems


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_answers_equal_brute_force(seed):
    seen = Counter()
    for plain, problem in problems(seed, 10_000):
        try:
            table = Table(plain)
        except ContradictsError as contradiction:
            with pytest.raises(ContradictionError) as refused:
                solve(problem)
            by_relations = bool(refused.value.impossible)
            assert by_relations == contradiction.by_relations  # noqa: PT017
            seen["contradiction"] += 1
            continue
        short, groups = table.answer()
        found = solve(problem).answer
        assert found.short == short, problem
        assert {frozenset(group) for group in found.groups} == {
            frozenset(f"D{_document(plain, problem, s)}-c{s}" for s in group) for group in groups
        }, problem
        assert len(set(found.groups)) == len(found.groups)
        seen[plain.kind] += 1
        seen["groups"] += len(groups)
        if sum(seen[kind] for kind in ("q1", "q2", "q3")) == 500:
            break
    assert min(seen[kind] for kind in ("q1", "q2", "q3", "contradiction")) > 50
    assert seen["groups"] > 500


def _document(plain, problem, sentence):
    ids = [one.document for one in problem.conditions.values()]
    return ids[plain.sentences.index(sentence)][1:]
