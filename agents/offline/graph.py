"""Using a knowledge graph without understanding language: names to numbers, a word to a property.

Three steps, each a tool call through the protocol that any model uses: who bears the asked name,
which property the rest of the question means, what these entities have by it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from branchwise.agents.offline.graph_view import GraphView, Property, Thing
from branchwise.agents.offline.words import STOP_WORDS, asked_name, stem, words

MAX_READINGS = 14
_ASKING = "who whom whose what which when where how many much long old tall name list"
_ASKS = frozenset(_ASKING.split())


def next_graph_call(
    question: str, view: GraphView, tools: Mapping[str, Any]
) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of the next call, None where there is nothing more to ask."""
    search, query = tools.get("search"), tools.get("query")
    name = asked_name(question)
    if search is None or not name:
        return None
    if not view.asked:
        return search, {"text": name, "kind": "item"}
    bearers = _bearers(name, view)
    if not bearers:
        return None
    if not view.property_asked:
        phrase = _phrase(question, name)
        return (search, {"text": phrase, "kind": "property"}) if phrase else None
    if query is None or view.queried or not view.properties:
        return None
    return query, {"query": _sparql(bearers, view.properties[0])}


def graph_answers(question: str, view: GraphView) -> dict[str, list[str]]:
    """Answers by reading, or by `default` where only one thing has any."""
    by_thing: dict[str, list[str]] = {}
    for iri, value in view.rows:
        by_thing.setdefault(iri, []).append(value)
    found: dict[str, list[str]] = {}
    for thing in _bearers(asked_name(question), view):
        if thing.iri in by_thing:
            found.setdefault(thing.reading, []).extend(by_thing[thing.iri])
    found = {reading: list(dict.fromkeys(values)) for reading, values in found.items()}
    return found if len(found) != 1 else {"default": next(iter(found.values()))}


def graph_account(question: str, view: GraphView) -> str:
    """What was looked up in the graph and where that ended; empty where nothing was asked."""
    if not view.asked:
        return ""
    name = asked_name(question)
    if not _bearers(name, view):
        return f"found nothing called {name!r} in the graph"
    found, phrase = f"found {name!r} in the graph", _phrase(question, name)
    if not phrase:
        return f"{found}, but no word in the question for a property"
    if not view.properties:
        return f"{found}, but no property for {phrase!r}"
    if not view.queried:
        return f"{found}, but did not get to ask for {view.properties[0].label!r}"
    if not view.rows:
        return f"{found}, but no statement with {view.properties[0].label!r}"
    return f"took what the graph states by {view.properties[0].label!r}"


def _bearers(name: str, view: GraphView) -> list[Thing]:
    """Those called exactly so, else those with such an alias, else the best one."""
    asked = name.casefold()
    exact = [thing for thing in view.things if thing.label.casefold() == asked]
    aliased = [thing for thing in view.things if thing.alias.casefold() == asked]
    return (exact or aliased or list(view.things[:1]))[:MAX_READINGS]


def _phrase(question: str, name: str) -> str:
    named = {stem(word) for word in words(name)}
    kept = [
        word
        for word in words(question)
        if word.lower() not in STOP_WORDS and word.lower() not in _ASKS and stem(word) not in named
    ]
    return " ".join(kept)


def _sparql(things: Sequence[Thing], property: Property) -> str:
    values, by = " ".join(thing.term for thing in things), property.term
    return (
        f"SELECT DISTINCT ?thing ?value WHERE {{\n  VALUES ?thing {{ {values} }}\n"
        f"  {{ ?thing {by} ?value }}\n  UNION {{ ?value {by} ?thing }}\n}}"
    )
