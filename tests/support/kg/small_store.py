"""A handful of films in a store, and queries over them, for tests of query texts."""

import random
from typing import Any

import pyoxigraph

WD = "http://www.wikidata.org/entity/"
WDT = "http://www.wikidata.org/prop/direct/"
PREFIXES = (
    f"PREFIX wd: <{WD}> PREFIX wdt: <{WDT}> "
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
    "PREFIX skos: <http://www.w3.org/2004/02/skos/core#> PREFIX schema: <http://schema.org/> "
    "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
)
TRIPLES = """
wd:Q1 rdfs:label "King Kong"@en, "King Kong (Film)"@de; schema:description "1976 film"@en;
  skos:altLabel "Kong"@en, "The Eighth Wonder"@en, "Kong"@de; wdt:P31 wd:Q11424; wdt:P57 wd:Q3;
  wdt:P577 "1976-12-17T00:00:00Z"^^xsd:dateTime; wdt:P856 <http://films.example/kong/>.
wd:Q2 rdfs:label "King Kong"@en; schema:description "1933 film"@en; wdt:P31 wd:Q11424;
  wdt:P57 wd:Q4, wd:Q5; wdt:P577 "1933-03-02T00:00:00Z"^^xsd:dateTime.
wd:Q3 rdfs:label "John Guillermin"@en; wdt:P31 wd:Q6; wdt:P569 "1925-11-11T00:00:00Z"^^xsd:dateTime.
wd:Q4 rdfs:label "Merian C. Cooper"@mul; wdt:P31 wd:Q6; skos:altLabel "Coop"@en.
wd:Q5 rdfs:label "Schoedsack"; wdt:P31 wd:Q6.
wd:Q6 rdfs:label "Mensch"@de.
"""
LABELS = {
    "Q1": '"King Kong"@en',
    "Q2": '"King Kong"@en',
    "Q3": '"John Guillermin"@en',
    "Q4": '"Merian C. Cooper"@mul',
    "Q5": '"Schoedsack"',
}
"""What the label service says in English; others are called by the last part of their IRI."""

Row = tuple[tuple[str, str], ...]


def small_store() -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.update(f"{PREFIXES} INSERT DATA {{ {TRIPLES} }}")
    return store


def rows(store: pyoxigraph.Store, text: str) -> list[Row]:
    """The rows of a SELECT, sorted; in each the bound variables, sorted, with their terms."""
    found: Any = store.query(text)
    names = [variable.value for variable in found.variables]
    return sorted(
        tuple(sorted((n, str(t)) for n, t in zip(names, row, strict=True) if t is not None))
        for row in found
    )


def label(term: str) -> str:
    """What the label service calls a term; both as N-Triples write them."""
    if term.startswith("<"):
        name = term[1:-1].rpartition("/")[2]
        return LABELS.get(name, f'"{name or term[1:-1]}"')
    return term.partition("^^")[0].partition("@")[0]


def random_group(draw: random.Random, level: int = 0) -> str:
    """What may stand between two braces."""
    parts = [_pattern(draw)]
    for _ in range(draw.randint(0, 3 - level)):
        parts.append(_part(draw, level))
    return " ".join(parts)


def random_groups(store: pyoxigraph.Store, count: int) -> list[str]:
    """Groups that some rows match, but not hundreds."""
    found: list[str] = []
    seed = 0
    while len(found) < count:
        group = random_group(random.Random(seed))
        if 0 < len(rows(store, f"{PREFIXES} SELECT * {{ {group} }}")) < 300:
            found.append(group)
        seed += 1
    return found


def _pattern(draw: random.Random) -> str:
    subject = draw.choice(["?a", "?b", "?c"])
    prop = draw.choice(["wdt:P57", "wdt:P31", "wdt:P577", "?p", "wdt:P57/wdt:P31", "wdt:P57*"])
    return f"{subject} {prop} {draw.choice(['?a', '?b', '?c', 'wd:Q6', 'wd:Q4'])} ."


def _part(draw: random.Random, level: int) -> str:
    kinds = ["pattern", "optional", "union", "minus", "values", "filter", "exists", "select"]
    kind = draw.choice(kinds if level < 2 else kinds[:1])
    inner = random_group(draw, level + 1) if level < 2 else ""
    return {
        "pattern": _pattern(draw),
        "optional": f"OPTIONAL {{ {inner} }}",
        "union": f"{{ {inner} }} UNION {{ {_pattern(draw)} }}",
        "minus": f"MINUS {{ {inner} }}",
        "values": "VALUES (?a ?b) { (wd:Q1 UNDEF) (wd:Q2 wd:Q4) }",
        "filter": "FILTER(!BOUND(?c) || STR(?c) > 'h') # a test\n",
        "exists": f"FILTER NOT EXISTS {{ {inner} }}",
        "select": f"{{ SELECT ?a ?c {{ {inner} }} }}",
    }[kind]
