"""What preparing adds, removes, and tells about a query."""

import pytest

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.prepare import prepare
from branchwise.kg.sparql.structure import KNOWN
from support.kg.small_store import WD, WDT, rows, small_store

STORE = small_store()
FILMS = "SELECT ?film WHERE { ?film wdt:P31 wd:Q11424 }"
BOTH = [(("film", f"<{WD}Q1>"),), (("film", f"<{WD}Q2>"),)]


def found(query: str) -> list[tuple[tuple[str, str], ...]]:
    return rows(STORE, prepare(query).text)


def test_prefixes_that_are_used_and_not_declared_are_added() -> None:
    text = prepare(FILMS).text
    assert text == f"PREFIX wd: <{WD}>\nPREFIX wdt: <{WDT}>\n{FILMS}"


def test_prefixes_that_are_declared_stay_as_they_are() -> None:
    query = f"PREFIX wdt: <urn:own:>\n{FILMS}"
    assert prepare(query).text == f"PREFIX wd: <{WD}>\n{query}"
    assert prepare(query).patterns == (f"?film <urn:own:P31> <{WD}Q11424>",)


@pytest.mark.parametrize(
    "query",
    [
        f"```sparql\n{FILMS}\n```",
        f"Here it is:\n```\n{FILMS}\n```\nIt finds films.",
        f"```sparql\n{FILMS}",
        f"sparql {FILMS}",
        f"\ufeff{FILMS};",
        FILMS.replace(" ", "\r\n"),
        FILMS.replace(" ", " # a comment with } and ' and SERVICE <x>\n"),
        FILMS.replace("wdt:P31", "\\u0077dt:P31"),
        FILMS.replace("wdt:P31", f"<{WDT}P31>"),
        FILMS.replace("}", "; }"),
        FILMS.replace("SELECT ?film", "select distinct ?film , "),
        FILMS.replace("}", '. hint:Prior hint:runLast true . hint:Query hint:optimizer "None" }'),
        FILMS + " OFFSET 0 LIMIT 9",
        FILMS + " LIMIT 9 OFFSET 0",
    ],
)
def test_ways_to_write_a_query(query: str) -> None:
    assert found(query) == BOTH


@pytest.mark.parametrize(
    "condition",
    [
        '?date > "1970-01-01"^^xsd:dateTime', '?date > "1970-01-01T00:00:00"^^xsd:dateTime',
        '?date > "+1970-01-01T00:00:00Z"^^xsd:dateTime', '"1970-01-01"^^xsd:date < ?date',
        '(?date > "1970-01-01"^^xsd:date)', '?date >= xsd:dateTime("1970-01-01")',
        'xsd:date(?date) > "1970-01-01"^^xsd:date', "YEAR(?date) > 1970",
    ],
)  # fmt: skip
def test_ways_to_write_a_day(condition: str) -> None:
    query = f"SELECT ?film {{ ?film wdt:P577 ?date FILTER({condition}) }}"
    assert found(query) == BOTH[:1]
    once = prepare(query).text
    assert prepare(once).text == once


def test_having_may_name_a_column() -> None:
    query = "SELECT ?film (COUNT(?d) AS ?n) { ?film wdt:P57 ?d } GROUP BY ?film HAVING (?n > 1)"
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    assert found(query) == [(("film", f"<{WD}Q2>"), ("n", f'"2"^^{integer}'))]


@pytest.mark.parametrize(
    ("query", "form", "variables"),
    [
        ("SELECT ?x (COUNT(?y) AS ?n) ?z { ?x ?z ?y } GROUP BY ?x ?z", "SELECT", ("x", "n", "z")),
        ("select * { ?b wdt:P57 ?a OPTIONAL { ?a ?p ?c } }", "SELECT", ("b", "a", "p", "c")),
        ("ASK { ?x ?y ?z }", "ASK", None),
        ("PREFIX x: <urn:x> CONSTRUCT { ?x a ?y } WHERE { ?x x:a ?y }", "CONSTRUCT", None),
        ("CONSTRUCT WHERE { ?x wdt:P57 ?y }", "CONSTRUCT", None),
        ("DESCRIBE wd:Q1", "DESCRIBE", None),
        ("DESCRIBE ?x WHERE { ?x wdt:P57 ?y }", "DESCRIBE", None),
    ],
)
def test_form_and_columns(query: str, form: str, variables: tuple[str, ...] | None) -> None:
    prepared = prepare(query)
    assert (prepared.form, prepared.variables) == (form, variables)


def test_patterns_are_those_that_every_solution_must_match() -> None:
    prepared = prepare(
        """BASE <http://films.example/>
        SELECT ?x WHERE {
          ?x a wd:Q5 ; wdt:P569 "1933-03-02"^^xsd:dateTime, ?born .
          { ?x wdt:P31/wdt:P279* <kind> }
          ?x p:P39 [ ps:P39 wd:Q1 ; pq:P580 ?start ] ; rdfs:label "Kong"@en .
          OPTIONAL { ?x wdt:P1 ?o } MINUS { ?x wdt:P2 ?o }
          { ?x wdt:P3 ?o } UNION { ?x wdt:P4 ?o }
          FILTER NOT EXISTS { ?x wdt:P5 ?o }
          { SELECT ?x { ?x wdt:P6 ?o } }
          SERVICE wikibase:label { bd:serviceParam wikibase:language "en" }
        }"""
    )
    rdf, prop = KNOWN["rdf"], KNOWN["p"]
    assert prepared.patterns == (
        f"?x <{rdf}type> <{WD}Q5>",
        f'?x <{WDT}P569> "1933-03-02T00:00:00Z"^^<{KNOWN["xsd"]}dateTime>',
        f"?x <{WDT}P569> ?born",
        f"?x <{WDT}P31>/<{WDT}P279>* <http://films.example/kind>",
        f"?x <{prop}P39> _:bracket1",
        f"_:bracket1 <{prop}statement/P39> <{WD}Q1>",
        f"_:bracket1 <{prop}qualifier/P580> ?start",
        f'?x <{KNOWN["rdfs"]}label> "Kong"@en',
    )
    assert prepare(f"ASK {{ {' . '.join(prepared.patterns)} }}").patterns == prepared.patterns


@pytest.mark.parametrize(
    ("group", "alternatives"),
    [
        ("?x wdt:P1 ?y OPTIONAL { ?x wdt:P2 ?y }", ()),
        ("{ ?x wdt:P1 ?y } UNION { ?x wdt:P2 ?y . ?y wdt:P3 ?z }", ("1", "2 3")),
        ("{ ?x wdt:P1 ?y } UNION { VALUES ?x { 1 } } { ?x wdt:P3 ?y } UNION { }", ("1", "")),
        ("?x wdt:P1 ?y . { { ?x wdt:P2 ?y } UNION { ?x wdt:P3 ?y } }", ("2", "3")),
        ("{ { ?x wdt:P1 ?y } UNION { ?x wdt:P2 ?y } } UNION { ?x wdt:P3 ?y }", ("1", "2", "3")),
        ("{ ?x wdt:P1 ?y } UNION { SELECT ?x { ?x wdt:P2 ?y } }", ("1", "2")),
        ("VALUES ?x { wd:Q1 } { SELECT ?x { ?x wdt:P1 ?y . ?y wdt:P2 ?z } }", ("1 2",)),
        ("SELECT ?x { { ?x wdt:P1 ?y } UNION { ?x wdt:P2 ?y } }", ("1", "2")),
        ("{ SELECT ?x { ?x wdt:P1 ?y } } { SELECT ?x { ?x wdt:P2 ?y } }", ()),
        ("OPTIONAL { { ?x wdt:P1 ?y } UNION { ?x wdt:P2 ?y } } MINUS { ?x wdt:P3 ?y }", ()),
    ],
)
def test_alternatives_are_branches_or_the_only_subselect(group, alternatives):
    numbers = [
        " ".join(text.split(f"<{WDT}P")[1][0] for text in branch)
        for branch in prepare(f"SELECT * {{ {group} }}").alternatives
    ]
    assert tuple(numbers) == alternatives


def test_mentions_tell_which_numbers_stand_where() -> None:
    mentioned = prepare(
        """SELECT * { ?film wdt:P31 wd:Q11424 ; p:P166/pq:P585 ?when .
           OPTIONAL { ?film wdt:P57 ?director } VALUES ?other { wd:Q42 } }"""
    ).mentioned
    assert [(m.id, m.pattern, m.variables) for m in mentioned] == [
        ("P31", 0, ("film",)), ("Q11424", 0, ("film",)), ("P166", 1, ("film", "when")),
        ("P585", 1, ("film", "when")), ("P57", None, ("film", "director")), ("Q42", None, ()),
    ]  # fmt: skip
    assert [m.iri for m in mentioned[:2]] == [f"{WDT}P31", f"{WD}Q11424"]


def test_a_name_that_is_no_number_is_not_mentioned() -> None:
    assert prepare("ASK { wd:King wdt:P ?x ; rdfs:label 'Q5' }").mentioned == ()


def test_errors_hold_no_more_than_a_line_of_the_query() -> None:
    with pytest.raises(KgError) as error:
        prepare("SELECT * {\n" + "?x ?y ?z .\n" * 50 + "?x ?y " + "(" * 3 + " }\n" + "#" * 999)
    assert len(str(error.value)) < 400
