"""What an endpoint says of things: labels, descriptions, how large classes are, empty queries."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from branchwise.kg.answers import MAX_LABEL, MAX_SENTENCES, KgError, Match, QueryResult, cut
from branchwise.kg.remote.client import PREFIXES, RunSelect, english_only, iri_list, language_rank
from branchwise.kg.sparql.structure import shorten
from branchwise.kg.vocabulary import (
    ENTITY,
    INSTANCE_OF,
    PROP,
    RDF_TYPE,
    is_internal,
    is_wikidata_id,
    short_id,
    wikidata_predicate,
)

if TYPE_CHECKING:
    from branchwise.kg.sparql.prepare import Prepared

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
        # Labels, descriptions, and types; occupations are added, since "human" says little.
        paths = {
            _LABEL: "rdfs:label|skos:prefLabel",
            _DESCRIPTION: "schema:description|rdfs:comment",
            _TYPE: "(wdt:P31|rdf:type)/rdfs:label",
            _OCCUPATION: "wdt:P106/rdfs:label",
        }
        ways = " UNION ".join(
            f'{{ ?thing {path} ?text . BIND("{part}" AS ?what) {english_only("?text")} }}'
            for part, path in paths.items()
        )
        given = f"VALUES ?thing {{ {iri_list(hit.iri for hit in hits)} }}"
        answer = select(f"{PREFIXES}SELECT DISTINCT ?thing ?what ?text WHERE {{ {given} {ways} }}")
        cells = answer.cells("thing", "what", "text")
        rows = [(subject, part, text) for subject, part, text in cells if subject and part and text]
        for subject, part, text in sorted(
            rows, key=lambda row: (row[1].value, language_rank(row[2].language), row[2].value)
        ):
            known = facts[subject.value]
            if part.value == _LABEL:
                known.label = known.label or text.value
            elif part.value == _DESCRIPTION:
                known.description = known.description or text.value
            elif text.value not in known.types:
                known.types.append(text.value)
    with suppress(KgError):
        _count_statements(hits, select, facts)
    return [
        Match(
            id=short_id(hit.iri),
            label=hit.label or facts[hit.iri].label or hit.name,
            description=hit.description or facts[hit.iri].description,
            name=hit.name,
            types=tuple(facts[hit.iri].types[:MAX_TYPES]),
            statements=facts[hit.iri].statements,
        )
        for hit in hits
    ]


def together(hits: Iterable[NameHit]) -> list[NameHit]:
    """Each thing once, where it came first, followed by the others of the same name."""
    groups: dict[str, dict[str, NameHit]] = {}
    seen: set[str] = set()
    for hit in hits:
        if hit.iri not in seen:
            seen.add(hit.iri)
            groups.setdefault(hit.name.casefold(), {})[hit.iri] = hit
    return [hit for group in groups.values() for hit in group.values()]


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
    for subject, *numbers in answer.cells("thing", "direct", "full", "all"):
        if subject and all(number and _COUNT.fullmatch(number.value) for number in numbers):
            direct, full, every = (int(number.value) for number in numbers if number)
            on_wikidata = short_id(subject.value) != subject.value
            facts[subject.value].statements = max(direct, full) or (0 if on_wikidata else every)


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
    """English labels by IRI (of wdt:P57, its property's), with one query. Raises KgError."""
    entities = {iri: _entity(iri) for iri in iris}
    values = iri_list(dict.fromkeys(filter(None, entities.values())))
    if not values:
        return {}
    answer = select(
        f"{PREFIXES}SELECT ?thing ?label WHERE {{ VALUES ?thing {{ {values} }} "
        f"?thing rdfs:label|skos:prefLabel ?label . {english_only('?label')} }}"
    )
    best: dict[str, tuple[int, str]] = {}
    for entity_term, label in answer.cells("thing", "label"):
        if entity_term and label:
            candidate, iri = (language_rank(label.language), label.value), entity_term.value
            best[iri] = min(candidate, best.get(iri, candidate))
    return {iri: best[entity][1] for iri, entity in entities.items() if entity in best}


def _entity(iri: str) -> str | None:
    predicate = wikidata_predicate(iri)
    if predicate:
        return ENTITY + predicate.property
    return None if is_internal(iri) else iri


_AT_ONCE = 50  # things that are asked after with one query
_MOST_KNOWN = 100_000


class ClassSizes:
    """Sizes of the classes of one graph, for any thread. Once a query fails (a large class may take
    too long), nothing more is asked: no search should wait for sizes twice."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._able = True

    def added(self, matches: Sequence[Match], select: Callable[[str], QueryResult]) -> list[Match]:
        """The matches, with `members` where they are classes and the graph says how large."""
        new = [match.id for match in matches if match.id not in self._known][:_AT_ONCE]
        query = _sizes_query(new)
        if query and self._able:
            try:
                answer = select(query)
            except KgError:
                self._able = False
            else:
                if len(self._known) > _MOST_KNOWN:
                    self._known = {}
                sizes = {
                    cls.value.removeprefix(ENTITY): int(size.value)
                    for cls, size in answer.cells("class", "size")
                    if cls and size and _COUNT.fullmatch(size.value)
                }
                self._known |= {identifier: sizes.get(identifier, 0) for identifier in new}
        return [match._replace(members=self._known.get(match.id, 0)) for match in matches]


def _sizes_query(identifiers: Iterable[str]) -> str:
    """Counts of one pattern each: most stores have them without looking at every triple."""
    parts = []
    for identifier in identifiers:
        on_wikidata = is_wikidata_id(identifier)
        if iri := iri_list([ENTITY + identifier if on_wikidata else identifier]):
            property = INSTANCE_OF if on_wikidata else RDF_TYPE
            counted = f"SELECT (COUNT(*) AS ?size) WHERE {{ ?thing <{property}> {iri} }}"
            parts.append(f"{{ {{ {counted} }} BIND({iri} AS ?class) }}")
    return f"SELECT ?class ?size WHERE {{ {' UNION '.join(parts)} }}" if parts else ""


MAX_ASKS = 6
"""ASK queries for one explanation."""

_MAX_NUMBERS = 12


def explain_emptiness(prepared: "Prepared", select: RunSelect) -> tuple[str, ...]:
    """Sentences: which pattern matches nothing, and what the numbers in the query stand for. What
    the endpoint does not answer in time is left out; it never raises KgError."""
    notes: list[str] = []
    with suppress(KgError):
        notes.append(_numbers(prepared, select))
        notes.insert(0, _barren(prepared, _Asks(select)))
    return tuple(cut(note) for note in notes if note)


class _Asks:
    def __init__(self, select: RunSelect) -> None:
        self._select = select
        self.left = MAX_ASKS

    def holds(self, patterns: Sequence[str]) -> bool:
        """Whether the patterns match together. Raises KgError where that was not answered."""
        self.left -= 1
        answer = self._select(f"ASK {{ {' . '.join(patterns)} }}", "ASK").boolean
        if answer is None:
            raise KgError("endpoint", "The endpoint did not say yes or no.")
        return answer


def _barren(prepared: "Prepared", asks: _Asks) -> str:
    """The first pattern without a match, alone or with those before it; else sides of a UNION."""
    patterns = prepared.patterns[:MAX_ASKS]
    for pattern in patterns:
        if not asks.holds([pattern]):
            return f"`{shorten(pattern)}` matches nothing."
    for count in range(2, len(patterns) + 1):
        if not asks.left:
            alone = "Each triple pattern alone matches something"
            return f"{alone}, but perhaps not all of them together."
        if not asks.holds(patterns[:count]):
            return (
                f"`{shorten(patterns[count - 1])}` matches nothing that the "
                f"{'pattern' if count == 2 else f'{count - 1} patterns'} before it match."
            )
    return _barren_sides(prepared, asks) or _matching(prepared)


def _barren_sides(prepared: "Prepared", asks: _Asks) -> str:
    sides = [(number, side) for number, side in enumerate(prepared.alternatives, 1) if side]
    asked = sides[: asks.left]
    barren = [(number, side) for number, side in asked if not asks.holds(side)]
    if not barren:
        return ""
    if len(prepared.alternatives) == 1:
        return f"In the subquery `{shorten(' . '.join(barren[0][1]))}` matches nothing."
    first = barren[:MAX_SENTENCES]
    named = "; ".join(f"side {number}, `{shorten(' . '.join(side))}`" for number, side in first)
    more = len(barren) - MAX_SENTENCES
    every = len(barren) == len(prepared.alternatives)
    return (
        f"{'No side' if every else 'Not every side'} of the UNION matches. "
        f"Nothing matches {named}{f'; and {more} more' if more > 0 else ''}."
    )


def _matching(prepared: "Prepared") -> str:
    if not prepared.patterns:
        return (
            "Nothing is left of what its parts match: run subqueries, UNION sides, and VALUES "
            "with the patterns beside them one by one."
        )
    if len(prepared.patterns) > MAX_ASKS:
        return ""
    return (
        "The triple patterns match together: a FILTER, VALUES, MINUS, UNION, subquery, HAVING or "
        "OFFSET leaves nothing of it."
    )


def _numbers(prepared: "Prepared", select: RunSelect) -> str:
    """What the numbers are called: a wrong one is seen at once by who meant another thing."""
    numbers = list(dict.fromkeys(mention.id for mention in prepared.mentioned))
    if not numbers:
        return ""
    first = numbers[:_MAX_NUMBERS]
    labels = labels_of([ENTITY + number for number in first], select)
    meanings = [
        f"{number} is {cut(labels[ENTITY + number], MAX_LABEL)}"
        if ENTITY + number in labels
        else f"{number} has no name here"
        for number in first
    ]
    missing = any(ENTITY + number not in labels for number in first)
    more = f", and {len(numbers) - len(first):,} more" if len(numbers) > len(first) else ""
    advice = " Look the right ones up with wikidata_search." if missing else ""
    return f"In this graph {', '.join(meanings)}{more}.{advice}"
