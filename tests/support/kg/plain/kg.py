"""A world's triples in plain Python, to work out what queries must answer without SPARQL."""

import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

PREFIXES = {
    "http://www.wikidata.org/entity/statement/": "wds:",
    "http://www.wikidata.org/entity/": "wd:",
    "http://www.wikidata.org/prop/direct/": "wdt:",
    "http://www.wikidata.org/prop/statement/": "ps:",
    "http://www.wikidata.org/prop/qualifier/": "pq:",
    "http://www.wikidata.org/prop/": "p:",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs:",
    "http://www.w3.org/2004/02/skos/core#": "skos:",
    "http://schema.org/": "schema:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://wikiba.se/ontology#": "wikibase:",
    "http://www.w3.org/2001/XMLSchema#": "xsd:",
}
FILM, HUMAN, NOVEL, SONG = "wd:Q11424", "wd:Q5", "wd:Q8261", "wd:Q7366"
_LINE = re.compile(r'<(.+?)> <(.+?)> (?:<(.+)>|(".*")(?:@([a-z-]+)|\^\^<(.+)>)?) \.')


class Literal(NamedTuple):
    """A literal; `datatype` is empty for plain strings and for those with a language."""

    text: str
    datatype: str = ""
    language: str = ""


Node = str | Literal
Triple = tuple[str, str, Node]


def shorten(iri: str) -> str:
    """The IRI with its prefix, or as it is."""
    fitting = (long for long in PREFIXES if iri.startswith(long))
    long = next(fitting, "")
    return PREFIXES[long] + iri.removeprefix(long) if long else iri


def english(text: str) -> Literal:
    return Literal(text, language="en")


def integer(value: int) -> Literal:
    return Literal(str(value), "xsd:integer")


def decimal(value: Decimal | int) -> Literal:
    return Literal(f"{value:f}", "xsd:decimal")


def date(text: str) -> Literal:
    return Literal(text, "xsd:dateTime")


def text(node: Node) -> str:
    assert isinstance(node, Literal)
    return node.text


def amount(node: Node) -> Decimal:
    return Decimal(text(node))


def year(node: Node) -> int:
    return int(text(node)[:4])


@dataclass(frozen=True, eq=False)
class PlainKg:
    """A set of triples, by subject and by object; hashed by identity, to be a key of caches."""

    triples: frozenset[Triple]
    forward: dict[tuple[str, str], list[Node]] = field(default_factory=lambda: defaultdict(list))
    backward: dict[tuple[str, Node], list[str]] = field(default_factory=lambda: defaultdict(list))

    def values(self, subject: Node, *path: str) -> list[Node]:
        """The ends of all ways from the subject along the properties, each as often as it is."""
        ends = [subject]
        for step in path:
            ends = [o for s in ends if isinstance(s, str) for o in self.forward.get((s, step), ())]
        return ends

    def things(self, subject: Node, *path: str) -> list[str]:
        """Those of the values that are IRIs."""
        return [value for value in self.values(subject, *path) if isinstance(value, str)]

    def subjects(self, prop: str, value: Node) -> list[str]:
        return self.backward.get((prop, value), [])

    def pairs(self, prop: str) -> list[tuple[str, Node]]:
        """Subject and value of each statement."""
        return sorted(((s, o) for s, p, o in self.triples if p == prop), key=str)

    def links(self, prop: str) -> list[tuple[str, str]]:
        """Subject and value of each statement whose value is an IRI."""
        return [(s, o) for s, o in self.pairs(prop) if isinstance(o, str)]

    def all(self, kind: str) -> list[str]:
        return self.subjects("wdt:P31", kind)

    def label(self, thing: Node) -> Literal:
        """The one label. Raises ValueError where there is none, or another."""
        (label,) = self.values(thing, "rdfs:label")
        assert isinstance(label, Literal)
        return label

    def description(self, thing: Node) -> Literal:
        (described,) = self.values(thing, "schema:description")
        assert isinstance(described, Literal)
        return described


def read_kg(path: Path) -> PlainKg:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        kg = PlainKg(frozenset(map(_triple, lines)))
    for s, p, o in sorted(kg.triples, key=str):
        kg.forward[s, p].append(o)
        kg.backward[p, o].append(s)
    return kg


def _triple(line: str) -> Triple:
    match = _LINE.fullmatch(line.rstrip("\n"))
    assert match, line
    subject, prop, iri, quoted, language, datatype = match.groups()
    if iri is not None:
        return shorten(subject), shorten(prop), shorten(iri)
    literal = Literal(json.loads(quoted), shorten(datatype or ""), language or "")
    return shorten(subject), shorten(prop), literal
