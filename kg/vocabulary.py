"""The IRIs that say names, and Wikidata's numbers in IRIs."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

ENTITY = "http://www.wikidata.org/entity/"
PROP = "http://www.wikidata.org/prop/"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_SCHEMA = ("http://schema.org/", "https://schema.org/")
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_WIKIBASE = "http://wikiba.se/ontology#"

LABELS = frozenset(
    {f"{_RDFS}label", f"{_SKOS}prefLabel", "http://xmlns.com/foaf/0.1/name"}
    | {f"{schema}name" for schema in _SCHEMA}
)
ALIASES = frozenset({f"{_SKOS}altLabel"} | {f"{schema}alternateName" for schema in _SCHEMA})
DESCRIPTIONS = frozenset({f"{_RDFS}comment"} | {f"{schema}description" for schema in _SCHEMA})
NAMING = LABELS | ALIASES | DESCRIPTIONS
INSTANCE_OF = f"{PROP}direct/P31"
TYPES = frozenset({INSTANCE_OF, RDF_TYPE})
_XSD = "http://www.w3.org/2001/XMLSchema#"
DATES = frozenset({f"{_XSD}dateTime", f"{_XSD}date", f"{_XSD}gYear", f"{_XSD}gYearMonth"})
OCCUPATION = f"{PROP}direct/P106"

_NUMBER = re.compile(r"[QP][1-9]\d*")
_LOOSE_ID = re.compile(r"(?:(?:wd|wdt|p|ps|pq):)?([QPqp][1-9]\d*)")
_PREDICATE = re.compile(rf"{PROP}(?:([a-z-]+)/)?(?:[a-z-]+/)?(P[1-9]\d*)")
_IRI = re.compile(r"https?://\S+|urn:\S+")
_LOCAL_NAME = re.compile(r"([^/#:]+)[/#]?\Z")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")

StatementPart = Literal["direct", "full", "statement", "qualifier", "other"]
_PARTS: dict[str | None, StatementPart] = {
    None: "full",
    "direct": "direct",
    "statement": "statement",
    "qualifier": "qualifier",
}


class Predicate(NamedTuple):
    """A predicate of Wikidata's: its property, and which part of a statement it leads to."""

    property: str
    part: StatementPart


@lru_cache(maxsize=16_384)
def wikidata_predicate(iri: str) -> Predicate | None:
    """A predicate under `PROP`; None for any other IRI."""
    match = _PREDICATE.fullmatch(iri)
    return Predicate(match[2], _PARTS.get(match[1], "other")) if match else None


def short_id(iri: str) -> str:
    """ "Q42" or "P57" for Wikidata's entities and predicates, and the IRI for all else."""
    if iri.startswith(ENTITY) and _NUMBER.fullmatch(iri, len(ENTITY)):
        return iri[len(ENTITY) :]
    predicate = wikidata_predicate(iri)
    return predicate.property if predicate else iri


def written_id(text: str) -> str | None:
    """The id that a text is: "q42", "wdt:P57", an IRI in brackets or without; None for a name."""
    match = _LOOSE_ID.fullmatch(text)
    if match:
        return match[1].upper()
    bare = text.removeprefix("<").removesuffix(">")
    return short_id(bare) if _IRI.fullmatch(bare) else None


def is_wikidata_id(identifier: str) -> bool:
    return _NUMBER.fullmatch(identifier) is not None


def is_property_id(identifier: str) -> bool:
    return identifier.startswith("P") and _NUMBER.fullmatch(identifier) is not None


def is_internal(iri: str) -> bool:
    """Whether an IRI is part of how Wikibase writes statements down, and nothing to look up."""
    if iri.startswith(ENTITY):
        return iri.startswith("statement/", len(ENTITY))
    return iri.startswith(
        (
            "http://www.wikidata.org/value/",
            "http://www.wikidata.org/reference/",
            "https://www.wikidata.org/wiki/",
            PROP,
            _WIKIBASE,
        )
    )


def split_words(name: str) -> str:
    """ "birthPlace" and "birth_place" as "birth Place" and "birth place"."""
    return " ".join(part for part in _CAMEL.split(name) if part)


def local_name(iri: str) -> str:
    """What the end of an IRI calls its thing: ".../birthPlace" is "birth Place"."""
    from urllib.parse import unquote

    end = _LOCAL_NAME.search(iri)
    return split_words(unquote(end[1])) if end else iri
