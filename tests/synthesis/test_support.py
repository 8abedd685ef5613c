"""Which passages state what leads to an answer, over the little graph."""

import json
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Intersection,
    Join,
    Plan,
    PlanStep,
    Union,
    Years,
    execute,
)
from branchwise.worlds.questions.sources import Support, support_of

PASSAGES = {
    "d1": [["Q101", "P57", "Q111"], ["Q101", "P577", "1995-12-15"]],
    "d2": [["Q102", "P57", "Q111"], ["Q102", "P577", "1999"]],
    "d3": [["Q103", "P57", "Q112"]],
    "c1": [["Q101", "P161", "Q121"], ["Q101", "P161", "Q122"]],
    "c2": [["Q102", "P161", "Q121"]],
    "c2b": [["Q102", "P161", "Q121"], ["Q102", "P161", "Q123"]],
    "c3": [["Q103", "P161", "Q121"]],
    "bare": [],
}
DIRECTED = Atomic(relation="directed_by", inverse=True, entity="Q111")
APPEARED = Atomic(relation="cast", inverse=True, entity="Q121")


@pytest.fixture
def support(tmp_path: Path) -> Support:
    path = tmp_path / "corpus.jsonl"
    lines = (
        json.dumps({"id": id, "contents": "T\nt", "statements": told})
        for id, told in PASSAGES.items()
    )
    path.write_text("\n".join(lines) + '\n{"id": "plain", "contents": "T\\nt"}\n')
    return Support.load(path)


def found(facts: KgFacts, support: Support, *steps: PlanStep) -> dict[str, str]:
    plan = Plan(steps=steps)
    supported = support_of(plan, execute(plan, facts), facts, support)
    return {answer: " ".join(ids) for answer, ids in supported.items()}


def test_a_join_is_stated_by_what_leads_to_it_first(
    little_facts: KgFacts, support: Support
) -> None:
    """Every way to the answer, every passage that tells it, each once."""
    assert found(little_facts, support, DIRECTED, Join(of=0, relation="cast")) == {
        "Q121": "d1 d2 c1 c2 c2b",
        "Q122": "d1 c1",
        "Q123": "d2 c2b",
    }


def test_a_count_is_stated_by_what_was_counted(little_facts: KgFacts, support: Support) -> None:
    step = GroupBy(of=0, relation="directed_by", at_least=2)

    assert found(little_facts, support, APPEARED, step) == {"Q111": "c1 c2 c2b d1 d2"}


def test_a_filter_is_stated_by_the_value_that_meets_it(
    little_facts: KgFacts, support: Support
) -> None:
    step = Filter(of=0, relation="released", condition=Years(first=1999))

    assert found(little_facts, support, APPEARED, step) == {"Q102": "c2 c2b d2", "Q103": "c3"}


def test_of_set_operations_each_side_that_has_it(little_facts: KgFacts, support: Support) -> None:
    assert found(little_facts, support, APPEARED, DIRECTED, Union(of=0, other=1)) == {
        "Q101": "c1 d1",
        "Q102": "c2 c2b d2",
        "Q103": "c3",
    }
    both = found(little_facts, support, APPEARED, DIRECTED, Intersection(of=0, other=1))
    assert both == {"Q101": "c1 d1", "Q102": "c2 c2b d2"}
    assert found(little_facts, support, APPEARED, DIRECTED, Difference(of=0, other=1)) == {
        "Q103": "c3"
    }


def test_what_no_passage_tells_has_no_support(little_facts: KgFacts, support: Support) -> None:
    """The award is in the graph alone."""
    honoured = Atomic(relation="honour", inverse=True, entity="Q131")

    assert found(little_facts, support, honoured) == {"Q101": "", "Q121": "", "Q124": ""}


@pytest.mark.parametrize(
    "line",
    [
        '{"contents": "T\\nt", "statements": [["Q1", "P1", "Q2"]]}',
        '{"id": "a", "statements": [["Q1"]]}',
    ],
)
def test_a_corpus_that_is_broken_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(f'{{"id": "a", "contents": "T\\nt"}}\n{line}\n')

    with pytest.raises(InputError, match=r"corpus\.jsonl:2"):
        Support.load(path)
