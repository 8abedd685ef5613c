"""Entities by name on endpoints that have no search of their own: SPARQL over their labels."""

from difflib import SequenceMatcher

from branchwise.kg.answers import KgError, Match, SearchKind
from branchwise.kg.remote.descriptions import NameHit, as_matches, together
from branchwise.kg.remote.entity_search import searchable
from branchwise.kg.remote.responses import quoted
from branchwise.kg.remote.selecting import PREFIXES, RunSelect, english_only

_NAMES = "rdfs:label skos:altLabel skos:prefLabel schema:name schema:alternateName"
_PROPERTY_CLASSES = (
    "wikibase:Property rdf:Property "
    "<http://www.w3.org/2002/07/owl#ObjectProperty> "
    "<http://www.w3.org/2002/07/owl#DatatypeProperty>"
)
_MOST_ROWS, _MOST_HITS = 200, 50
_STEM = 4
_LATE = (
    "Nothing has exactly this name, and the search for names that contain it took too long; "
    "give the exact name, as an encyclopedia writes it."
)


def search_labels(select: RunSelect, text: str, kind: SearchKind, limit: int) -> list[Match]:
    """Bearers of exactly this name, else things whose names contain its words.

    Of properties, else those in whose names one of the words begins alike. Raises KgError.
    """
    text = searchable(text)
    folded = text.casefold()
    words = folded.split()
    stems = [word[: max(_STEM, len(word) - 3)] for word in words if len(word) >= _STEM]
    hits = _exact(select, text, kind) or _containing(select, kind, words, " && ")
    if not hits and kind == "property" and stems:
        hits = _containing(select, kind, stems, " || ")
    if not hits:
        return []

    def order(match: Match) -> tuple[int, bool, float, str, int, str]:
        name = match.name.casefold()
        alike = sum(stem in name for stem in stems)
        ratio = SequenceMatcher(None, folded, name, autojunk=False).ratio()
        return (-alike, not name.startswith(folded), -ratio, name, -match.statements, match.id)

    found = as_matches(together(hits)[:_MOST_HITS], select)
    return sorted(found, key=order)[: max(1, limit)]


def _exact(select: RunSelect, text: str, kind: SearchKind) -> list[NameHit]:
    """Stores find a literal at once where it is given whole, with its case and language."""
    cases = dict.fromkeys((text, text[0].upper() + text[1:], text.lower(), text.title()))
    names = " ".join(quoted(case) + tag for case in cases for tag in ("@en", "@mul", ""))
    return _named(select, kind, f"VALUES ?name {{ {names} }}", "")


def _containing(select: RunSelect, kind: SearchKind, parts: list[str], how: str) -> list[NameHit]:
    """Scan every name; if that takes too long, the error says what would be faster."""
    tests = how.join(f"CONTAINS(LCASE(STR(?name)), {quoted(part)})" for part in parts)
    try:
        return _named(select, kind, "", f"{english_only('?name')} FILTER({tests})")
    except KgError as error:
        raise KgError("timeout", _LATE) if error.kind == "timeout" else error from None


def _named(select: RunSelect, kind: SearchKind, given: str, tests: str) -> list[NameHit]:
    """Things of the kind with their names. What is given goes first: some servers keep the order.

    An item is anything that is not a property.
    """
    if kind == "property":
        given += f" VALUES ?class {{ {_PROPERTY_CLASSES} }}"
        typed = "?thing rdf:type ?class ."
    else:
        among = ", ".join(_PROPERTY_CLASSES.split())
        typed = f"FILTER NOT EXISTS {{ ?thing rdf:type ?class . FILTER(?class IN ({among})) }}"
    answer = select(
        f"{PREFIXES}SELECT DISTINCT ?thing ?name WHERE {{ {given} VALUES ?naming {{ {_NAMES} }} "
        f"?thing ?naming ?name . {typed} {tests} }} LIMIT {_MOST_ROWS}"
    )
    return [
        NameHit(thing.value, name.value)
        for thing, name in answer.cells("thing", "name")
        if thing and name and thing.kind == "iri"
    ]
