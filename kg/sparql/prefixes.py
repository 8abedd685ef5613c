"""Prefixes that Wikidata's query service knows; names written in full, and IRIs written short."""

import re
from collections.abc import Mapping
from urllib.parse import urljoin

from branchwise.base.text import one_line
from branchwise.kg.sparql.strings import plain
from branchwise.kg.sparql.tokens import Token

WIKIDATA = "http://www.wikidata.org/"
_PROP = WIKIDATA + "prop/"
KNOWN: Mapping[str, str] = {
    "wd": WIKIDATA + "entity/",
    "wds": WIKIDATA + "entity/statement/",
    "wdt": _PROP + "direct/",
    "wdtn": _PROP + "direct-normalized/",
    "wdno": _PROP + "novalue/",
    "wdref": WIKIDATA + "reference/",
    "wdv": WIKIDATA + "value/",
    "wdata": WIKIDATA + "wiki/Special:EntityData/",
    "p": _PROP,
    "ps": _PROP + "statement/",
    "psv": _PROP + "statement/value/",
    "psn": _PROP + "statement/value-normalized/",
    "pq": _PROP + "qualifier/",
    "pqv": _PROP + "qualifier/value/",
    "pqn": _PROP + "qualifier/value-normalized/",
    "pr": _PROP + "reference/",
    "prv": _PROP + "reference/value/",
    "prn": _PROP + "reference/value-normalized/",
    "wikibase": "http://wikiba.se/ontology#",
    "bd": "http://www.bigdata.com/rdf#",
    "hint": "http://www.bigdata.com/queryHints#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "schema": "http://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "prov": "http://www.w3.org/ns/prov#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "cc": "http://creativecommons.org/ns#",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "ontolex": "http://www.w3.org/ns/lemon/ontolex#",
}
RDF_TYPE = KNOWN["rdf"] + "type"
LABEL_SERVICE = KNOWN["wikibase"] + "label"
_ESCAPE = re.compile(r"\\(.)")


class QueryPrefixes:
    """How the names of one query are written in full.

    `declared`: the prefixes that the query declares (the last declaration counts), with what it
    leaves to `KNOWN` beside them; `unknown`: tokens whose prefix is in neither.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.base = ""
        self.declared: dict[str, str] = {}
        self.prologue_end = self._read_prologue(tokens)
        self.unknown: list[Token] = []
        self.missing: dict[str, str] = {}
        for token in tokens[self.prologue_end :]:
            self._note(token)

    def _read_prologue(self, tokens: list[Token]) -> int:
        at = 0
        while True:
            if tokens[at].says("BASE") and tokens[at + 1].kind == "iri":
                self.base = urljoin(self.base, tokens[at + 1].text[1:-1])
                at += 2
            elif tokens[at].says("PREFIX") and [t.kind for t in tokens[at + 1 : at + 3]] == [
                "name",
                "iri",
            ]:
                prefix = tokens[at + 1].text.removesuffix(":")
                self.declared[prefix] = self._absolute(tokens[at + 2].text)
                at += 3
            else:
                return at

    def _note(self, token: Token) -> None:
        if token.kind != "name":
            return
        prefix = token.text.partition(":")[0]
        if prefix in self.declared:
            return
        if prefix in KNOWN:
            self.missing[prefix] = KNOWN[prefix]
        else:
            self.unknown.append(token)

    def _absolute(self, bracketed: str) -> str:
        iri = bracketed[1:-1]
        try:
            return urljoin(self.base, iri) if self.base else iri
        except ValueError:
            return iri

    def iri(self, token: Token) -> str | None:
        """The IRI that a token stands for; None where it stands for none."""
        if token.kind == "iri":
            return self._absolute(token.text)
        if token.kind == "word" and token.text == "a":
            return RDF_TYPE
        if token.kind != "name":
            return None
        prefix, _, local = token.text.partition(":")
        space = self.declared.get(prefix, KNOWN.get(prefix))
        return None if space is None else space + _ESCAPE.sub(r"\1", local)

    def full(self, token: Token) -> str:
        """The token with its IRI in full, as SPARQL text; a string as all parsers read it."""
        if token.kind == "string":
            return plain(token.text)
        iri = self.iri(token)
        return token.text if iri is None else f"<{iri}>"


_PREFIXES = {iri: prefix for prefix, iri in KNOWN.items()}
_MOST_CHARACTERS = 200
_IRI = re.compile(r"<([^<>\s]*?)([\w-]*)>")


def shorten(text: str) -> str:
    """SPARQL with prefixes for the IRIs that have one, in one line of at most 200 characters."""
    short = one_line(_IRI.sub(_short, text))
    return short if len(short) <= _MOST_CHARACTERS else f"{short[:_MOST_CHARACTERS]}…"


def _short(iri: re.Match[str]) -> str:
    prefix = _PREFIXES.get(iri[1])
    return iri[0] if prefix is None else f"{prefix}:{iri[2]}"
