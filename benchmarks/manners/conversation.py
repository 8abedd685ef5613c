"""What a scripted model sees: the question, its calls with what they brought, the calls left."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

_HEADER = re.compile(r"^\[([^\[\]\s]{1,200})\]\s+(\S.*)$")
_PART = re.compile(r"\b(\d+) of (\d+)\b")
# What may follow a title on its line: which of its passages this is, that it was shown before.
_AFTER_TITLE = re.compile(
    r"\s+(?:[(\[—–·:-]+\s*)?(?:passage\s+)?\d+ of \d+\b.*$"
    r"|\s+[(\[—–·:-]+\s*(?:shown|already|repeated|see|as)\b.*$",
    re.IGNORECASE,
)
_READING = re.compile(r"^- (\S.*)$", re.MULTILINE)
_LEFT = re.compile(
    r"\b(\d+)(?: of \d+)?(?: more)?(?: tool| search)?(?: |-)(?:calls?|searches)\b"
    r"[^\]\n]{0,40}?\b(?:left|remain\w*)\b"
    r"|\b(?:calls?|searches) (?:left|remaining)\W+(\d+)",
    re.IGNORECASE,
)


class ShownPassage(NamedTuple):
    """A passage as a result shows it; `text` is "" where only its title was. `parts`: how many
    passages its title has, as far as the result says."""

    id: str
    title: str
    text: str
    parts: int = 1


@dataclass(frozen=True)
class AnsweredCall:
    """A tool call, and the passages of its result."""

    name: str
    args: Mapping[str, Any]
    passages: tuple[ShownPassage, ...] = ()

    @property
    def queries(self) -> tuple[str, ...]:
        """What it searched for."""
        asked = (self.args.get("query", ""), *self.args.get("more_queries", ()))
        return tuple(str(query) for query in asked if query)


@dataclass(frozen=True)
class Conversation:
    """The messages as read. `turns`: of the model so far. `told`: a later message of the user asks
    for the answer. `left`: calls that are left, None where no result says so."""

    question: str
    readings: tuple[str, ...]
    calls: tuple[AnsweredCall, ...]
    turns: int
    told: bool
    left: int | None

    @classmethod
    def of(cls, messages: Sequence[BaseMessage]) -> "Conversation":
        """Read a request's messages."""
        users = [message.text for message in messages if isinstance(message, HumanMessage)]
        first = users[0] if users else ""
        readings = tuple(_READING.findall(first))
        return cls(
            question=first.strip().splitlines()[0] if first.strip() else "",
            readings=readings if len(readings) > 1 else (),
            calls=tuple(_calls(messages)),
            turns=sum(isinstance(message, AIMessage) for message in messages),
            told=len(users) > 1,
            left=_calls_left(messages),
        )

    @property
    def passages(self) -> tuple[ShownPassage, ...]:
        """All that was shown, each passage once, in the order first shown, with its longest
        text."""
        found: dict[str, ShownPassage] = {}
        for call in self.calls:
            for passage in call.passages:
                known = found.setdefault(passage.id, passage)
                if len(passage.text) > len(known.text):
                    found[passage.id] = passage
        return tuple(found.values())

    @property
    def asked(self) -> frozenset[str]:
        """All queries so far, in lower case."""
        return frozenset(query.lower() for call in self.calls for query in call.queries)


def _calls(messages: Sequence[BaseMessage]) -> Iterator[AnsweredCall]:
    results = {m.tool_call_id: m.text for m in messages if isinstance(m, ToolMessage)}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            shown = tuple(shown_passages(results.get(str(call["id"]), "")))
            yield AnsweredCall(call["name"], call["args"], shown)


def shown_passages(result: str) -> Iterator[ShownPassage]:
    """The passages of a tool's result: `[id] Title` heads each, its text is on the lines below."""
    head: re.Match[str] | None = None
    text: list[str] = []
    for line in [*result.splitlines(), ""]:
        found = _HEADER.match(line)
        if head and (found or not line.strip()):
            part = _PART.search(head[2])
            title = _AFTER_TITLE.sub("", head[2]).strip()
            yield ShownPassage(head[1], title, " ".join(text), int(part[2]) if part else 1)
            head = None
        if found:
            head, text = found, []
        else:
            text.append(line)


def _calls_left(messages: Sequence[BaseMessage]) -> int | None:
    """The fewest calls left that the results of the last turn name."""
    last = max((n for n, m in enumerate(messages) if isinstance(m, AIMessage)), default=-1)
    results = [m.text for m in messages[last + 1 :] if isinstance(m, ToolMessage)]
    found = [match for text in results for match in _LEFT.finditer(text)]
    return min((int(match[1] or match[2]) for match in found), default=None)
