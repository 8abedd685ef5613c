"""Properties are found by what people call them: the phrases of data/property_phrases.jsonl."""

import json
from pathlib import Path

import pytest

from branchwise.kg.build import build_kg
from branchwise.kg.names.index import NameIndex

PHRASES = Path(__file__).parent / "data" / "property_phrases.jsonl"


@pytest.fixture(scope="module")
def phrases():
    return [json.loads(line) for line in PHRASES.read_text().splitlines()]


def share_within(index, phrases, places):
    """The share of the phrases that find what they mean in so many places."""
    hits = 0
    for written in phrases:
        first = index.search(written["phrase"], "property")[:places]
        hits += not {match.id for match in first}.isdisjoint(written["means"])
    return hits / len(phrases)


def test_most_phrases_find_their_property_first(built_kg, phrases):
    index = NameIndex.open(built_kg)
    assert len(phrases) >= 207
    assert share_within(index, phrases, 1) >= 0.8
    assert share_within(index, phrases, 3) >= 0.95


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("manages", "P286"), ("plays in league", "P118"), ("signed to label", "P264"),
        ("founded in year", "P571"), ("member of band", "P527"), ("setting", "P840"),
        ("country of award", "P17"),
    ],
)  # fmt: skip
def test_what_a_model_asked_for_in_vain_comes_first(built_kg, phrase, found):
    first = NameIndex.open(built_kg).search(phrase, "property")[0]
    assert (first.id, first.near) == (found, False)


# Without aliases, and in another vocabulary than Wikidata's.
OTHERS = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix x: <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
x:club rdfs:label "football club" . x:musician rdfs:label "musician" . x:band rdfs:label "band" .
x:league rdfs:label "league" . x:guitar rdfs:label "guitar" . x:instrument rdfs:label "instrument" .
x:Person rdfs:label "person" .
x:a a x:club ; x:playsIn x:north ; x:founded "1901"^^xsd:gYear . x:north a x:league .
x:b a x:musician ; x:plays x:guitar ; x:founded x:c . x:guitar a x:instrument . x:c a x:band .
x:d a x:Person ; x:owner x:e . x:e a x:Person .
"""


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("plays in league", "playsIn"),
        ("which instrument does the musician play", "plays"),
        ("owns", "owner"),
        ("when was it founded", "founded"),
        ("instrument of musician", "plays"),
    ],
)
def test_kinds_and_forms_of_words_tell_properties_apart_in_other_vocabularies(
    tmp_path, phrase, found
):
    (tmp_path / "g.ttl").write_text(OTHERS)
    build_kg([tmp_path / "g.ttl"], tmp_path / "G")
    first = NameIndex.open(tmp_path / "G").search(phrase, "property")[0]
    assert first.id == f"http://example.org/{found}"


def test_a_graph_that_was_built_without_the_ends_of_properties_is_searched_by_names(tmp_path):
    import sqlite3

    (tmp_path / "g.ttl").write_text(OTHERS)
    build_kg([tmp_path / "g.ttl"], tmp_path / "G")
    with sqlite3.connect(tmp_path / "G" / "names.sqlite") as names:
        names.execute("DROP TABLE ends")
    index = NameIndex.open(tmp_path / "G")
    assert index.search("owns", "property")[0].id == "http://example.org/owner"
    assert index.search("plays in league", "property")[0].id == "http://example.org/playsIn"
