"""What the offline reader can see: the messages and nothing else."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.offline.conditional import FORM
from branchwise.agents.offline.words import asked_name, base_name, unique

MAX_READINGS = 50
_MAX_TITLE_CHARS = 200
_LEFT = re.compile(r"\n\n\[\d[^\[\]\n]* left[^\[\]\n]*\]\Z")
_ITEM = re.compile(r"\s*[-*•–]\s+(\S.*)")
_GIVEN = re.compile(r"\s*\[?Fragment\s+\d", re.IGNORECASE)
_OF_QUESTION = re.compile(r"\bquestion\b", re.IGNORECASE)
_OF_READINGS = re.compile(
    r"\b(?:understood|readings?|interpret\w*|mean\w*|ways|senses?)\b", re.IGNORECASE
)
_FRAGMENT = re.compile(r"^\s*\[?(Fragment\s+\d+)\]?\s*[:.)-]?\s*(.*)$", re.IGNORECASE)
_HEADER = re.compile(r"^\[([^\[\]\s]{1,200})\]\s+(\S.*)$")
_PART = re.compile(r" · \d+ of \d+$")
_QUESTION = re.compile(r"^[^\S\n]*\**question\**\s*:\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_WITH_CHOICE = re.compile(r"(.+), (?:[^,:]{1,60} )?which [^:]{1,100}: (.+)", re.IGNORECASE)
_CONDITIONS, _ANSWERS = "\n\nConditions:\n", "\n\nIts answers:\n"
_LISTED = re.compile(r"\d+\. (.+)")


class Seen(NamedTuple):
    """A passage as it was shown; `id` is what a citation of it must say."""

    id: str
    title: str
    text: str

    @property
    def base(self) -> str:
        """The title without its disambiguator."""
        return base_name(self.title)


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
    """Which reading the user means: after the question, or said when they were asked back."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], listing: str | None = None) -> "View":
        """Read a conversation; passages come in the order in which they were last shown.

        `listing`: the tool that lists what a name may refer to; its calls are not searches.
        """
        system = " ".join(m.text for m in messages if isinstance(m, SystemMessage))
        messages, chosen = _without_dialogue(messages)
        users = [m.text for m in messages if isinstance(m, HumanMessage)]
        turns = [m for m in messages if isinstance(m, AIMessage)]
        asked, readings = _split_readings(users[0]) if users else ("", ())
        alone = readings[0] if len(readings) == 1 else ""
        asked, conditions = _split_listed(asked, _CONDITIONS)
        asked, told = _split_listed(asked, _ANSWERS)
        question, fragments = alone or _question(asked), list(_fragments(asked))
        if not chosen and (match := _WITH_CHOICE.fullmatch(question)):
            question, chosen = f"{match[1]}?", match[2]
        shown = [p for m in messages if isinstance(m, ToolMessage) for p in _results(result_of(m))]
        return cls(
            question=question,
            passages=_once(fragments, shown),
            queries=tuple(_queries(turns, listing)),
            turns=len(turns),
            wants_conditions='"conditions"' in system,
            wants_texts='"answers": [' in system,
            wants_verdict='"ambiguous":' in system,
            wants_clarification='"clarification_question":' in system,
            wants_groups=FORM in system,
            in_steps="step by step" in system,
            message=users[0] if users else "",
            must_answer=len(users) > 1,
            readings=() if alone else readings or conditions,
            told=told,
            listed=listed_titles(messages, listing, asked_name(question)) if listing else (),
            chosen=chosen,
        )


def result_of(message: BaseMessage) -> str:
    """What a tool returned, without what is left of the budget after it."""
    return _LEFT.sub("", message.text)


def is_listing(function: Mapping[str, Any]) -> bool:
    """Whether a tool's description says that it lists what a name may refer to."""
    return "may refer to" in str(function.get("description", "")).lower()


def listed_titles(messages: Sequence[BaseMessage], tool: str, name: str) -> tuple[str, ...]:
    """Titles that the results of `tool` list for `name`: it alone, or with a disambiguator.

    They begin lines: `Heat (1995 film): by Michael Mann`, with or without a bullet.
    """
    turns = [message for message in messages if isinstance(message, AIMessage)]
    calls = {call["id"] for turn in turns for call in turn.tool_calls if call["name"] == tool}
    title = re.compile(
        rf"^\s*(?:[-*•]\s+|\d+[.)]\s+)?({re.escape(name)}(?: \([^()]+\))?)\s*(?:$|[:,;–—-])",
        re.IGNORECASE,
    )
    lines = [
        title.match(line[:_MAX_TITLE_CHARS])
        for message in messages
        if isinstance(message, ToolMessage) and message.tool_call_id in calls
        for line in result_of(message).splitlines()
    ]
    return tuple(unique(match[1] for match in lines if match))


def _without_dialogue(messages: Sequence[BaseMessage]) -> tuple[Sequence[BaseMessage], str]:
    """The conversation without a question back and what the user chose, and the latter."""
    match [m for m in messages if not isinstance(m, SystemMessage)][:3]:
        case [HumanMessage(), AIMessage(tool_calls=[]) as asked, HumanMessage() as choice] if (
            asked.text.rstrip().endswith("?")
        ):
            rest = [m for m in messages if m is not asked and m is not choice]
            return rest, choice.text.strip()
    return messages, ""


def _split_readings(message: str) -> tuple[str, tuple[str, ...]]:
    """The message before its section of readings, and the readings. One line alone is one only
    where it is introduced as the way to understand the question.

    Passages may hold lists of their own. Where some are given, only a list that is introduced as
    ways to understand the question counts; a question alone is one line, so any list will do.
    """
    lines = message.splitlines()
    items = [_ITEM.match(line) for line in lines]
    runs = [list(run) for _, run in groupby(enumerate(items), lambda item: bool(item[1]))]
    lists = [run for run in runs if run[0][1]]
    if not lists:
        return message, ()
    listed = ([run for run in lists if len(run) > 1] or lists)[-1]
    first = start = listed[0][0]
    # The paragraph that the list belongs to is on the lines before it, or apart.
    while start > 1 and not lines[start - 1].strip():
        start -= 1
    while start > 1 and lines[start - 1].strip():
        start -= 1
    paragraph, is_given = "\n".join(lines[start:first]), any(map(_GIVEN.match, lines))
    is_introduced = _OF_QUESTION.search(paragraph) and _OF_READINGS.search(paragraph)
    if (is_given or len(listed) == 1) and not is_introduced:
        return message, ()
    if not is_given:
        start = next((n for n in range(1, first) if not lines[n].strip()), first)
    readings = tuple(item[1].rstrip() for _, item in listed if item)
    return "\n".join(lines[:start]).rstrip(), readings[:MAX_READINGS]


def _split_listed(asked: str, heading: str) -> tuple[str, tuple[str, ...]]:
    """What is asked, and what a numbered list at its end gives, such as conditions."""
    before, head, tail = asked.rpartition(heading)
    listed = [item[1] for line in tail.splitlines() if (item := _LISTED.fullmatch(line))]
    return (before, tuple(listed)) if head and listed else (asked, ())


def _question(text: str) -> str:
    if marked := _QUESTION.search(text):
        return marked[1].strip()
    before = []
    for line in text.splitlines():
        if _FRAGMENT.match(line):
            break
        before.append(line)
    asked = "\n".join(before).strip() or text.strip()
    ends = [line for line in asked.splitlines() if line.rstrip().endswith("?")]
    return (ends[0] if ends else asked).strip()[:2000]


def _fragments(text: str) -> Iterator[Seen]:
    """Numbered passages of a user message: `Fragment k` heads each, its title beside it."""
    head: tuple[str, str] | None = None
    lines: list[str] = []
    for line in [*text.splitlines(), "Fragment 0"]:
        heading = _FRAGMENT.match(line)
        if not heading:
            lines.append(line)
            continue
        if head is not None:
            yield Seen(head[0], head[1] or head[0], "\n".join(lines).strip())
        number = re.sub(r"\D", "", heading[1])
        head, lines = (f"Fragment {number}", heading[2].strip().strip("()\"'")), []


def _results(text: str) -> Iterator[Seen]:
    """Blocks `[id] Title`, newline, text, with empty lines between them; " · 2 of 3" after a title
    says which of its passages it is."""
    for block in re.split(r"\n\s*\n", text):
        first, _, rest = block.strip().partition("\n")
        header = _HEADER.match(first)
        if header and rest.strip():
            title = _PART.sub("", header[2].strip())
            yield Seen(header[1], title.strip("\"'"), rest.strip())


def _once(given: Sequence[Seen], shown: Iterable[Seen]) -> tuple[Seen, ...]:
    """Each passage once, the latest last. What tools showed of it is joined: extracts differ."""
    whole: dict[str, Seen] = {}
    for passage in shown:
        known = whole.pop(passage.id, passage)
        if passage.text not in known.text:
            known = known._replace(text=f"{known.text} … {passage.text}")
        whole[passage.id] = known
    return (*list({p.id: p for p in reversed(given)}.values())[::-1], *whole.values())


def _queries(turns: Sequence[AIMessage], listing: str | None) -> Iterator[str]:
    for call in (call for turn in turns for call in turn.tool_calls):
        args: Mapping[str, Any] = call["args"]
        is_graph = "kind" in args or "SELECT" in str(args.get("query"))
        if call["name"] != listing and not is_graph:
            yield from (value for value in args.values() if isinstance(value, str))
