"""A built graph through rdflib's own interface."""

import pytest
from rdflib import RDFS, Literal, URIRef

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.rdflib_view import rdflib_graph

WD = "http://www.wikidata.org/entity/"
WDT = "http://www.wikidata.org/prop/direct/"


def test_rdflib_sees_every_triple(built_graph, plain):
    view = rdflib_graph(built_graph)
    films = {
        str(film).removeprefix(WD) for film in view[: URIRef(f"{WDT}P31") : URIRef(f"{WD}Q11424")]
    }
    assert films == {film.removeprefix("wd:") for film in plain.all("wd:Q11424")}
    assert view.value(URIRef(f"{WD}P57"), RDFS.label) == Literal("director", lang="en")


def test_rdflib_asks_in_sparql(built_graph, plain):
    asked = f"SELECT (COUNT(?f) AS ?n) WHERE {{ ?f <{WDT}P31> <{WD}Q11424> }}"
    [row] = rdflib_graph(built_graph).query(asked)
    assert int(row.n) == len(plain.all("wd:Q11424"))


def test_a_folder_without_a_graph_is_refused(tmp_path):
    with pytest.raises(InputError, match="no graph here"):
        rdflib_graph(tmp_path)
