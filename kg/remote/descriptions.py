"""What an endpoint says of things: labels, descriptions, types, numbers of statements."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from branchwise.kg.answers import KgError, Match, QueryResult
from branchwise.kg.remote.selecting import (
    PREFIXES,
    RunSelect,
    english_only,
    iri_list,
    language_rank,
)
from branchwise.kg.vocabulary import (
    ENTITY,
    PROP,
    is_internal,
    short_id,
    wikidata_predicate,
)

MAX_TYPES = 8

# Sorted in this order: types stand before occupations.
_LABEL, _DESCRIPTION, _TYPE, _OCCUPATION = "1", "2", "3", "4"
# Longer numbers cannot be counts of statements, and "²" is a digit to Python, but not a number.
_COUNT = re.compile("[0-9]{1,15}")


class NameHit(NamedTuple):
    """An entity, the name by which it was found, and what is known of it so far."""

    iri: str
    name: str
    label: str = ""
    description: str = ""


@dataclass
class EntityFacts:
    """What the graph says about one thing; `types` in the order in which they are shown."""

    label: str = ""
    description: str = ""
    types: list[str] = field(default_factory=list)
    statements: int = 0


def as_matches(hits: Sequence[NameHit], select: RunSelect) -> list[Match]:
    """The hits in their order, with their facts where the endpoint tells them in time."""
    facts: dict[str, EntityFacts] = defaultdict(EntityFacts)
    with suppress(KgError):
        _read_texts(hits, select, facts)
    with suppress(KgError):
        _count_statements(hits, select, facts)
    return [_match(hit, facts[hit.iri]) for hit in hits]


def together(hits: Iterable[NameHit]) -> list[NameHit]:
    """Each thing once, where it came first, followed by the others of the same name."""
    groups: dict[str, dict[str, NameHit]] = {}
    seen: set[str] = set()
    for hit in hits:
        if hit.iri not in seen:
            seen.add(hit.iri)
            groups.setdefault(hit.name.casefold(), {})[hit.iri] = hit
    return [hit for group in groups.values() for hit in group.values()]


def _match(hit: NameHit, facts: EntityFacts) -> Match:
    return Match(
        id=short_id(hit.iri),
        label=hit.label or facts.label or hit.name,
        description=hit.description or facts.description,
        name=hit.name,
        types=tuple(facts.types[:MAX_TYPES]),
        statements=facts.statements,
    )


def _read_texts(hits: Sequence[NameHit], select: RunSelect, facts: dict[str, EntityFacts]) -> None:
    """Labels, descriptions, and types; occupations are added, since "human" says little."""
    paths = {
        _LABEL: "rdfs:label|skos:prefLabel",
        _DESCRIPTION: "schema:description|rdfs:comment",
        _TYPE: "(wdt:P31|rdf:type)/rdfs:label",
        _OCCUPATION: "wdt:P106/rdfs:label",
    }
    ways = " UNION ".join(
        f'{{ ?thing {path} ?text . BIND("{what}" AS ?what) {english_only("?text")} }}'
        for what, path in paths.items()
    )
    things = iri_list(hit.iri for hit in hits)
    answer = select(
        f"{PREFIXES}SELECT DISTINCT ?thing ?what ?text WHERE {{ "
        f"VALUES ?thing {{ {things} }} {ways} }}"
    )
    cells = answer.cells("thing", "what", "text")
    rows = [(thing, what, text) for thing, what, text in cells if thing and what and text]
    for thing, what, text in sorted(
        rows, key=lambda row: (row[1].value, language_rank(row[2].language), row[2].value)
    ):
        known = facts[thing.value]
        if what.value == _LABEL:
            known.label = known.label or text.value
        elif what.value == _DESCRIPTION:
            known.description = known.description or text.value
        elif text.value not in known.types:
            known.types.append(text.value)


def _count_statements(
    hits: Sequence[NameHit], select: RunSelect, facts: dict[str, EntityFacts]
) -> None:
    """Of Wikidata's two forms of a statement the fuller; elsewhere all triples but names."""
    answer = select(
        f"{PREFIXES}SELECT ?thing "
        f'(SUM(IF(STRSTARTS(STR(?p), "{PROP}direct/P"), 1, 0)) AS ?direct) '
        f'(SUM(IF(STRSTARTS(STR(?p), "{PROP}P"), 1, 0)) AS ?full) (COUNT(*) AS ?all) WHERE {{ '
        f"VALUES ?thing {{ {iri_list(hit.iri for hit in hits)} }} ?thing ?p ?o . "
        "FILTER(?p NOT IN (rdfs:label, rdfs:comment, skos:altLabel, skos:prefLabel, "
        "schema:name, schema:description, schema:alternateName)) } GROUP BY ?thing"
    )
    for thing, *numbers in answer.cells("thing", "direct", "full", "all"):
        if thing and all(number and _COUNT.fullmatch(number.value) for number in numbers):
            direct, full, every = (int(number.value) for number in numbers if number)
            on_wikidata = short_id(thing.value) != thing.value
            facts[thing.value].statements = max(direct, full) or (0 if on_wikidata else every)


MAX_LABELS = 100
"""Labels that are looked up for one answer: what a model is shown has no more rows."""


def unlabelled(answer: QueryResult) -> list[str]:
    """The IRIs in the rows, in order, of columns that have no ?xLabel column beside them."""
    named = {name.removesuffix("Label") for name in answer.variables if name.endswith("Label")}
    columns = [i for i, name in enumerate(answer.variables) if name not in named]
    cells = (row[column] for row in answer.rows for column in columns)
    iris = dict.fromkeys(cell.value for cell in cells if cell and cell.kind == "iri")
    return [iri for iri in iris if _entity(iri)][:MAX_LABELS]


def labels_of(iris: Iterable[str], select: RunSelect) -> dict[str, str]:
    """English labels by IRI, with one query. Raises KgError.

    A predicate of Wikidata's (wdt:P57) has the label of its property.
    """
    entities = {iri: _entity(iri) for iri in iris}
    values = iri_list(dict.fromkeys(filter(None, entities.values())))
    if not values:
        return {}
    answer = select(
        f"{PREFIXES}SELECT ?thing ?label WHERE {{ VALUES ?thing {{ {values} }} "
        f"?thing rdfs:label|skos:prefLabel ?label . {english_only('?label')} }}"
    )
    best: dict[str, tuple[int, str]] = {}
    for thing, label in answer.cells("thing", "label"):
        if thing and label:
            found = (language_rank(label.language), label.value)
            best[thing.value] = min(found, best.get(thing.value, found))
    return {iri: best[entity][1] for iri, entity in entities.items() if entity in best}


def _entity(iri: str) -> str | None:
    """The entity that has the label; None if there cannot be one."""
    predicate = wikidata_predicate(iri)
    if predicate:
        return ENTITY + predicate.property
    return None if is_internal(iri) else iri
