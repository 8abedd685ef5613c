"""Syntax errors point at the first word that cannot stand where it does, and say what to do."""

import pytest

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.prepare import prepare

# The query, with ¦ before the word that the error must point at, and a part of the remedy.
BROKEN = {
    "missing brace": ("SELECT ?x WHERE { ?x wdt:P31 wd:Q5¦", 'add the missing "}"'),
    "missing parenthesis": ("ASK { ?x ?y ?z FILTER(?z > 3 ¦}", '"}" inside "("'),
    "one brace too many": ("ASK { ?x ?y ?z } ¦}", "nothing is open"),
    "unknown prefix": ("ASK { ?x ¦dbo:director ?z }", '"dbo:" is not declared'),
    "a word for a property": ("ASK { ?x ¦director ?z }", "write a property as wdt:P"),
    "a number without prefix": ("ASK { ?x wdt:P31 ¦Q5 }", "an entity as wd:Q"),
    "two parts": ("ASK { ?x wdt:P31 ¦}", "one is missing"),
    "four parts": ("ASK { ?x wdt:P31 ?y ¦?z }", 'end a triple pattern with "."'),
    "no parentheses around a filter": ("ASK { ?x ?y ?z FILTER ¦?z > 3 }", "in parentheses"),
    "not exists alone": ("ASK { ?x ?y ?z ¦NOT EXISTS { ?x ?y 1 } }", "FILTER NOT EXISTS"),
    "a filter outside": ("SELECT * { ?x ?y ?z } ¦FILTER(?z > 3)", "inside the braces"),
    "limit inside": ("SELECT * { ?x ?y ?z . ¦LIMIT 3 }", 'after the last "}"'),
    "limit without number": ("SELECT * { ?x ?y ?z } LIMIT ¦?n", "take a number"),
    "an aggregate without name": ("SELECT ¦COUNT(?x) AS ?n { ?x ?y ?z }", "(COUNT(?x) AS ?n)"),
    "order behind": ("SELECT * { ?x ?y ?z } ORDER BY ?x DESC¦", "write DESC(?x)"),
    "a quote in a string": ('ASK { ?x ?y "say "¦hello"" }', "quotation mark"),
    "a string that goes on": ('ASK { ?x rdfs:label ¦"King Kong }', "quotation mark"),
    "an unknown function": ("ASK { ?x ?y ?z FILTER(¦FOO(?z)) }", 'no function "FOO"'),
    "a variable that is bound": ("ASK { ?x ?y ?z BIND(1 AS ¦?z) }", "new name after AS"),
    "neither key nor aggregate": (
        "SELECT ?x ¦?z (COUNT(?y) AS ?n) { ?x ?y ?z } GROUP BY ?x",
        "?z is a column and no key",
    ),
    "no query": ("¦King Kong", "begins with SELECT"),
    "union without braces": ("ASK { ?x wdt:P31 wd:Q5 ¦UNION ?x wdt:P31 wd:Q6 }", "in braces"),
    "a word for and": ("ASK { ?x ?y ?z FILTER(?y = 1 ¦AND ?z = 2) }", "&&"),
    "equal twice": ("ASK { ?x ?y ?z FILTER(?y =¦= 1) }", "= once"),
    "like": ("ASK { ?x ?y ?z FILTER(?y ¦LIKE 'a%') }", "CONTAINS"),
    "top": ("SELECT ¦TOP 5 ?x { ?x ?y ?z }", "LIMIT"),
    "a comparison for a value": ("ASK { ?x wdt:P569 ¦> 1980 }", "in a FILTER"),
    "a remark": ("ASK { ?x wdt:P57 wd:Q3 ¦(John) }", "comment"),
    "where without braces": ("SELECT ?x WHERE ¦?x wdt:P31 wd:Q5", "WHERE { ... }"),
    "a prefix without brackets": ("¦PREFIX x: http://films.example/", "angle brackets"),
    "an unfinished name": ("ASK { ?x ¦<director> ?z }", "complete"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_error_points_and_helps(name: str) -> None:
    marked, remedy = BROKEN[name]
    before, _, after = marked.partition("¦")
    text = f"# Kong\n{before}{after}"
    with pytest.raises(KgError) as error:
        prepare(text)
    head, line, caret = str(error.value).split("\n")
    assert error.value.kind == "syntax"
    assert head.startswith(f"syntax error at line 2, column {len(before) + 1}: ")
    assert remedy in head
    assert line == f"{before}{after}"
    assert caret == " " * len(before) + "^"


def test_a_long_line_is_shown_around_the_error() -> None:
    with pytest.raises(KgError) as error:
        prepare(
            "SELECT * { " + "?x wdt:P57 ?y . " * 40 + "?x director ?y . " + "?a ?b ?c ." * 40 + "}"
        )
    _, line, caret = str(error.value).split("\n")
    assert len(line) == 160
    assert line[len(caret) - 1 :].startswith("director")


def test_an_error_after_what_was_rewritten_is_where_it_was() -> None:
    query = (
        "SELECT ?x, ?xLabel {\r\n SERVICE wikibase:label { bd:serviceParam wikibase:language 'en' }"
        " # labels\r\n  ?x wdt:P577 '1976'^^xsd:dateTime . ?x director ?y }"
    )
    with pytest.raises(KgError) as error:
        prepare(query)
    assert "line 3, column 41" in str(error.value)
