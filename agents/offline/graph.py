"""Using a knowledge graph without understanding language: names to numbers, a word to a property.

Three steps, each a tool call through the protocol that any model uses: who bears the asked name,
which property the rest of the question means, what these entities have by it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from branchwise.agents.offline.words import STOP_WORDS, names, stem, words

MAX_READINGS = 14
_THING = re.compile(r"^(Q\d+)  (.*?)(?: \(found as .*?\))?(?:: (.*?))? \[[^\[\]]*\]$")
_PROPERTY = re.compile(r"^(P\d+)  (.*?)(?: \(found as .*?\))?(?:: .*?)? \[[^\[\]]*\]$")
_ROW = re.compile(r"^wd:(Q\d+)(?: \(.*?\))? \| (.*)$")
_NAMED = re.compile(r"^wd:Q\d+ \((.*)\)$")
_DETAILS = re.compile(r"\s+(?:by|directed|from|in|of|with|for)\b.*$")
_ASKING = "who whom whose what which when where how many much long old tall name list"
_ASKS = frozenset(_ASKING.split())


@dataclass(frozen=True)
class Thing:
    """An entity that bears the asked name."""

    qid: str
    label: str
    description: str

    @property
    def reading(self) -> str:
        """A key for its answers: the name with what it is in brackets."""
        kind = _DETAILS.sub("", self.description)
        return f"{self.label} ({kind})" if kind else self.label


@dataclass(frozen=True)
class GraphView:
    """What the graph's tools have said so far."""

    asked: bool
    things: tuple[Thing, ...]
    property_asked: bool
    properties: tuple[str, ...]
    queried: bool
    rows: tuple[tuple[str, str], ...]  # number of a thing, and a value


def graph_view(messages: Sequence[BaseMessage]) -> GraphView:
    """Read the results of calls that this reader made, by their tool's name and arguments."""
    calls = {
        call["id"]: call
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    things: list[Thing] = []
    properties: list[str] = []
    rows: list[tuple[str, str]] = []
    for message in messages:
        if not isinstance(message, ToolMessage) or message.tool_call_id not in calls:
            continue
        args = calls[message.tool_call_id]["args"]
        for line in str(message.content).splitlines():
            if args.get("kind") == "item" and (found := _THING.match(line)):
                things.append(Thing(found[1], found[2], found[3] or ""))
            elif args.get("kind") == "property" and (found := _PROPERTY.match(line)):
                properties.append(found[1])
            elif "query" in args and (found := _ROW.match(line)):
                rows.append((found[1], _value(found[2])))
    asked = [call["args"].get("kind") for call in calls.values()]
    queried = any("VALUES ?thing" in str(call["args"].get("query")) for call in calls.values())
    return GraphView(
        "item" in asked, tuple(things), "property" in asked, tuple(properties), queried, tuple(rows)
    )


def _value(text: str) -> str:
    named = _NAMED.match(text)
    return named[1] if named else text


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
    for qid, value in view.rows:
        by_thing.setdefault(qid, []).append(value)
    found = {
        thing.reading: list(dict.fromkeys(by_thing[thing.qid]))
        for thing in _bearers(asked_name(question), view)
        if thing.qid in by_thing
    }
    return found if len(found) != 1 else {"default": next(iter(found.values()))}


def asked_name(question: str) -> str:
    """The longest capitalised name in the question."""
    found = (match[0].rstrip(".") for match in names(question))
    return max((name.removesuffix("'s") for name in found), key=len, default="")


def _bearers(name: str, view: GraphView) -> list[Thing]:
    """Those called exactly so, or the best one where none is."""
    exact = [thing for thing in view.things if thing.label.casefold() == name.casefold()]
    return (exact or list(view.things[:1]))[:MAX_READINGS]


def _phrase(question: str, name: str) -> str:
    named = {stem(word) for word in words(name)}
    kept = [
        word
        for word in words(question)
        if word.lower() not in STOP_WORDS and word.lower() not in _ASKS and stem(word) not in named
    ]
    return " ".join(kept)


def _sparql(things: Sequence[Thing], number: str) -> str:
    values = " ".join(f"wd:{thing.qid}" for thing in things)
    return (
        f"SELECT DISTINCT ?thing ?value WHERE {{ VALUES ?thing {{ {values} }} "
        f"{{ ?thing wdt:{number} ?value }} UNION {{ ?value wdt:{number} ?thing }} }}"
    )
