"""What the offline reader can see: the messages and nothing else."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.offline.listed import split_readings
from branchwise.agents.offline.listings import listed_titles
from branchwise.agents.offline.words import asked_name, base_name

_FRAGMENT = re.compile(r"^\s*\[?(Fragment\s+\d+)\]?\s*[:.)-]?\s*(.*)$", re.IGNORECASE)
_HEADER = re.compile(r"^\[([^\[\]\s]{1,200})\]\s+(\S.*)$")
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
    """What the user's message lists as readings of the question; empty where it lists none."""
    listed: tuple[str, ...] = ()
    """Titles that a tool listed as what the asked name may refer to."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], listing: str | None = None) -> "View":
        """Read a conversation; passages come in the order in which they were last shown.

        `listing`: the tool that lists what a name may refer to; its calls are no searches.
        """
        system = " ".join(m.text for m in messages if isinstance(m, SystemMessage))
        users = [m.text for m in messages if isinstance(m, HumanMessage)]
        spoken = [m for m in messages if isinstance(m, AIMessage)]
        asked, readings = split_readings(users[0]) if users else ("", ())
        question, given = _question(asked), list(_fragments(asked))
        shown = [p for m in messages if isinstance(m, ToolMessage) for p in _results(m.text)]
        return cls(
            question=question,
            passages=_once(given, shown),
            queries=tuple(_queries(spoken, listing)),
            turns=len(spoken),
            wants_conditions='"conditions"' in system,
            must_answer=len(users) > 1,
            readings=readings,
            listed=listed_titles(messages, listing, asked_name(question)) if listing else (),
        )


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
    """Blocks `[id] Title`, newline, text, with empty lines between them."""
    for block in re.split(r"\n\s*\n", text):
        first, _, rest = block.strip().partition("\n")
        found = _HEADER.match(first)
        if found and rest.strip():
            yield Seen(found[1], found[2].strip().strip("\"'"), rest.strip())


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
