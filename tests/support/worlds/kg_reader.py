"""Reads a world's `kg.nt.gz` with the standard library alone."""

import gzip
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

FIRST_NUMBER = 2_000_000_001  # entities of a world have numbers from here on
ENTITY = "http://www.wikidata.org/entity/"
PROP = "http://www.wikidata.org/prop/"
XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
DESCRIPTION = "http://schema.org/description"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
DIRECT_CLAIM = "http://wikiba.se/ontology#directClaim"

RANK = "http://wikiba.se/ontology#rank"

_IRI = r'<([^\x00-\x20<>"{}|^`\\]+)>'
_ESCAPE = r"\\(?:[tbnrf\"'\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
_LITERAL = rf'"((?:[^"\\\n\r]|{_ESCAPE})*)"(?:@([a-zA-Z]+(?:-[a-zA-Z0-9]+)*)|\^\^{_IRI})?'
TRIPLE = re.compile(rf"{_IRI} {_IRI} (?:{_IRI}|{_LITERAL}) \.\n")
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}

Statement = tuple[str, str, str]  # subject, property, value: an entity, a date or a number
Time = dict[str, int]  # P585, P580 or P582 -> year


def in_world(entity: str) -> bool:
    """Whether a value is an entity of the world's own: no class, no genre, no date, no number."""
    return entity.startswith("Q") and int(entity[1:]) >= FIRST_NUMBER


@dataclass(frozen=True)
class Graph:
    """What `kg.nt.gz` says. `values`: subject -> property -> values in the order of the file."""

    lines: list[str] = field(default_factory=list)
    labels: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    descriptions: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    times: dict[Statement, list[Time]] = field(default_factory=lambda: defaultdict(list))
    # Statements that are no longer so, with their times; ranks of all that have one.
    former: dict[Statement, list[Time]] = field(default_factory=lambda: defaultdict(list))
    ranks: dict[Statement, str] = field(default_factory=dict)
    direct_claims: dict[str, str] = field(default_factory=dict)  # property -> its direct predicate

    @cached_property
    def statements(self) -> list[Statement]:
        return [
            (subject, prop, value)
            for subject, held in self.values.items()
            for prop, values in held.items()
            for value in values
        ]

    @cached_property
    def related(self) -> dict[str, set[str]]:
        """Entity -> the world's entities that a statement joins it to, in either direction."""
        related = defaultdict(set)
        for subject, _, value in self.statements:
            if value.startswith("Q") and in_world(value):
                related[subject].add(value)
                related[value].add(subject)
        return related

    def label(self, entity: str) -> str:
        return self.labels[entity][0]

    def of(self, entity: str, prop: str) -> list[str]:
        return self.values.get(entity, {}).get(prop, [])

    def having(self, value: str, prop: str) -> list[str]:
        return self._subjects.get((prop, value), [])

    @cached_property
    def _subjects(self) -> dict[tuple[str, str], list[str]]:
        subjects = defaultdict(list)
        for subject, prop, value in self.statements:
            subjects[prop, value].append(subject)
        return subjects

    def year(self, entity: str, *properties: str) -> int | None:
        """The year of the first of these dates that the entity has."""
        dates = [value for prop in properties for value in self.of(entity, prop)]
        return int(dates[0][:4]) if dates else None


def read_kg(path: Path) -> Graph:
    kg = Graph()
    nodes = Graph()  # of full statements: node -> property -> value, and its subject as a label
    texts = {LABEL: kg.labels, ALIAS: kg.aliases, DESCRIPTION: kg.descriptions}
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            kg.lines.append(line)
            subject, predicate, value = parse_triple(line)
            name = predicate.removeprefix(PROP)
            subject = subject.removeprefix(ENTITY)
            if predicate in texts:
                texts[predicate][subject].append(value)
            elif name.startswith("direct/"):
                kg.values[subject][name.removeprefix("direct/")].append(value)
            elif name.startswith("P"):
                nodes.labels[value].append(subject)
            elif name.startswith(("statement/", "qualifier/")):
                nodes.values[subject][name].append(value)
            elif predicate == RANK:
                nodes.values[subject]["rank"].append(value.rpartition("#")[2])
            elif predicate == DIRECT_CLAIM:
                kg.direct_claims[subject] = value
            elif predicate != TYPE:
                raise ValueError(f"a predicate of no known kind: {line!r}")
    _read_nodes(kg, nodes)
    return kg


def _read_nodes(kg: Graph, nodes: Graph) -> None:
    for node, held in nodes.values.items():
        (subject,) = nodes.labels[node]
        ((prop, value),) = [(p, v) for p, (v,) in held.items() if p.startswith("statement/")]
        years = {p[len("qualifier/") :]: int(v[:4]) for p, (v,) in held.items() if p[0] == "q"}
        statement = subject, prop.removeprefix("statement/"), value
        now = value in kg.of(subject, statement[1])
        (kg.times if now else kg.former)[statement].append(years)
        if "rank" in held:
            (kg.ranks[statement],) = held["rank"]


def parse_triple(line: str) -> tuple[str, str, str]:
    """Subject, predicate and value of a line: entities as their number, dates as `1976-03-14`."""
    if not (match := TRIPLE.fullmatch(line)):
        raise ValueError(f"not an N-Triples line: {line!r}")
    subject, predicate, iri, text, _, kind = match.groups()
    if iri is not None:
        return subject, predicate, iri.removeprefix(ENTITY)
    if kind == XSD + "dateTime":
        return subject, predicate, text.removesuffix("T00:00:00Z")
    return subject, predicate, _unescaped(text)


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[0][1:]
        return chr(int(code[1:], 16)) if code[0] in "uU" else _CONTROL.get(code, code)

    return re.sub(_ESCAPE, one, text) if "\\" in text else text
