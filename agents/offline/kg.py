"""Using a knowledge graph without understanding language: names to numbers, a word to a property.

Three steps, each a tool call through the protocol that any model uses: who bears the asked name,
which property the rest of the question means, what these entities have by it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from branchwise.agents.offline.view import result_of
from branchwise.agents.offline.words import asked_name, words_beside

MAX_READINGS = 14
_IRI = r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\s<>\"{}|\\^`]+"
_MATCH = re.compile(
    rf"^(?P<id>[QP]\d+|<?{_IRI}>?)  (?P<label>.*?)"
    r"(?: \(found as (?P<quote>['\"])(?P<alias>.*?)(?P=quote)\))?"
    r"(?:: (?P<about>.*?))?(?: \[[^\[\]]*\]|…)$"
)
_ONLY_NEAR = re.compile(r"^nothing is called |\bnearest names\b")
_TERM = rf"(?:<{_IRI}>|(?:wd|wds|wdt|p|ps|pq|rdfs|skos|schema):\S+)"
_ROW = re.compile(rf"^(?P<thing>{_TERM})(?: \(.*?\))? \| (?P<value>.*)$")
_NAMED = re.compile(rf"^{_TERM} \((.*)\)$")
_DETAILS = re.compile(r"(?<!\s)\s++(?:by|directed|from|in|of|with|for)\b.*$")
_ENTITY = "http://www.wikidata.org/entity/"
_PREFIXES = {
    "wd:": _ENTITY,
    "rdfs:": "http://www.w3.org/2000/01/rdf-schema#",
    "skos:": "http://www.w3.org/2004/02/skos/core#",
    "schema:": "http://schema.org/",
}
"""With which the tools shorten what a graph's things may be called."""
_ASKING = "who whom whose what which when where how many much long old tall name list"
_ASKS = frozenset(_ASKING.split())


@dataclass(frozen=True)
class KgEntity:
    """An entity that bears the asked name."""

    iri: str
    label: str
    alias: str
    description: str

    @property
    def reading(self) -> str:
        """A key for its answers: the name with what it is in brackets."""
        what = _DETAILS.sub("", self.description)
        return f"{self.label} ({what})" if what else self.label


@dataclass(frozen=True)
class KgProperty:
    """A property by number or by IRI."""

    id: str
    label: str


@dataclass(frozen=True)
class KgView:
    """What the graph's tools have said so far; no names that are only near the asked one."""

    asked: bool
    things: tuple[KgEntity, ...]
    property_asked: bool
    properties: tuple[KgProperty, ...]
    queried: bool
    rows: tuple[tuple[str, str], ...]
    """What the query found: an entity's IRI and a value."""

    def bearers(self, name: str) -> list[KgEntity]:
        """Those called exactly so, else those with such an alias, else the best one."""
        asked = name.casefold()
        exact = [thing for thing in self.things if thing.label.casefold() == asked]
        aliased = [thing for thing in self.things if thing.alias.casefold() == asked]
        return (exact or aliased or list(self.things[:1]))[:MAX_READINGS]


def kg_view(messages: Sequence[BaseMessage]) -> KgView:
    """Read the results of calls that this reader made, by their arguments."""
    turns = [message for message in messages if isinstance(message, AIMessage)]
    calls = {call["id"]: call["args"] for turn in turns for call in turn.tool_calls}
    things: list[KgEntity] = []
    properties: list[KgProperty] = []
    rows: list[tuple[str, str]] = []
    for message in messages:
        if not isinstance(message, ToolMessage) or message.tool_call_id not in calls:
            continue
        args, lines = calls[message.tool_call_id], result_of(message).splitlines()
        if _is_query(args):
            for row in filter(None, map(_ROW.match, lines)):
                named = _NAMED.match(row["value"])
                rows.append((_expanded(row["thing"]), named[1] if named else row["value"]))
        elif args.get("kind") == "item":
            sure = takewhile(lambda line: _MATCH.match(line) or not _ONLY_NEAR.search(line), lines)
            for match in filter(None, map(_MATCH.match, sure)):
                alias, about = match["alias"] or "", match["about"] or ""
                things.append(KgEntity(_expanded(match["id"]), match["label"], alias, about))
        elif args.get("kind") == "property":
            for match in filter(None, map(_MATCH.match, lines)):
                properties.append(KgProperty(match["id"].strip("<>"), match["label"]))
    asked = [args.get("kind") for args in calls.values()]
    return KgView(
        asked="item" in asked,
        things=tuple(things),
        property_asked="property" in asked,
        properties=tuple(properties),
        queried=any(map(_is_query, calls.values())),
        rows=tuple(rows),
    )


def _is_query(args: Mapping[str, Any]) -> bool:
    return "VALUES ?thing" in str(args.get("query"))


def _expanded(written: str) -> str:
    """The IRI that a number, a prefixed name or an IRI in brackets stands for."""
    if re.fullmatch(r"Q\d+", written):
        return _ENTITY + written
    prefix, colon, rest = written.partition(":")
    start = _PREFIXES.get(prefix + colon)
    return start + rest if start else written.strip("<>")


def next_kg_call(
    question: str, view: KgView, tools: Mapping[str, str]
) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of the next call, None where there is nothing more to ask."""
    search, query = tools.get("names"), tools.get("query")
    name = asked_name(question)
    if search is None or not name:
        return None
    if not view.asked:
        return search, {"text": name, "kind": "item"}
    bearers = view.bearers(name)
    if not bearers:
        return None
    if not view.property_asked:
        phrase = _phrase(question, name)
        return (search, {"text": phrase, "kind": "property"}) if phrase else None
    if query is None or view.queried or not view.properties:
        return None
    numbers = [bearer.iri.removeprefix(_ENTITY) for bearer in bearers]
    terms = [
        f"wd:{number}" if re.fullmatch(r"Q\d+", number) else f"<{bearer.iri}>"
        for number, bearer in zip(numbers, bearers, strict=True)
    ]
    id = view.properties[0].id
    by = f"wdt:{id}" if re.fullmatch(r"P\d+", id) else f"<{id}>"
    sparql = (
        f"SELECT DISTINCT ?thing ?value WHERE {{\n  VALUES ?thing {{ {' '.join(terms)} }}\n"
        f"  {{ ?thing {by} ?value }}\n  UNION {{ ?value {by} ?thing }}\n}}"
    )
    return query, {"query": sparql}


def kg_answers(question: str, view: KgView) -> dict[str, list[str]]:
    """Answers by reading, or by `default` where only one thing has any."""
    by_thing: dict[str, list[str]] = {}
    for iri, value in view.rows:
        by_thing.setdefault(iri, []).append(value)
    answers: dict[str, list[str]] = {}
    for bearer in view.bearers(asked_name(question)):
        if bearer.iri in by_thing:
            answers.setdefault(bearer.reading, []).extend(by_thing[bearer.iri])
    answers = {reading: list(dict.fromkeys(values)) for reading, values in answers.items()}
    return answers if len(answers) != 1 else {"default": next(iter(answers.values()))}


def kg_account(question: str, view: KgView) -> str:
    """What was looked up in the graph and where that ended; empty where nothing was asked."""
    if not view.asked:
        return ""
    name = asked_name(question)
    if not view.bearers(name):
        return f"found nothing called {name!r} in the graph"
    found, phrase = f"found {name!r} in the graph", _phrase(question, name)
    if not phrase:
        return f"{found}, but no word in the question for a property"
    if not view.properties:
        return f"{found}, but no property for {phrase!r}"
    label = view.properties[0].label
    if not view.queried:
        return f"{found}, but did not get to ask for {label!r}"
    if not view.rows:
        return f"{found}, but no statement with {label!r}"
    return f"took what the graph states by {label!r}"


def _phrase(question: str, name: str) -> str:
    return " ".join(w for w in words_beside(question, name) if w.lower() not in _ASKS)
