"""N-Triples in Wikidata's vocabulary, as its query service has them."""

from collections.abc import Iterable, Iterator

from branchwise.kg.schema import Schema
from branchwise.worlds.facts import Fact, FactKind, FactValue, Item
from branchwise.worlds.literals import iso_date
from branchwise.worlds.world import World

ENTITY = "http://www.wikidata.org/entity/"
_PROP = "http://www.wikidata.org/prop/"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
_DESCRIPTION = "http://schema.org/description"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_WIKIBASE = "http://wikiba.se/ontology#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TIMES = {"point": ("P585", ""), "start": ("P580", ""), "spells": ("P580", "P582")}
QUALIFIERS = {"P580": "start time", "P582": "end time", "P585": "point in time"}


def text(value: str) -> str:
    """An English literal."""
    if '"' in value or "\\" in value or "\n" in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{value}"@en'


def terms(iri: str, label: str, aliases: Iterable[str] = (), description: str = "") -> str:
    """Label, aliases and description of something, as lines."""
    lines = f"<{iri}> <{_LABEL}> {text(label)} .\n"
    for alias in aliases:
        lines += f"<{iri}> <{_ALIAS}> {text(alias)} .\n"
    if description:
        lines += f"<{iri}> <{_DESCRIPTION}> {text(description)} .\n"
    return lines


def statement_object(world: World, fact: Fact, value: FactValue) -> str:
    """A value as in a passage's `statements`: a number of an entity, a date or a number."""
    if value.item is not None:
        return value.item.qid
    if fact.kind is FactKind.ENTITY:
        return world.qid(value.content)
    return iso_date(value.content) if fact.kind is FactKind.DATE else str(value.content)


def statements(world: World, qid: str, fact: Fact, values: list[FactValue]) -> Iterator[str]:
    """The lines of what a relation says of an entity; with its times, where it has them."""
    number = fact.relation.property
    for value in values:
        object = _term(statement_object(world, fact, value), fact.kind)
        yield f"<{ENTITY}{qid}> <{_PROP}direct/{number}> {object} .\n"
        if value.begin:
            yield _full_statement(qid, number, object, value, fact)


def _term(object: str, kind: FactKind) -> str:
    if kind is FactKind.DATE:
        return f'"{object}T00:00:00Z"^^<{_XSD}dateTime>'
    if kind is FactKind.NUMBER:
        return f'"{object}"^^<{_XSD}decimal>'
    return f"<{ENTITY}{object}>"


def _full_statement(qid: str, number: str, object: str, value: FactValue, fact: Fact) -> str:
    """The statement's own node with its qualifiers.

    Its name follows from what it says, so that no counter is needed.
    """
    other = object.rpartition("/")[2].rstrip(">")
    node = f"<{ENTITY}statement/{qid}-{number}-{other}-{value.begin}>"
    lines = f"<{ENTITY}{qid}> <{_PROP}{number}> {node} .\n"
    lines += f"{node} <{_PROP}statement/{number}> {object} .\n"
    for qualifier, year in zip(
        _TIMES[fact.relation.time_as], (value.begin, value.end), strict=True
    ):
        if qualifier and year:
            date = f'"{year:04d}-01-01T00:00:00Z"^^<{_XSD}dateTime>'
            lines += f"{node} <{_PROP}qualifier/{qualifier}> {date} .\n"
    return lines


def vocabulary(schema: Schema) -> Iterator[str]:
    """Labels and aliases of the properties and items that a world uses."""
    properties: dict[str, tuple[str, set[str]]] = {}
    for relation in schema.relations.values():
        number = relation.property
        also_called = set(schema.aliases.get(number, ()))
        _, aliases = properties.setdefault(number, (relation.label, also_called))
        aliases |= set(relation.aliases)
    properties |= {number: (label, set()) for number, label in QUALIFIERS.items()}
    for number, (label, aliases) in sorted(properties.items()):
        yield terms(ENTITY + number, label, sorted(aliases - {label}))
        yield f"<{ENTITY}{number}> <{_TYPE}> <{_WIKIBASE}Property> .\n"
        yield f"<{ENTITY}{number}> <{_WIKIBASE}directClaim> <{_PROP}direct/{number}> .\n"
    items = {Item(*entry) for entries in schema.items.values() for entry in entries.items()}
    nouns = {kind.class_id: kind.noun for kind in schema.types.values() if kind.class_id}
    for item in sorted(items):
        noun = nouns.get(item.qid, item.label)
        yield terms(ENTITY + item.qid, item.label, [noun] * (noun != item.label))
