"""Short forms of IRIs, as in queries for Wikidata."""

import re

from branchwise.corpora.graph.sparql.prefixes import KNOWN

WIKIDATA = "http://www.wikidata.org/"
_PREFIXES = {iri: prefix for prefix, iri in KNOWN.items()}
_MOST_CHARACTERS = 200
_IRI = re.compile(r"<([^<>\s]*?)([\w-]*)>")


def shorten(text: str) -> str:
    """SPARQL with prefixes for the IRIs that have one, in one line of at most 200 characters."""
    short = " ".join(_IRI.sub(_short, text).split())
    return short if len(short) <= _MOST_CHARACTERS else f"{short[:_MOST_CHARACTERS]}…"


def _short(iri: re.Match[str]) -> str:
    prefix = _PREFIXES.get(iri[1])
    return iri[0] if prefix is None else f"{prefix}:{iri[2]}"
