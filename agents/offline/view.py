"""What the offline reader can see: the messages and nothing else."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.offline.conditional import FORM
from branchwise.agents.offline.words import asked_name, base_name, unique

_SAYS = "may refer to"
_MAX_TITLE_CHARS = 200


_LEFT = re.compile(r"\n\n\[\d[^\[\]\n]* left[^\[\]\n]*\]\Z")


def result_of(message: BaseMessage) -> str:
    """What a tool returned, without what is left of the budget behind it."""
    return _LEFT.sub("", message.text)


def is_listing(function: Mapping[str, Any]) -> bool:
    """Whether a tool's description says that it lists what a name may refer to."""
    return _SAYS in str(function.get("description", "")).lower()


def listed_titles(messages: Sequence[BaseMessage], tool: str, name: str) -> tuple[str, ...]:
    """Titles that the results of `tool` list for `name`: it alone, or with a disambiguator."""
    calls = {
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["name"] == tool
    }
    shown = [
        result_of(m) for m in messages if isinstance(m, ToolMessage) and m.tool_call_id in calls
    ]
    return tuple(unique(title for text in shown for title in _titles(text, name)))


def _titles(text: str, name: str) -> Iterator[str]:
    """The beginnings of lines: `Heat (1995 film): by Michael Mann`, with or without a bullet."""
    title = re.compile(
        rf"^\s*(?:[-*•]\s+|\d+[.)]\s+)?({re.escape(name)}(?: \([^()]+\))?)\s*(?:$|[:,;–—-])",
        re.IGNORECASE,
    )
    for line in text.splitlines():
        found = title.match(line[:_MAX_TITLE_CHARS])
        if found:
            yield found[1]


MAX_READINGS = 50
_ITEM = re.compile(r"\s*[-*•–]\s+(\S.*)")
_GIVEN = re.compile(r"\s*\[?Fragment\s+\d", re.IGNORECASE)
_OF_QUESTION = re.compile(r"\bquestion\b", re.IGNORECASE)
_OF_READINGS = re.compile(
    r"\b(?:understood|readings?|interpret\w*|mean\w*|ways|senses?)\b", re.IGNORECASE
)


def _split_listed(asked: str, heading: str) -> tuple[str, tuple[str, ...]]:
    """What is asked, and what a numbered list at its end gives, such as conditions."""
    before, head, tail = asked.rpartition(heading)
    listed = [found[1] for line in tail.splitlines() if (found := _LISTED.fullmatch(line))]
    return (before, tuple(listed)) if head and listed else (asked, ())


def _split_readings(message: str) -> tuple[str, tuple[str, ...]]:
    """The message before its section of readings, and the readings: at least two, or none.

    Passages may hold lists of their own. Where some are given, only a list that is introduced as
    ways to understand the question counts; a question alone is one line, so any list will do.
    """
    lines = message.splitlines()
    runs = _runs(lines)
    if not runs:
        return message, ()
    first, readings = runs[-1]
    start = _introduction(lines, first)
    if not any(map(_GIVEN.match, lines)):
        start = next((n for n in range(1, first) if not lines[n].strip()), first)
    elif not _introduces("\n".join(lines[start:first])):
        return message, ()
    return "\n".join(lines[:start]).rstrip(), readings[:MAX_READINGS]


def _runs(lines: list[str]) -> list[tuple[int, tuple[str, ...]]]:
    """Lines with dashes that follow each other, two at least: number of the first, and texts."""
    items = [_ITEM.match(line) for line in lines]
    groups = [list(group) for listed, group in groupby(enumerate(items), lambda e: bool(e[1]))]
    return [
        (group[0][0], tuple(found[1].rstrip() for _, found in group if found))
        for group in groups
        if group[0][1] and len(group) > 1
    ]


def _introduction(lines: list[str], first: int) -> int:
    """Where the paragraph begins that a list belongs to: on the lines before it, or apart."""
    start = first
    while start > 1 and not lines[start - 1].strip():
        start -= 1
    while start > 1 and lines[start - 1].strip():
        start -= 1
    return start


def _introduces(paragraph: str) -> bool:
    return bool(_OF_QUESTION.search(paragraph) and _OF_READINGS.search(paragraph))


_FRAGMENT = re.compile(r"^\s*\[?(Fragment\s+\d+)\]?\s*[:.)-]?\s*(.*)$", re.IGNORECASE)
_HEADER = re.compile(r"^\[([^\[\]\s]{1,200})\]\s+(\S.*)$")
_PART = re.compile(r" · \d+ of \d+$")
_QUESTION = re.compile(r"^[^\S\n]*\**question\**\s*:\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)


class Seen(NamedTuple):
    """A passage as it was shown; `id` is what a citation of it must say."""

    id: str
    title: str
    text: str

    @property
    def base(self) -> str:
        """The title without its disambiguator."""
        return base_name(self.title)


_WITH_CHOICE = re.compile(r"(.+), (?:[^,:]{1,60} )?which [^:]{1,100}: (.+)", re.IGNORECASE)
_CONDITIONS, _ANSWERS = "\n\nConditions:\n", "\n\nIts answers:\n"
_LISTED = re.compile(r"\d+\. (.+)")


@dataclass(frozen=True)
class View:
    """The conversation as the reader understands it."""

    question: str
    passages: tuple[Seen, ...]
    queries: tuple[str, ...]
    """Queries asked so far."""
    turns: int
    """Assistant messages so far."""
    wants_conditions: bool
    must_answer: bool
    """A later user message (budget spent, repair) asks for the answer."""
    readings: tuple[str, ...] = ()
    """What the user's message lists as readings or conditions of the question; often nothing."""
    told: tuple[str, ...] = ()
    """Answers that the user's message lists, of any reading."""
    wants_texts: bool = False
    """Answers in sentences, without conditions."""
    wants_verdict: bool = False
    """Whether the question is ambiguous, and no answer."""
    wants_clarification: bool = False
    """Which reading is meant, and no answer."""
    wants_groups: bool = False
    """A short answer and groups of conditions, of documents that are in the message."""
    in_steps: bool = False
    """With the reasoning before the answer."""
    message: str = ""
    """The first user's message, as it was."""
    listed: tuple[str, ...] = ()
    """Titles that a tool listed as what the asked name may refer to."""
    chosen: str = ""
    """Which reading the user means: behind the question, or said when they were asked back."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], listing: str | None = None) -> "View":
        """Read a conversation; passages come in the order in which they were last shown.

        `listing`: the tool that lists what a name may refer to; its calls are not searches.
        """
        system = " ".join(m.text for m in messages if isinstance(m, SystemMessage))
        messages, chosen = _without_dialogue(messages)
        users = [m.text for m in messages if isinstance(m, HumanMessage)]
        spoken = [m for m in messages if isinstance(m, AIMessage)]
        asked, readings = _split_readings(users[0]) if users else ("", ())
        asked, conditions = _split_listed(asked, _CONDITIONS)
        asked, told = _split_listed(asked, _ANSWERS)
        question, given = _question(asked), list(_fragments(asked))
        if not chosen and (found := _WITH_CHOICE.fullmatch(question)):
            question, chosen = f"{found[1]}?", found[2]
        shown = [p for m in messages if isinstance(m, ToolMessage) for p in _results(result_of(m))]
        return cls(
            question=question,
            passages=_once(given, shown),
            queries=tuple(_queries(spoken, listing)),
            turns=len(spoken),
            wants_conditions='"conditions"' in system,
            wants_texts='"answers": [' in system,
            wants_verdict='"ambiguous":' in system,
            wants_clarification='"clarification_question":' in system,
            wants_groups=FORM in system,
            in_steps="step by step" in system,
            message=users[0] if users else "",
            must_answer=len(users) > 1,
            readings=readings or conditions,
            told=told,
            listed=listed_titles(messages, listing, asked_name(question)) if listing else (),
            chosen=chosen,
        )


def _without_dialogue(messages: Sequence[BaseMessage]) -> tuple[Sequence[BaseMessage], str]:
    """The conversation without a question back and what the user chose, and the latter."""
    talk = [m for m in messages if not isinstance(m, SystemMessage)][:3]
    match talk:
        case [HumanMessage(), AIMessage(tool_calls=[]) as asked, HumanMessage() as choice] if (
            asked.text.rstrip().endswith("?")
        ):
            rest = [m for m in messages if m is not asked and m is not choice]
            return rest, choice.text.strip()
    return messages, ""


def _once(given: Sequence[Seen], shown: Iterable[Seen]) -> tuple[Seen, ...]:
    """Each passage once, the latest last. What tools showed of it is joined: extracts differ."""
    whole: dict[str, Seen] = {}
    for passage in shown:
        known = whole.pop(passage.id, passage)
        if passage.text not in known.text:
            known = known._replace(text=f"{known.text} … {passage.text}")
        whole[passage.id] = known
    return (*list({p.id: p for p in reversed(given)}.values())[::-1], *whole.values())


def _queries(messages: Sequence[AIMessage], listing: str | None) -> Iterator[str]:
    for message in messages:
        for call in message.tool_calls:
            args: Mapping[str, Any] = call["args"]
            if call["name"] == listing:
                continue
            if "kind" not in args and "SELECT" not in str(args.get("query")):  # a graph's tools
                yield from (value for value in args.values() if isinstance(value, str))


def _fragments(text: str) -> Iterator[Seen]:
    """Numbered passages of a user message: `Fragment k` heads each, its title beside it."""
    head: tuple[str, str] | None = None
    lines: list[str] = []
    for line in [*text.splitlines(), "Fragment 0"]:
        found = _FRAGMENT.match(line)
        if not found:
            lines.append(line)
            continue
        if head is not None:
            yield Seen(head[0], head[1] or head[0], "\n".join(lines).strip())
        number = re.sub(r"\D", "", found[1])
        head, lines = (f"Fragment {number}", found[2].strip().strip("()\"'")), []


def _results(text: str) -> Iterator[Seen]:
    """Blocks `[id] Title`, newline, text, with empty lines between them; " · 2 of 3" behind a title
    says which of its passages it is."""
    for block in re.split(r"\n\s*\n", text):
        first, _, rest = block.strip().partition("\n")
        found = _HEADER.match(first)
        if found and rest.strip():
            title = _PART.sub("", found[2].strip())
            yield Seen(found[1], title.strip("\"'"), rest.strip())


def _question(text: str) -> str:
    marked = _QUESTION.search(text)
    if marked:
        return marked[1].strip()
    before = []
    for line in text.splitlines():
        if _FRAGMENT.match(line):
            break
        before.append(line)
    asked = "\n".join(before).strip() or text.strip()
    ends = [line for line in asked.splitlines() if line.rstrip().endswith("?")]
    return (ends[0] if ends else asked).strip()[:2000]
