"""Terms of a graph as the texts that plans, questions and passages use.

An entity or item is its number ("Q42") or its IRI in angle brackets, a date is "1976-03-14", or
as much of it as is known, and a number is decimal text without an exponent.
"""

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal, NamedTuple

from branchwise.kg.schema import Relation
from branchwise.kg.vocabulary import DATES, ENTITY

ValueKind = Literal["thing", "date", "number"]
_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(
    _XSD + name
    for name in (
        *("decimal", "integer", "double", "float", "int", "long", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong"),
    )
)
_QID = re.compile(r"Q[1-9]\d*")
_DATE = re.compile(r"\+?(-?\d{4,}(?:-\d\d(?:-\d\d)?)?)(?:T.*|Z|[+-]\d\d:\d\d)?")
_UNKNOWN = "/.well-known/genid/"  # Wikibase's IRIs for "some value"


class TermValue(NamedTuple):
    """What a statement ends in."""

    kind: ValueKind
    text: str


def value_kind(relation: Relation) -> ValueKind:
    """The kind of values that a relation has."""
    if relation.date is not None:
        return "date"
    return "thing" if relation.number is None else "number"


def _entity_text(iri: str) -> str:
    """ "Q42" for an entity of Wikidata's vocabulary, "<iri>" for any other."""
    if iri.startswith(ENTITY) and _QID.fullmatch(iri, len(ENTITY)):
        return iri[len(ENTITY) :]
    return f"<{iri}>"


def entity_iri(text: str) -> str:
    """The IRI that `_entity_text` wrote."""
    return text[1:-1] if text.startswith("<") else ENTITY + text


def thing(iri: str) -> TermValue | None:
    """An entity or item; None for what stands for an unknown value."""
    return None if _UNKNOWN in iri else TermValue("thing", _entity_text(iri))


@lru_cache(maxsize=65_536)
def literal(text: str, datatype: str) -> TermValue | None:
    """A date or a number; None for a literal that is neither."""
    if datatype in DATES:
        found = _DATE.fullmatch(text)
        return TermValue("date", found[1]) if found else None
    if datatype in _NUMBERS:
        return _number(text)
    return None


def _number(text: str) -> TermValue | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > 40:
        return None
    plain = f"{number:f}"
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return TermValue("number", "0" if plain in ("-0", "") else plain)


LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
LANGUAGES = ("en", "mul", "")
"""Best first. A label of another language is better than none; an alias is not."""


class TaggedName(NamedTuple):
    """A label or an alias in a language ("" where none is given)."""

    text: str
    language: str


def best_label(names: Iterable[TaggedName]) -> str | None:
    """The label in the best language, the first in order where that has several."""
    best = min(names, key=name_rank, default=None)
    return best.text if best else None


def best_aliases(names: Iterable[TaggedName], label: str) -> tuple[str, ...]:
    """The aliases in `LANGUAGES` that differ from the label, sorted."""
    return tuple(sorted({name.text for name in names if name.language in LANGUAGES} - {label}))


def name_rank(name: TaggedName) -> tuple[int, str, str]:
    """Its place among labels: the lower, the better."""
    known = name.language in LANGUAGES
    place = LANGUAGES.index(name.language) if known else len(LANGUAGES)
    return place, name.language, name.text
