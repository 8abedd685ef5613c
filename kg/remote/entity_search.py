"""Things by name at an endpoint: by its host's search, or by label with SPARQL."""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request

from branchwise.base.http import user_agent
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.text import one_line, printable
from branchwise.kg.answers import KgError, Match, SearchKind
from branchwise.kg.remote.client import (
    PREFIXES,
    ClientSettings,
    HostClient,
    RunSelect,
    english_only,
)
from branchwise.kg.remote.descriptions import NameHit, as_matches, together
from branchwise.kg.remote.responses import clean_words, quoted, read_json, too_busy
from branchwise.kg.vocabulary import ENTITY

MAX_TEXT = 250
"""Characters of a name: CirrusSearch refuses 300."""

_NAMESPACES = {"item": "0", "property": "120"}
_PAGE = re.compile(r"(?:[A-Za-z]+:)?([QP][1-9]\d*)")


class EntityApi:
    """MediaWiki's action API of a Wikibase. Safe to use from any thread."""

    def __init__(self, url: str, settings: ClientSettings, keys: Keys = NO_KEYS) -> None:
        """Raises InputError if `url` is not an http(s) address."""
        self._url, self._client = url, HostClient(url, settings, keys)

    def get(self, parameters: Mapping[str, str], deadline: float) -> dict[str, Any]:
        """The answer to one call. Raises KgError, also for errors that come with status 200."""
        sent = urlencode({**parameters, "format": "json", "formatversion": "2"})
        accepted = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        request = Request(f"{self._url}?{sent}", headers={**accepted, "User-Agent": user_agent()})  # noqa: S310
        reply = self._client.send(request, deadline)
        match read_json(reply):
            case {"error": {"code": "ratelimited" | "maxlag" | "readonly"}}:
                raise too_busy(None)
            case {"error": {"info": str(info)}}:
                raise KgError("endpoint", f"The search failed: {clean_words(info)}")
            case {"error": _}:
                raise KgError("endpoint", "The search failed; go on with the other tools.")
            case dict(answer):
                return answer
        raise _unreadable()


def search_wikibase(
    api: EntityApi, select: RunSelect, text: str, kind: SearchKind, limit: int, deadline: float
) -> list[Match]:
    """Things whose label or alias begins with `text`, else those of a full-text search, with types
    and numbers of statements where the endpoint tells them. Raises KgError."""
    text = searchable(text)
    limit = max(1, min(limit, 50))
    hits = list(_by_name(api, text, kind, limit, deadline))
    if not hits:
        hits = list(_by_text(api, text, kind, limit, deadline))
    exact = [hit for hit in hits if hit.name.casefold() == text.casefold()]
    hits = together([*exact, *hits])[:limit]
    return as_matches(hits, select) if hits else []


def searchable(text: str) -> str:
    """The text in one line, cut to `MAX_TEXT`. Raises KgError if it is empty."""
    line = one_line(printable(text, " "))[:MAX_TEXT]
    if not line:
        raise KgError("refused", "The search has no text: give a name, such as the question's.")
    return line


def _by_name(
    api: EntityApi, text: str, kind: SearchKind, limit: int, deadline: float
) -> Iterator[NameHit]:
    """`wbsearchentities`: prefixes of labels and aliases, the best known first."""
    answer = api.get(
        {
            "action": "wbsearchentities",
            "search": text,
            "language": "en",
            "uselang": "en",
            "type": kind,
            "limit": str(limit),
        },
        deadline,
    )
    entries = answer.get("search")
    if not isinstance(entries, list):
        raise _unreadable()
    for entry in entries:
        match entry:
            case {"id": str(number), **rest}:
                label, description = _text(rest.get("label")), _text(rest.get("description"))
                matched = rest.get("match")
                name = _text(matched.get("text")) if isinstance(matched, dict) else ""
                iri = _text(rest.get("concepturi")) or ENTITY + number
                yield NameHit(iri, name or label or number, label, description)
            case _:
                raise _unreadable()


def _by_text(
    api: EntityApi, text: str, kind: SearchKind, limit: int, deadline: float
) -> Iterator[NameHit]:
    """Full-text search, which knows word forms: "starred in" is not how any name begins."""
    answer = api.get(
        {
            "action": "query",
            "generator": "search",
            "gsrsearch": text,
            "gsrnamespace": _NAMESPACES[kind],
            "gsrlimit": str(limit),
            "prop": "entityterms",
            "wbetterms": "label|description",
            "wbetlanguage": "en",
            "meta": "siteinfo",
            "siprop": "general",
        },
        deadline,
    )
    query = answer.get("query", {})
    pages = query.get("pages", []) if isinstance(query, dict) else []
    if not isinstance(pages, list) or not pages:
        return
    general = query.get("general")
    base = _text(general.get("wikibase-conceptbaseuri")) if isinstance(general, dict) else ""
    if not all(isinstance(page, dict) for page in pages):
        raise _unreadable()

    def index(page: Mapping[str, Any]) -> int:
        place = page.get("index")
        return place if isinstance(place, int) else 0

    for page in sorted(pages, key=index):
        number = _PAGE.fullmatch(_text(page.get("title")))
        terms = page.get("entityterms")
        if number:
            label, description = "", ""
            if isinstance(terms, dict):
                label, description = (_first(terms.get(term)) for term in ("label", "description"))
            yield NameHit((base or ENTITY) + number[1], label or number[1], label, description)


def _first(texts: object) -> str:
    return _text(texts[0]) if isinstance(texts, list) and texts else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _unreadable() -> KgError:
    return KgError(
        "endpoint",
        "The search's answer is not in the form that Wikibase sends; the user must check the "
        "address of its api.php. Write the query with the numbers that you know.",
    )


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
    """Bearers of exactly this name, else things whose names contain its words. Of properties, else
    those in whose names one of the words begins alike. Raises KgError."""
    text = searchable(text)
    folded = text.casefold()
    words = folded.split()
    stems = [word[: max(_STEM, len(word) - 3)] for word in words if len(word) >= _STEM]
    # Stores find a literal at once where it is given whole, with its case and language.
    cases = dict.fromkeys((text, text[0].upper() + text[1:], text.lower(), text.title()))
    names = " ".join(quoted(case) + tag for case in cases for tag in ("@en", "@mul", ""))
    hits = _label_match(select, kind, f"VALUES ?name {{ {names} }}", "")
    hits = hits or _containing(select, kind, words, " && ")
    if not hits and kind == "property" and stems:
        hits = _containing(select, kind, stems, " || ")
    if not hits:
        return []

    def order(match: Match) -> tuple[int, bool, float, str, int, str]:
        name = match.name.casefold()
        alike = sum(stem in name for stem in stems)
        ratio = SequenceMatcher(None, folded, name, autojunk=False).ratio()
        return (-alike, not name.startswith(folded), -ratio, name, -match.statements, match.id)

    matches = as_matches(together(hits)[:_MOST_HITS], select)
    return sorted(matches, key=order)[: max(1, limit)]


def _containing(select: RunSelect, kind: SearchKind, parts: list[str], how: str) -> list[NameHit]:
    """Scan every name; if that takes too long, the error says what would be faster."""
    tests = how.join(f"CONTAINS(LCASE(STR(?name)), {quoted(part)})" for part in parts)
    try:
        return _label_match(select, kind, "", f"{english_only('?name')} FILTER({tests})")
    except KgError as error:
        raise KgError("timeout", _LATE) if error.kind == "timeout" else error from None


def _label_match(select: RunSelect, kind: SearchKind, given: str, tests: str) -> list[NameHit]:
    # What is given goes first: some servers keep the order.
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
        NameHit(subject.value, name.value)
        for subject, name in answer.cells("thing", "name")
        if subject and name and subject.kind == "iri"
    ]
