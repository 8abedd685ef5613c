"""Classes say how many things are instances of them: counted when built, else asked."""

import pytest

from branchwise.kg.answers import KgError, Match, QueryResult, Term
from branchwise.kg.build import build_kg
from branchwise.kg.names.index import NameIndex
from branchwise.kg.remote.descriptions import ClassSizes
from branchwise.tools.result_text import matches_text

WD = "http://www.wikidata.org/entity/"
CLASSES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix x: <http://example.org/> .
wd:Q11424 rdfs:label "film" . wd:Q5 rdfs:label "human" . wd:Q2 rdfs:label "director" .
wd:Q482994 rdfs:label "album" ; wdt:P279 wd:Q2188189 .
wd:Q10 rdfs:label "Aurora" ; wdt:P31 wd:Q11424, wd:Q482994 .
wd:Q11 rdfs:label "Boreal" ; wdt:P31 wd:Q11424 .
wd:Q12 rdfs:label "Cy" ; wdt:P31 wd:Q5 ; wdt:P106 wd:Q2 .
x:City rdfs:label "city" . x:a a x:City ; rdfs:label "Aa" .
"""
SIZES = {"film": 2, "human": 1, "album": 1, "director": 0, "city": 1, "Aurora": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    (folder / "g.ttl").write_text(CLASSES)
    build_kg([folder / "g.ttl"], folder / "G")
    return folder / "G"


def test_sizes_are_counted_when_a_graph_is_built(folder):
    index = NameIndex.open(folder)
    assert {name: index.search(name)[0].members for name in SIZES} == SIZES


def film(members=0, statements=0):
    return Match("Q11424", "film", "", "film", (), statements, members=members)


def test_a_size_is_asked_for_once():
    asked = []

    def select(query):
        asked.append(query)
        row = (Term(f"{WD}Q11424", "iri"), Term("1204", "literal"))
        return QueryResult(("class", "size"), (row,))

    sizes = ClassSizes()
    assert sizes.added([film()], select) == sizes.added([film()], select) == [film(1204)]
    assert len(asked) == 1
    assert f"<{WD}Q11424>" in asked[0]


def test_a_graph_that_fails_is_asked_no_more_and_nothing_is_lost():
    asked = []

    def fails(query):
        asked.append(query)
        raise KgError("timeout", "too slow")

    sizes = ClassSizes()
    assert sizes.added([film()], fails) == sizes.added([film()], fails) == [film()]
    assert len(asked) == 1


@pytest.mark.parametrize("size", ["²", "many", "-1", "9" * 4_000])
def test_what_is_no_count_is_left_out(size):
    row = (Term(f"{WD}Q11424", "iri"), Term(size, "literal"))
    answer = QueryResult(("class", "size"), (row,))
    assert ClassSizes().added([film()], lambda _: answer) == [film()]


def test_an_iri_that_could_end_a_query_is_not_in_it():
    hostile = Match("http://a/> } DROP ALL #", "x", "", "x", (), 0)
    assert ClassSizes().added([hostile], pytest.fail) == [hostile]


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (film(1204), "[class of 1,204 things]"),
        (film(1), "[class of 1 thing]"),
        (film(1204, 3), "[3 statements; class of 1,204 things]"),
        (film(0, 0), "[0 statements]"),
    ],
)
def test_a_model_reads_how_large_a_class_is(match, said):
    assert matches_text("film", [match]) == f"Q11424  film {said}"
