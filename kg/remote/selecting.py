"""Our own queries to an endpoint, for names, types and explanations."""

import re
from collections.abc import Iterable
from typing import Literal, Protocol

from branchwise.kg.answers import QueryResult

Form = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]

PREFIXES = """\
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX schema: <http://schema.org/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
"""
ENGLISH = ("en", "mul", "")
"""Languages of names, best first: "mul" is Wikidata's for all, and "" has none."""

_SAFE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+")


class RunSelect(Protocol):
    """Sends a query that needs no check, within the time of the question that it serves."""

    def __call__(self, text: str, form: Form = "SELECT") -> QueryResult:
        """Raises KgError."""
        ...


def iri_list(iris: Iterable[str]) -> str:
    """IRIs for a VALUES block; those that are unsafe in a query are left out."""
    return " ".join(f"<{iri}>" for iri in iris if _SAFE_IRI.fullmatch(iri))


def english_only(variable: str) -> str:
    """A filter for labels in one of `ENGLISH`."""
    tags = ", ".join(f'"{tag}"' for tag in ENGLISH)
    return f"FILTER(LANG({variable}) IN ({tags}))"


def language_rank(language: str) -> int:
    """Lower is better."""
    return ENGLISH.index(language) if language in ENGLISH else len(ENGLISH)
