"""What is probably wrong with a triple pattern that matches nothing."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from pyoxigraph import NamedNode, Store

from branchwise.corpora.graph.bounds import MAX_LABEL, cut
from branchwise.corpora.graph.names.index import NameIndex
from branchwise.corpora.graph.processes.rows import holds
from branchwise.corpora.graph.processes.shorthand import WIKIDATA, shorten

_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_TERM = rf"<[^<>]*>|[?$]\w+|_:\w+|{_STRING}(?:@[\w-]+|\^\^<[^<>]*>)?|[^\s<>\"']+"
_TRIPLE = re.compile(rf"\s*({_TERM})\s+(.+?)\s+({_TERM})\s*\.?\s*", re.DOTALL)
_PROPERTY_AS_THING = re.compile(rf"<{WIKIDATA}entity/(P\d+)>")
_ITEM_AS_PROPERTY = re.compile(rf"<{WIKIDATA}prop/(?:[\w-]+/)*(Q\d+)>")
_STATEMENT = re.compile(rf"<{WIKIDATA}prop/(?:statement/)?(P\d+)>")
_USED_PROPERTY = re.compile(rf"<{WIKIDATA}prop/(?:[\w-]+/)*(P\d+)>")


class _Triple(NamedTuple):
    subject: str
    predicate: str
    object: str


def hint(pattern: str, store: Store, names: NameIndex) -> str:
    """A sentence or two on what to try; "" if nothing is known. `pattern` has full IRIs."""
    parts = _TRIPLE.fullmatch(pattern)
    if parts is None:
        return ""
    triple = _Triple(*parts.groups())
    found = chain(
        _wrong_prefix(triple),
        _wrong_language(triple, store),
        _wrong_direction(triple, store),
        _wrong_statement_form(triple, store),
        _values_of(triple, store, names),
    )
    return next(found, "")


def _wrong_prefix(triple: _Triple) -> Iterator[str]:
    for number in _PROPERTY_AS_THING.findall(triple.predicate):
        yield f"wd:{number} is the property itself; to ask for its values write wdt:{number}."
    for number in _ITEM_AS_PROPERTY.findall(" ".join(triple)):
        yield f"{number} is an entity, not a property: write wd:{number}, as subject or value."
    for number in _USED_PROPERTY.findall(f"{triple.subject} {triple.object}"):
        yield f"As subject or value a property is written wd:{number}."


def _wrong_language(triple: _Triple, store: Store) -> Iterator[str]:
    """Labels are in a language: "Heat" never equals "Heat"@en, the most common mistake."""
    text = re.match(_STRING, triple.object)
    if text is None:
        return
    for form in (f"{text[0]}@en", text[0]):
        if form != triple.object and holds(store, f"{triple.subject} {triple.predicate} {form}"):
            yield f"It matches with {form}: text with a language and text without are different."
    if triple.predicate.endswith(("#label>", "#altLabel>")):
        yield "No name is written exactly so: wikidata_search finds near ones."


def _wrong_direction(triple: _Triple, store: Store) -> Iterator[str]:
    if triple.object[0] in "\"'" or triple.subject[0] == triple.object[0] == "?":
        return
    turned = f"{triple.object} {triple.predicate} {triple.subject}"
    if holds(store, turned):
        yield f"The other way round it matches: `{shorten(turned)}`."


def _wrong_statement_form(triple: _Triple, store: Store) -> Iterator[str]:
    """Full statements may be there for some properties only."""
    for number in _STATEMENT.findall(triple.predicate):
        if holds(store, f"?subject <{WIKIDATA}prop/direct/{number}> ?value"):
            yield f"It may be stated as wdt:{number} only, without a statement of its own."


def _values_of(triple: _Triple, store: Store, names: NameIndex) -> Iterator[str]:
    """Whether the property is used at all, and what a value of it looks like."""
    if not re.fullmatch(r"<[^<>]*>", triple.predicate):
        return
    short = shorten(triple.predicate)
    found = next(iter(store.quads_for_pattern(None, NamedNode(triple.predicate[1:-1]), None)), None)
    if found is None:
        yield f"No statement has {short}."
        return
    value = found.object
    label = names.labels([value.value]).get(value.value) if isinstance(value, NamedNode) else None
    named = f" ({cut(label, MAX_LABEL)})" if label else ""
    yield f"{short} has values such as {shorten(str(value))}{named}."
