"""Queries to a graph here, and what an endpoint or a Wikibase answers to ours."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fuzzing import forms
from fuzzing.ground import SLICE, Ground
from fuzzing.servers import Answer, serving
from fuzzing.target import Check, Opened, Target
from fuzzing.verdicts import FoundError, Verdict, plain

_QUERIES_SECONDS = 3.0
_SPARQL = (
    b"SELECT ?thing ?thingLabel WHERE { ?thing wdt:P31 wd:Q5 . "
    b'SERVICE wikibase:label { bd:serviceParam wikibase:language "en" } } LIMIT 5',
    b"SELECT DISTINCT ?a (COUNT(?b) AS ?n) WHERE { ?a wdt:P57|wdt:P161 ?b . "
    b'OPTIONAL { ?a rdfs:label ?l FILTER(LANG(?l) = "en") } } GROUP BY ?a HAVING(?n > 1) '
    b"ORDER BY DESC(?n) LIMIT 3",
    b"ASK { VALUES ?x { wd:Q5 } ?y wdt:P31/wdt:P279* ?x . FILTER NOT EXISTS { ?y wdt:P570 [] } }",
    b"CONSTRUCT { ?a rdfs:label ?l } WHERE { ?a rdfs:label ?l } LIMIT 2",
    b"DESCRIBE wd:Q5",
    b"SELECT * WHERE { { SELECT ?a { ?a ?p ?o } LIMIT 2 } UNION { BIND(1 + 1 AS ?a) } MINUS { ?a a "
    b'?t } FILTER(REGEX(STR(?a), "^h.*$", "i") && ?a IN (1, <x>)) }',
    b"PREFIX a: <http://a/> SELECT ?s { GRAPH <g> { ?s a:b 'x'@en-gb, 1.5e3, true } }",
)


def _result(*columns: str, rows: int = 2) -> bytes:
    cells = {
        "uri": {"type": "uri", "value": "http://www.wikidata.org/entity/Q42"},
        "text": {"type": "literal", "value": "King Kong", "xml:lang": "en"},
        "number": {
            "type": "typed-literal",
            "value": "7",
            "datatype": "http://www.w3.org/2001/XMLSchema#integer",
        },
        "blank": {"type": "bnode", "value": "b0"},
    }
    kinds = list(cells)
    row = {name: cells[kinds[n % len(kinds)]] for n, name in enumerate(columns)}
    value = {"head": {"vars": list(columns)}, "results": {"bindings": [row] * rows}}
    return json.dumps(value).encode()


_JSON, _XML = b"application/sparql-results+json", b"application/sparql-results+xml"
_RESULTS = [
    *(
        b"200 " + _JSON + b"\n" + _result(*columns)
        for columns in (
            ("thing", "label"),
            ("thing", "number"),
            ("entity", "text", "n", "b"),
            ("thing", "type", "class"),
            ("s",),
        )
    ),
    b"200 " + _JSON + b'\n{"head": {}, "boolean": true}',
    b"200 " + _JSON + b'\n{"head": {"vars": ["a"]}, "results": {"bindings": []}}',
    b'200 text/turtle\n<http://a/b> <http://a/c> "x"@en .\n',
    b'200 application/n-triples\n<http://a/b> <http://a/c> "x"^^<http://a/d> .\n',
    b"200 "
    + _XML
    + b'\n<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
    b'<head><variable name="thing"/></head><results><result><binding name="thing">'
    b"<uri>http://a/b</uri></binding></result></results></sparql>\n",
    b'200 application/rdf+xml\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description rdf:about="http://a/b"><p xmlns="http://a/">x</p></rdf:Description></rdf:RDF>',
    b'400 text/plain\nMALFORMED QUERY: Encountered "}" at line 1, column 20.\n',
    b"500 text/html\n<html><title>Error</title><body>java.util.concurrent.TimeoutException</body>",
]
_WIKIBASE = [
    b"200 application/json\n" + json.dumps(value).encode()
    for value in (
        {
            "searchinfo": {"search": "x"},
            "search": [
                {
                    "id": "Q42",
                    "concepturi": "http://www.wikidata.org/entity/Q42",
                    "label": "King Kong",
                    "description": "film",
                    "match": {"type": "label", "language": "en", "text": "King Kong"},
                }
            ],
        },
        {
            "search": [],
            "query": {
                "general": {"wikibase-conceptbaseuri": "http://x/"},
                "pages": [
                    {"title": "Q1", "index": 1, "entityterms": {"label": ["A"]}},
                    {"title": "Item:Q2", "index": 2, "entityterms": {"description": ["b"]}},
                ],
            },
        },
        {"error": {"code": "maxlag", "info": "Waiting for 10.0.0.1: 6 seconds lagged."}},
    )
]


@contextmanager
def _asked(ground: Ground, here: Path) -> Iterator[Check]:
    from branchwise.kg.answers import KgError
    from branchwise.kg.open import open_kg

    kg = open_kg(str(ground.kg))

    def check(data: bytes) -> Verdict:
        text, began = data.decode("utf-8", "surrogateescape"), time.monotonic()
        try:
            kg.query(text, _QUERIES_SECONDS)
        except KgError as error:
            return plain(str(error), "refused")
        finally:
            if (took := time.monotonic() - began) > 10 * _QUERIES_SECONDS:
                raise FoundError(f"a query with {_QUERIES_SECONDS} seconds took {took:.0f}")
        return "accepted"

    try:
        yield check
    finally:
        kg.close()


def answered_by(search_api: bool = False) -> Callable[[Ground, Path], Opened]:
    """Every request gets the input: queries of each form, searches, and facts for questions."""

    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        from branchwise.kg.open import RemoteKg, RemoteSettings
        from branchwise.kg.remote.client import ClientSettings
        from branchwise.kg.sparql.prepare import prepare

        with serving() as server:
            api = f"{server.url}/w/api.php" if search_api else None
            client = ClientSettings(pause=0.0)
            settings = RemoteSettings(search_api=api, client=client)
            # Queries of ours need no process that can be killed.
            kg = RemoteKg(server.url, settings, lambda text, _: prepare(text))
            asks = _searches(kg) if search_api else _all_asks(kg)

            def check(data: bytes) -> Verdict:
                # Status and media type stand on the first line.
                head, _, body = data.partition(b"\n")
                status, _, media = head.decode("latin-1").partition(" ")
                server.answer = Answer(body, media, int(status))
                answered = [_is_answered(ask) for ask in asks]
                return "accepted" if any(answered) else "refused"

            try:
                yield check
            finally:
                kg.close()

    return opened


def _is_answered(ask: Callable[[], object]) -> bool:
    from branchwise.kg.answers import KgError

    try:
        ask()
    except KgError as error:
        plain(str(error), "refused")
        return False
    return True


def _searches(kg: Any) -> list[Callable[[], object]]:
    return [lambda: kg.search("King Kong"), lambda: kg.search("film", "property")]


def _all_asks(kg: Any) -> list[Callable[[], object]]:
    from branchwise.kg.schema import load_domain, merge
    from branchwise.worlds.questions.endpoint_facts import EndpointFacts

    schema = merge({"films": load_domain(SLICE / "films.yaml")})
    relation = next(iter(schema.relations))

    def facts() -> object:
        found = EndpointFacts(kg, schema, _QUERIES_SECONDS)
        kind = next(iter(schema.concrete))
        found.type_of("Q42")
        found.label("Q42")
        found.related(relation, False, ["Q42"])
        return found.members(kind)

    queries = (
        "SELECT ?thing WHERE { ?thing wdt:P31 wd:Q5 } LIMIT 3",
        "ASK { ?thing wdt:P31 wd:Q5 }",
        "CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c } LIMIT 3",
    )
    return [
        *((lambda text=text: kg.query(text, _QUERIES_SECONDS)) for text in queries),
        *_searches(kg),
        facts,
    ]


TARGETS = (
    Target("sparql", forms.query, lambda _: _SPARQL, _asked, needs=("kg",)),
    Target("sparql-results", forms.after_head, lambda _: _RESULTS, answered_by()),
    Target("wikibase-answers", forms.after_head, lambda _: _WIKIBASE, answered_by(True)),
)
