"""What a query is made of: prefixes, selects, groups, triple patterns; each knows where it stands.

Text that is no SPARQL gives some structure, too: its errors are left to the parsers that check the
grammar, whose trees do not say where each part stands.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urljoin

from branchwise.base.text import one_line
from branchwise.kg.sparql.tokens import Span, Token, plain

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
    """How a query's names are written in full. `declared`: its own prefixes (the last declaration
    counts); `missing`: those of `KNOWN` that it uses; `unknown`: tokens with another."""

    def __init__(self, tokens: list[Token]) -> None:
        self.base = ""
        self.declared: dict[str, str] = {}
        self.unknown: list[Token] = []
        self.missing: dict[str, str] = {}
        at = 0
        while True:
            kinds = [token.kind for token in tokens[at + 1 : at + 3]]
            if tokens[at].says("BASE") and kinds[0] == "iri":
                self.base = urljoin(self.base, tokens[at + 1].text[1:-1])
                at += 2
            elif tokens[at].says("PREFIX") and kinds == ["name", "iri"]:
                prefix = tokens[at + 1].text.removesuffix(":")
                self.declared[prefix] = self._absolute(tokens[at + 2].text)
                at += 3
            else:
                break
        self.prologue_end = at
        for token in tokens[at:]:
            prefix = token.text.partition(":")[0]
            if token.kind != "name" or prefix in self.declared:
                continue
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


INSTANT, DAY = KNOWN["xsd"] + "dateTime", KNOWN["xsd"] + "date"
_LOOSE = re.compile(r"(['\"])\+?(-?[0-9]{4,}-[0-9]{2}-[0-9]{2})(T[0-9:.]+)?(Z|[+-][0-9:]{5})?\1")


def whole_instant(string: str) -> str:
    """A quoted instant with its time of day and time zone; anything else as it is."""
    match = _LOOSE.fullmatch(string)
    if match is None:
        return string
    _, day, time, zone = match.groups()
    return f'"{day}{time or "T00:00:00"}{zone or "Z"}"'


def is_day(string: str) -> bool:
    match = _LOOSE.fullmatch(string)
    return match is not None and match[3] is None


GroupKind = Literal["where", "plain", "optional", "union", "minus", "exists", "graph", "service"]


@dataclass(frozen=True)
class Triple:
    """A triple pattern. `text`: with full IRIs; `tokens`: as written; `start`: of its property."""

    text: str
    subject: str
    predicate: str
    object: str
    tokens: tuple[Token, ...]
    start: int

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables, each once, in order."""
        return names_of(self.tokens)


@dataclass(eq=False)
class GroupPattern:
    """What stands between two braces. `start`: of the first; `end`: past the last, in characters.

    `reads`: variables in its own FILTERs and BINDs; `before`: where the first BIND begins that
    reads a variable; `sets`: variables that its BINDs and VALUES bind; `always`: those that VALUES
    bind in every row; `head`: where the word before the first brace begins; `open_before`: a triple
    pattern ends there, without a dot; `filters`: its FILTERs, with what these read.
    """

    kind: GroupKind
    parent: "GroupPattern | None"
    start: int
    end: int = 0
    head: int = 0
    open_before: bool = False
    triples: list[Triple] = field(default_factory=list)
    groups: list["GroupPattern"] = field(default_factory=list)
    select: "SelectQuery | None" = None
    reads: list[Token] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    always: list[str] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    filters: list[tuple[Span, tuple[str, ...]]] = field(default_factory=list)

    def visible(self) -> tuple[str, ...]:
        """Names of the variables that its solutions may bind, in order of first mention."""
        first: dict[str, int] = {}
        for triple in self.triples:
            for token in triple.tokens:
                if token.kind == "variable":
                    first.setdefault(token.text[1:], token.start)
        for name in self.sets:
            first.setdefault(name, self.end)
        for group in self.groups:
            if group.kind not in ("minus", "exists", "service"):
                for name in group.visible():
                    first.setdefault(name, group.start)
        if self.select is not None:
            for name in self.select.columns():
                first.setdefault(name, self.start)
        return tuple(sorted(first, key=lambda name: first[name]))

    def certain(self, before: int | None = None) -> set[str]:
        """Names of variables that every solution binds; some such may be missing. With `before`,
        those that are bound in triple patterns before that character."""
        if before is not None:
            return {n for triple in self.triples if triple.start < before for n in triple.variables}
        bound = {name for triple in self.triples for name in triple.variables}
        bound.update(self.always)
        branches = [group.certain() for group in self.groups if group.kind == "union"]
        if branches:
            bound |= set.intersection(*branches)
        for group in self.groups:
            if group.kind == "plain":
                bound |= group.certain()
        if self.select is not None:
            bound |= set(self.select.columns()) & self.select.where.certain()
        return bound

    def nested(self) -> Iterator["GroupPattern"]:
        """This group and those in it, but not those of selects in it."""
        yield self
        for group in self.groups:
            yield from group.nested()


@dataclass(eq=False)
class SelectQuery:
    """A SELECT, or an ASK, CONSTRUCT or DESCRIBE.

    `named`: names of its columns; `plain`: those that are variables; `star`: its `*`, and
    `supplied`, what that shows beside the group's variables; `reads`: variables in expressions of
    its head and in what follows the group; `keys`: names of its GROUP BY keys, `keys_end`: where
    these end; `ordered`: variables of ORDER BY; `having`: those of HAVING; `expressions`: where the
    expressions of named columns stand; `grouped`: it has keys or aggregates.
    """

    form: str
    where: GroupPattern
    named: list[str] = field(default_factory=list)
    plain: list[Token] = field(default_factory=list)
    star: Token | None = None
    commas: list[Token] = field(default_factory=list)
    supplied: list[str] = field(default_factory=list)
    reads: list[Token] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    keys_end: int = 0
    ordered: list[Token] = field(default_factory=list)
    having: list[Token] = field(default_factory=list)
    expressions: dict[str, Span] = field(default_factory=dict)
    grouped: bool = False

    def columns(self) -> tuple[str, ...]:
        if self.star is not None:
            return tuple(dict.fromkeys((*self.where.visible(), *self.supplied)))
        return tuple(dict.fromkeys(self.named))


def names_of(tokens: tuple[Token, ...] | list[Token]) -> tuple[str, ...]:
    """The names of the variables among tokens, each once, in order."""
    return tuple(dict.fromkeys(t.text[1:] for t in tokens if t.kind == "variable"))
