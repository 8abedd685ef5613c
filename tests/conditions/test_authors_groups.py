"""The authors' gold: where it differs from the solver's, by hand, and how often, on their data."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise.corpora.conditions.authors_groups import authors_answer
from branchwise.corpora.conditions.conditions_file import read_conditions
from branchwise.corpora.conditions.solver import solve
from branchwise.eval.tasks import get_task
from support.conditions.cases import conditional_item, conditional_question, conditions_file
from support.needs import DATA, needs_data

IMPLIED = (("inclusive", "A-c1", "B-c2"), ("conflicting", "B-c2", "C-c3"))
CHAIN = (("inclusive", "A-c1", "B-c2"), ("inclusive", "B-c2", "C-c3"))


@pytest.mark.parametrize(
    ("kind", "documents", "relations", "values", "short", "groups", "ours"),
    [
        # Every assignment of clauses is a group.
        ("q1", {"A": "c1 OR c2"}, (), {}, "yes", ["A-c2", "A-c1", "A-c1 A-c2"], ["A-c1", "A-c2"]),
        # Of another expression, each branch of a search that is true: c1 false first, then c2.
        ("q1", {"A": "c1 OR (c2 AND c3)"}, (), {}, "yes", ["A-c2 A-c3", "A-c1"],
         ["A-c1", "A-c2 A-c3"]),
        # ... where the scenario has left clauses of it, every assignment.
        ("q1", {"A": "c1 OR (c2 AND c3)"}, (), {"A-c3": True}, "yes",
         ["A-c2", "A-c1", "A-c1 A-c2"], ["A-c1", "A-c2"]),
        # Both of two equivalent conditions stay; of an inclusive pair the narrower.
        ("q2", {"A": "c1", "B": "c2"}, (("equivalent", "A-c1", "B-c2"),), {}, "yes",
         ["A-c1 B-c2"], ["B-c2"]),
        ("q2", {"A": "c1", "B": "c2"}, (("inclusive", "A-c1", "B-c2"),), {}, "yes",
         ["A-c1"], ["A-c1"]),
        # A conflict that a condition of the group only implies is not seen.
        ("q2", {"A": "c1", "B": "c2", "C": "c3"}, IMPLIED, {}, "no", [], []),
        ("q3", {"A": "c1", "C": "c3"}, IMPLIED, {"B-c2": True}, 1, ["A-c1"], ["A-c1"]),
        # Values go one step, and not on from there.
        ("q2", {"A": "c1", "B": "c2", "C": "c3"}, CHAIN, {"C-c3": False}, "no", [], []),
        ("q1", {"A": "c1"}, CHAIN, {"B-c2": False}, "no", [], []),
        # Nothing more is needed for B: the groups of A are gold all the same.
        ("q1", {"A": "c1", "B": "c2"}, (), {"B-c2": True}, "yes", ["A-c1"], []),
        ("q3", {"A": "c1", "B": "c2"}, (), {"A-c1": False, "B-c2": False}, 0, [], []),
    ],
)  # fmt: skip
def test_gold_by_hand(
    tmp_path: Path, kind: Any, documents: Any, relations: Any, values: Any, short: Any,
    groups: list[str], ours: list[str],
) -> None:  # fmt: skip
    # Documents that only relations and values name are others.
    all_documents = documents | {
        end.partition("-")[0]: end.partition("-")[2]
        for _, *ends in relations
        for end in ends
        if end.partition("-")[0] not in documents
    }
    path = conditions_file(tmp_path / "q.json", all_documents, relations, values)
    record = json.loads(path.read_text())
    record["scenarios"][0]["documents"] = [*documents]
    path.write_text(json.dumps(record))
    found = read_conditions(path)
    problem = found.problem(found.scenarios[0], kind)
    answer = authors_answer(problem)
    assert (answer.short, [" ".join(group) for group in answer.groups]) == (short, groups)
    assert [" ".join(group) for group in solve(problem).answer.groups] == ours


def test_values_and_conflicts_that_two_relations_carry_together_are_ours_alone(
    tmp_path: Path,
) -> None:
    record = json.loads(
        conditions_file(
            tmp_path / "q.json", {"A": "c1", "B": "c2", "C": "c3"}, (*IMPLIED,), {}
        ).read_text()
    )
    record["scenarios"][0] |= {"documents": ["A", "B", "C"], "values": {}}
    (tmp_path / "q.json").write_text(json.dumps(record))
    found = read_conditions(tmp_path / "q.json")
    problem = found.problem(found.scenarios[0], "q3")
    assert (authors_answer(problem).short, solve(problem).answer.short) == (2, 2)
    assert authors_answer(problem).groups == (("A-c1",), ("A-c1", "C-c3"))
    assert solve(problem).answer.groups == (("A-c1",),)


@needs_data
def test_how_often_gold_differs_on_the_published_scenarios(type_in: Any) -> None:
    code, said, _ = type_in("mdcr", "info", DATA / "mdcr", "--gold", "authors", "--json")
    counts = json.loads(said)["authors"]
    assert code == 0
    if counts["q1"]["questions"] == 259:
        assert {kind: (one["short answers"], one["groups"]) for kind, one in counts.items()} == {
            "q1": (2, 48), "q2": (0, 5), "q3": (3, 59),
        }  # fmt: skip


def test_solve_and_score_take_the_authors_gold(tmp_path: Path, type_in: Any) -> None:
    question = conditional_question(tmp_path / "q.json", "q1", {"A": "c1 OR c2"})
    code, said, _ = type_in("mdcr", "solve", tmp_path / "q.json", "--gold", "authors")
    assert code == 0
    assert "    A-c2\n    or A-c1\n    or A-c1 and A-c2\n" in said
    code, _, error = type_in("mdcr", "solve", tmp_path / "q.json", "--gold", "authors", "--explain")
    assert (code, error) == (
        2,
        "branchwise: --explain: explains minimal groups; leave out --gold\n",
    )
    item = conditional_item(question, "yes", [["A-c1"], ["A-c2"], ["A-c1", "A-c2"]])
    assert get_task("mdcr", "authors-gold").score(item)["answer_em"] == 1
    assert get_task("mdcr").score(item)["answer_em"] == 0
