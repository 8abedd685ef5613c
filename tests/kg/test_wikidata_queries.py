"""Queries as models and Wikidata's users write them answer what plain Python works out.

The queries are in `queries/*.yaml`; the evaluation of each has its name, in `plain_*.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.kg.plain.answers import EVALUATIONS, Row
from support.kg.plain.kg import Literal, PlainKg, shorten
from support.kg.plain.queries import QUERIES, filled, found_rows, wrong_with
from support.kg.sparql_server import serve_kg

if TYPE_CHECKING:
    from branchwise.kg.answers import Graph

ON_REMOTE = QUERIES.keys() - {
    "anything_but",  # rdflib 7.6 fails at an inverse step in a negated set
    *("a_day_that_is_cast", "day_of_an_instant", "own_prefixes", "the_day_itself"),  # and at days
    "pairs_of_one_name",  # and takes ten seconds
}


@pytest.fixture(scope="module")
def remote(world_300: Path) -> "Iterator[Graph]":
    """The same graph behind a server that runs another engine."""
    from branchwise.kg.open import RemoteKg

    with serve_kg(world_300 / "kg.nt.gz") as url:
        opened = RemoteKg(url)
        yield opened
        opened.close()


def with_utc_as_z(row: Row) -> Row:
    """rdflib writes +00:00 for Z."""
    return {
        name: cell._replace(text=cell.text.replace("+00:00", "Z"))
        if isinstance(cell, Literal)
        else cell
        for name, cell in row.items()
    }


def test_every_query_has_an_evaluation():
    assert len(QUERIES) >= 40
    assert QUERIES.keys() == EVALUATIONS.keys()


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - {"nothing_found", "ask_what_is_not_so"}))
def test_every_query_but_two_finds_something(name: str, plain: PlainKg):
    assert EVALUATIONS[name](plain)


@pytest.mark.parametrize("name", QUERIES)
def test_query_answers_what_plain_python_works_out(name: str, kg: "Graph", plain: PlainKg):
    answer = kg.query(filled(name, plain))
    assert not wrong_with(name, plain, answer, found_rows(answer))


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("name", sorted(ON_REMOTE))
def test_a_remote_graph_answers_the_same(name: str, remote: "Graph", plain: PlainKg):
    answer = remote.query(filled(name, plain))
    rows = [with_utc_as_z(row) for row in found_rows(answer)]
    assert not wrong_with(name, plain, answer, rows)


@pytest.mark.parametrize("name", ["comments_and_a_view", "path_of_alternatives", "own_prefixes"])
def test_an_answer_brings_the_labels_of_its_entities(name: str, kg: "Graph", plain: PlainKg):
    answer = kg.query(filled(name, plain))
    entities = {term.value for row in answer.rows for term in row if term and term.kind == "iri"}
    labels = {entity: plain.label(shorten(entity)).text for entity in entities}
    assert labels
    assert answer.labels == labels
