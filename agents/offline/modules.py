"""Which part of a system is asked: the agent, or a module that is a single call without tools."""

import re
from collections.abc import Sequence
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


def _copied(message: str) -> str | None:
    """An extractor's reply: of each passage the sentences that share words with question or search,
    one a line, or NONE; None where the message asks for something else.

    Its head is lines without an empty one between. Behind it is one passage, or several that are
    each numbered and two lines behind the one before; the reply repeats the numbers and titles.
    """
    lines = message.strip().splitlines()
    head = list(takewhile(lambda line: line and not line.startswith(_PASSAGE), lines))
    if not head or not head[0].startswith(_QUESTION):
        return None
    if len(head) < len(lines) and lines[len(head)]:
        passages = [("", "\n".join(lines[len(head) + 1 :]))]
    else:
        blocks = message.strip().split("\n\n")[1:]
        read = [one for block in blocks if (one := _OF_SEVERAL.fullmatch(block))]
        if not blocks or len(read) < len(blocks):
            return None
        passages = [(f"{one[1]} {one[2]}\n", one[3]) for one in read]
    searched = " ".join(line.removeprefix(_SEARCHED) for line in head if line.startswith(_SEARCHED))
    wanted = stems(head[0].removeprefix(_QUESTION)) | stems(searched)
    copied = []
    for heading, text in passages:
        kept = [" ".join(s.split()) for s in sentences(text.strip()) if stems(s) & wanted]
        copied.append(heading + ("\n".join(kept) or NOTHING))
    return "\n\n".join(copied)


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
    if (copied := _copied(asked)) is not None:
        return copied
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
