"""Queries as models and Wikidata's users write them answer what plain Python works out.

The queries are in `queries/*.yaml`; the evaluation of each has its name, in `plain_*.py`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import plain_choices
import plain_expressions
import plain_forms
import plain_groups
import plain_label_corners
import plain_labels
import plain_paths
import plain_patterns
import plain_times
import pytest
import yaml
from plain_answers import EVALUATIONS, Row, difference
from plain_graph import Literal, Node, PlainGraph, read_graph, shorten

if TYPE_CHECKING:
    from branchwise.corpora.graph.answers import Answer, Graph, Term

EVALUATED = (
    plain_labels,
    plain_label_corners,
    plain_patterns,
    plain_paths,
    plain_times,
    plain_groups,
    plain_expressions,
    plain_forms,
)
QUERIES: dict[str, str] = {
    name: text
    for file in sorted((Path(__file__).parent / "queries").glob("*.yaml"))
    for name, text in yaml.safe_load(file.read_text(encoding="utf-8")).items()
}


@pytest.fixture(scope="session")
def plain(world_300: Path) -> PlainGraph:
    return read_graph(world_300 / "kg.nt.gz")


def filled(query: str, plain: PlainGraph) -> str:
    """The query with numbers or names of the world for its `%name%`s."""

    def chosen(match: re.Match[str]) -> str:
        choose: Callable[[PlainGraph], str] = getattr(plain_choices, match[1])
        return choose(plain).removeprefix("wd:")

    return re.sub(r"%(\w+)%", chosen, query)


def as_node(term: "Term") -> Node:
    """A term as plain Python writes it."""
    assert term.kind != "blank"
    if term.kind == "iri":
        return shorten(term.value)
    datatype = "" if term.language else shorten(term.datatype).replace("xsd:string", "")
    return Literal(term.value, datatype, term.language)


def found_rows(answer: "Answer") -> list[Row]:
    return [
        {name: as_node(term) for name, term in zip(answer.variables, row, strict=True) if term}
        for row in answer.rows
    ]


def test_every_query_has_an_evaluation():
    assert len(QUERIES) >= 40
    assert QUERIES.keys() == EVALUATIONS.keys()


@pytest.mark.parametrize("name", QUERIES)
def test_query_answers_what_plain_python_works_out(name: str, graph: "Graph", plain: PlainGraph):
    expected = EVALUATIONS[name](plain)
    answer = graph.query(filled(QUERIES[name], plain))
    if isinstance(expected, bool):
        assert answer.boolean is expected
        return
    assert answer.boolean is None
    assert answer.complete
    assert bool(expected) is (name != "nothing_found")
    rows = found_rows(answer)
    if isinstance(expected, set):
        assert {tuple(row.values()) for row in rows} == expected
    else:
        assert not difference(expected, rows)


@pytest.mark.parametrize("name", ["comments_and_a_view", "path_of_alternatives", "own_prefixes"])
def test_an_answer_brings_the_labels_of_its_entities(name: str, graph: "Graph", plain: PlainGraph):
    answer = graph.query(filled(QUERIES[name], plain))
    entities = {term.value for row in answer.rows for term in row if term and term.kind == "iri"}
    labels = {entity: plain.label(shorten(entity)).text for entity in entities}
    assert labels
    assert answer.labels == labels


def test_an_answer_of_too_many_rows_is_cut(graph: "Graph", plain: PlainGraph):
    answer = graph.query("SELECT ?s ?p ?o WHERE { ?s ?p ?o }")
    rows = {tuple(row.values()) for row in found_rows(answer)}
    assert len(rows) == len(answer.rows) == 1000
    assert rows < plain.triples
    assert not answer.complete
