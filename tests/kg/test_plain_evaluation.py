"""The plain reading of a graph, and the comparison of answers, see what they should see."""

import gzip
from pathlib import Path

from support.kg.plain.answers import InOrder, Joined, OneOf, Row, difference
from support.kg.plain.kg import Literal, decimal, english, read_kg

ONE: Row = {"film": "wd:Q1", "filmLabel": english("A")}
OTHER: Row = {"film": "wd:Q2"}
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
LINES = (
    f"<{WD}Q1> <{WDT}P57> <{WD}Q2> .\n"
    rf'<{WD}Q1> <{LABEL}> "A \"B\" \\ \u00e9"@en .' + "\n"
    f'<{WD}Q2> <{WDT}P2047> "90"^^<http://www.w3.org/2001/XMLSchema#decimal> .\n'
    f'<{WD}Q2> <{LABEL}> "plain" .\n'
)


def test_lines_are_read_as_they_stand(tmp_path: Path):
    path = tmp_path / "kg.nt.gz"
    path.write_bytes(gzip.compress(LINES.encode()))
    assert read_kg(path).triples == {
        ("wd:Q1", "wdt:P57", "wd:Q2"),
        ("wd:Q1", "rdfs:label", Literal('A "B" \\ é', language="en")),
        ("wd:Q2", "wdt:P2047", Literal("90", "xsd:decimal")),
        ("wd:Q2", "rdfs:label", Literal("plain")),
    }


def test_values_come_as_often_as_there_are_ways(tmp_path: Path):
    path = tmp_path / "kg.nt.gz"
    steps = [("a", "p", "b"), ("a", "p", "c"), ("b", "p", "d"), ("c", "p", "d")]
    path.write_bytes(gzip.compress("".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in steps).encode()))
    kg = read_kg(path)
    assert kg.values("a", "p", "p") == ["d", "d"]
    assert sorted(kg.subjects("p", "d")) == ["b", "c"]


def test_rows_in_any_order_are_the_difference():
    assert not difference([ONE, OTHER], [OTHER, ONE])
    assert difference(InOrder([ONE, OTHER]), [OTHER, ONE])


def test_a_row_too_few_too_many_or_too_often_is_another_answer():
    assert difference([ONE, OTHER], [ONE])
    assert difference([ONE], [ONE, OTHER])
    assert difference([ONE, OTHER], [ONE, ONE])
    assert difference([ONE, ONE, OTHER], [ONE, OTHER, OTHER])


def test_an_unbound_variable_is_no_value():
    assert difference([ONE], [{"film": "wd:Q1"}])
    assert difference([{"film": "wd:Q1"}], [ONE])


def test_texts_differ_by_language_and_numbers_by_value():
    assert difference([{"x": english("A")}], [{"x": Literal("A")}])
    assert difference([{"x": Literal("2", "xsd:integer")}], [{"x": decimal(2)}])
    assert not difference([{"x": decimal(2)}], [{"x": Literal("2.000", "xsd:decimal")}])
    assert difference([{"x": decimal(2)}], [{"x": Literal("2.001", "xsd:decimal")}])


def test_one_of_several_values_and_texts_in_any_order():
    either = [{"x": OneOf(frozenset({"wd:Q1", "wd:Q2"}))}]
    assert not difference(either, [{"x": "wd:Q2"}])
    assert difference(either, [{"x": "wd:Q3"}])
    joined = [{"x": Joined(("a", "b"), ", ")}]
    assert not difference(joined, [{"x": Literal("b, a")}])
    assert difference(joined, [{"x": Literal("b, a, a")}])
