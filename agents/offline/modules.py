"""Which part of a system is asked: the agent, or a module that is a single call without tools."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from branchwise.agents.offline.namesakes import ListedNames, listed_readings
from branchwise.agents.offline.words import names, sentences, stems, words

MAX_CHARACTERS = 2000
_SCREEN = ("film", "television series", "play")
_SAID_OF = {
    "directed directs director directors": _SCREEN,
    "starred stars appeared appears acted acts cast": _SCREEN,
    "distributed distributes distributor distributors": ("film", "television series"),
    "produced produces producer producers": ("film", "album", "television series"),
    "wrote writes written writer writers": ("book", "song", "film"),
    "authored author authors": ("book", "play"),
    "composed composes composer composers": ("song", "film", "opera"),
    "performed performs performer performers recorded records": ("song", "album"),
    "sang sings sung singer singers": ("song", "album"),
    "released releases": ("film", "song", "album"),
    "published publishes publisher publishers": ("book", "video game"),
    "developed develops developer developers": ("video game", "computer program"),
    "founded founder founders": ("company", "newspaper", "university"),
    "coached coaches coach": ("football club", "basketball team"),
    "played plays play playing player players": ("football club", "basketball team"),
}
_KINDS = {form: kinds for forms, kinds in _SAID_OF.items() for form in forms.split()}
_TAKES = {
    **dict.fromkeys(("starred", "stars", "appeared", "appears", "acted", "acts"), ("in",)),
    **dict.fromkeys(("played", "plays", "play", "playing", "player", "players"), ("for",)),
}
"""Prepositions with which alone these verbs take a name as their object."""
_PREPOSITION = ("of", "for", "in", "on")
_BETWEEN = frozenset({"the", "music", "score", "soundtrack", "words", "lyrics", *_PREPOSITION})
_KINDS_NAMED = """
    film films movie movies picture documentary drama comedy thriller western horror animation
    musical opera play series show episode video book books novel novels story poem poems
    comic magazine newspaper song songs single album albums record band group duo orchestra
    game games software team teams club clubs company companies firm school university painting
"""
_TOLD_APART = frozenset(_KINDS_NAMED.split())
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})\b")
_ASKED_FOR = re.compile(r"^\W*(?:which|what) \w+", re.IGNORECASE)
_PASSIVE = re.compile(r"\b(?:is|was|are|were|been|be)(?: the)? $", re.IGNORECASE)
_PARTICIPLE = re.compile(r"\w+ed|written|sung")


def _expand(question: str) -> list[str]:
    """The readings of a question, or the question alone.

    The name that the question is about gets a kind of work or group in brackets, for each kind of
    which its verb is said. Where the question tells the thing apart already (brackets, a year, a
    kind beside the name), has several names or none, or no known verb, it has one reading.
    """
    asked = " ".join(question.split())
    named = _only_name(asked) if len(asked) <= MAX_CHARACTERS else None
    if named is None:
        return [asked]
    before, after = asked[: named[0]], asked[named[1] :]
    if _tells_apart(_ASKED_FOR.sub("", before)) or _tells_apart(after):
        return [asked]
    kinds = _kinds(before, after)
    return [f"{asked[: named[1]]} ({kind}){after}" for kind in kinds] or [asked]


def _only_name(question: str) -> tuple[int, int] | None:
    """Start and end of the one capitalised name in the question."""
    found = names(question)
    if len(found) != 1 or found[0][0].endswith(("'s", "’s")):
        return None
    # A full stop at the end of the name is the sentence's.
    return found[0].start(), found[0].start() + len(found[0][0].rstrip("."))


def _tells_apart(text: str) -> bool:
    told = not _TOLD_APART.isdisjoint(word.lower() for word in words(text))
    return told or bool(_YEAR.search(text) or re.search(r"[()\[\]]", text))


def _kinds(before: str, after: str) -> tuple[str, ...]:
    """What has a name after this verb, or before this participle: "did X direct" says who did."""
    if _PASSIVE.search(before):
        said = [word.lower() for word in words(after)[:2] if _PARTICIPLE.fullmatch(word)]
        return _KINDS.get(said[0], ()) if said else ()
    between: list[str] = []
    for word in map(str.lower, reversed(words(before))):
        if word in _KINDS:
            return _KINDS[word] if _fits(word, between) else ()
        if word not in _BETWEEN:
            break
        between.append(word)
    return ()


def _fits(verb: str, between: list[str]) -> bool:
    """Whether the words between a verb and a name make the name its object."""
    preposition = next((word for word in between if word in _PREPOSITION), "")
    return preposition in _TAKES.get(verb, ("", "of", "for"))


NOTHING = "NONE"
_QUESTION, _SEARCHED, _PASSAGE = "Question:", "Searched for:", "Passage:"
_OF_SEVERAL = re.compile(r"(Passage \d+:) (.*)\nText: (.*)")


@dataclass(frozen=True)
class _Request:
    """A passage, and why it was searched for."""

    question: str
    searched: str
    title: str
    text: str

    @classmethod
    def read(cls, message: str) -> "_Request | None":
        """The request in a user message; None where it is none.

        Its head is lines without an empty one between: an agent's question has passages after one.
        """
        lines = message.strip().splitlines()
        head = list(takewhile(lambda line: not line.startswith(_PASSAGE), lines))
        if len(head) in (0, len(lines)) or not all(head) or not head[0].startswith(_QUESTION):
            return None
        searched = next((line for line in head if line.startswith(_SEARCHED)), "")
        title, text = lines[len(head)], "\n".join(lines[len(head) + 1 :])
        return cls(
            head[0].removeprefix(_QUESTION).strip(),
            searched.removeprefix(_SEARCHED).strip(),
            title.removeprefix(_PASSAGE).strip(),
            text.strip(),
        )


@dataclass(frozen=True)
class _RequestForSeveral:
    """Several passages, each with its handle."""

    passages: tuple[tuple[str, _Request], ...]

    @classmethod
    def read(cls, message: str) -> "_RequestForSeveral | None":
        """The request in a user message; None where it is none.

        Its head is lines without an empty one between, each passage two lines behind one.
        """
        head, *blocks = message.strip().split("\n\n")
        found = [_OF_SEVERAL.fullmatch(block) for block in blocks]
        lines = head.splitlines()
        if not blocks or not lines or not lines[0].startswith(_QUESTION):
            return None
        searched = " ".join(
            line.removeprefix(_SEARCHED) for line in lines if line.startswith(_SEARCHED)
        )
        question = lines[0].removeprefix(_QUESTION).strip()
        read = [
            (one[1], _Request(question, searched.strip(), one[2], one[3])) for one in found if one
        ]
        return cls(tuple(read)) if len(read) == len(blocks) else None


def _extract_several(request: _RequestForSeveral) -> str:
    """Each passage's handle and title, and what the extractor copies of it."""
    parts = [f"{handle} {one.title}\n{_extract(one)}" for handle, one in request.passages]
    return "\n\n".join(parts)


def _extract(request: _Request) -> str:
    """The sentences that share words with question or search, one a line, or NONE."""
    wanted = stems(request.question) | stems(request.searched)
    found = [" ".join(s.split()) for s in sentences(request.text) if stems(s) & wanted]
    return "\n".join(found) or NOTHING


_SEVERAL = re.compile(
    r"\b(?:readings?|interpret\w*|understood|meanings?|ambigu\w*|disambigu\w*|unambigu\w*"
    r"|rephras\w*|rewrit\w*|reformulat\w*)\b",
    re.IGNORECASE,
)
_IN_LINES = re.compile(r"\blines?\b", re.IGNORECASE)
_IN_JSON = re.compile(r"[{}]|\bJSON\b", re.IGNORECASE)


def module_reply(messages: Sequence[BaseMessage]) -> str | None:
    """The reply to an extractor's or an expander's prompt; None where an agent is asked.

    An extractor's user message names a question, a search and a passage or several. An expander's
    is the question alone, or with namesakes of its names, under instructions that ask for readings
    in lines; an agent's ask for JSON.
    """
    if len(messages) != 2 or not isinstance(messages[1], HumanMessage):
        return None
    instructions, asked = messages[0], messages[1].text
    if not isinstance(instructions, SystemMessage):
        return None
    if (request := _Request.read(asked)) is not None:
        return _extract(request)
    if (several := _RequestForSeveral.read(asked)) is not None:
        return _extract_several(several)
    if not _asks_for_readings(instructions.text):
        return None
    listed = ListedNames.read(asked)
    return "\n".join(listed_readings(listed) if listed else _expand(asked))


def _asks_for_readings(instructions: str) -> bool:
    return bool(
        _SEVERAL.search(instructions)
        and _IN_LINES.search(instructions)
        and not _IN_JSON.search(instructions)
    )
