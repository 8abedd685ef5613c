"""Modules that are a single call without tools: extractors, reviewers of answers, and expanders,
which give the readings of a question, out of a list of namesakes where there is one.

What a name in a question may be is told by the words around it, in general English: what is
directed is a film or a series, who directs is a person, and what people are born in is a place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from branchwise.agents.offline.words import (
    base_name,
    contains_name,
    names,
    sentences,
    stem,
    stems,
    words,
)

MAX_BESIDE = 8
"""Words on each side of a name that say what it may be."""
MAX_BEFORE = 500
"""Characters before a name in which these words and names joined with it are looked for."""
PERSON = "person"
LikelyKinds = tuple[frozenset[str], ...]
"""What a name may be, the likeliest first."""

_TRADES = """
    film director, film score composer, football manager, business executive, footballer, actor,
    novelist, screenwriter, entrepreneur, scientist, musician, singer, composer, writer, player,
    poet, playwright, songwriter, politician
"""
_FIRMS = "company; film studio, record label, publisher, newspaper, football club"
_LEARNED = """
    scientist, novelist, writer, poet, politician, composer, film director, business executive
"""
_PLACES = "city, country, capital, town"
_SCREEN = "film, television series, play"
_SAID: Mapping[str, str] = {
    "direct directed director directors": f"{_SCREEN}, opera",
    "direct directed directs film films by": "film director; actor, screenwriter",
    "star starred starring stars featured features": "actor; singer, musician",
    "star starred starring stars featured features in": _SCREEN,
    "stars cast actors of": _SCREEN,
    "act acted acts appear appeared appears role roles in": _SCREEN,
    "act acted acts appear appeared star starred by": "actor; singer, musician",
    "play played plays playing in": f"band, {_SCREEN}",
    "play played plays playing for": "football club",
    "play played plays by": "footballer, player, musician, actor",
    "write wrote written writer author": "novel, book, play; song, film",
    "write wrote written novel novels book books by": "novelist, writer, poet, playwright",
    "script scripts screenplay": _SCREEN,
    "script scripts screenplay by": "screenwriter; film director, novelist, writer",
    "score scored scores soundtrack": _SCREEN,
    "score scored scores soundtrack by": "film score composer, composer, musician; singer, band",
    "compose composed composer": "song, opera; album, film",
    "compose composed music by": "musician, composer, film score composer, singer; band",
    "lyrics words": "song",
    "lyrics words by": "singer, songwriter, musician, novelist, poet",
    "perform performed sing sang sung performer": "song; album, opera",
    "record recorded": "album; song",
    "perform performed sing sang sung song songs by": "singer, band; musician",
    "record recorded album albums by": "singer, band; musician",
    "release released": "album, song, film, video game; novel, book",
    "release released by": "record label, film studio, publisher, singer, band, musician",
    "produce produced producer": "film, album; song, television series",
    "produce produced by": "film studio, musician; company, film director, singer, band",
    "made": "film; album, song",
    "publish published publisher": "novel, book, newspaper, video game",
    "publish published by": "publisher; company, newspaper",
    "sign signed": "band, singer; musician, footballer",
    "sign signed to": "record label",
    "sign signed for": "football club",
    "member members musicians of": "band",
    "belong belonged belongs to": "band; football club",
    "field fielded fields": "footballer, player",
    "coach coached coaches manage managed manages manager": "football club",
    "coach coached manage managed by": "football manager; player",
    "found founded founder start started": f"{_FIRMS}, band, university",
    "found founded start started by": "entrepreneur; business executive; person",
    "head headed heads lead leads run runs": _FIRMS,
    "own owned owns": _FIRMS.replace(";", ","),
    "own owned owns by": f"{_FIRMS}; person",
    "head headed heads lead leads run runs by": "business executive, entrepreneur; person",
    "supervise supervised": "scientist",
    "supervise supervised by": "scientist",
    "employ employed employs": "scientist, footballer, football manager; person",
    "include included includes": "musician, footballer, player; singer; person",
    "birthplace homeland born citizen": "person",
    "teach taught educate educated educates": f"{_LEARNED}; person",
    "attend attended study studied by": f"{_LEARNED}; person",
    "hometown": "person, band",
    "setting settings": "novel, book; film, play, television series",
    "based born died located formed set headquarters made lived in": _PLACES,
    "city town mayor inhabitants population of": _PLACES,
    "capital citizen citizens of": "country",
}
"""By verbs and nouns what they take: after a preposition, where the last word is one. What "by"
takes may also stand before the verb."""
_FIELDS: Mapping[str, str] = {
    "film films movie movies": "film; film director, actor, screenwriter, film score composer",
    "actor actors screenwriter screenwriters": "film; film director, actor, film score composer",
    "music singer singers band bands song songs album albums": (
        "album, song; band, singer, musician, record label"
    ),
    "record label labels": "album; song, band, singer",
    "literary novel novels book books novelist novelists": "novel, book; novelist, writer",
    "football footballer footballers": "football club, footballer, football manager",
}
_PREPOSITIONS = frozenset({"by", "for", "in", "of", "to"})
_ARTICLES = frozenset({"a", "an", "the"})
_RELATIVE = frozenset({"that", "which", "who", "whom", "whose"})
_BE = frozenset({"is", "was", "are", "were", "been", "be"})
_PASSED_OVER = frozenset({"has", "have", "had", "also", "ever", *_ARTICLES})
_HOLDERS = "city cities country countries company companies university universities"
_ELSEWHERE = frozenset(map(stem, _HOLDERS.split()))
"""Nouns that another thing is about: what is said before them is not said of the name."""
_CLAUSE_END = re.compile(r"[,;:.?!()]|\b(?:and|or|but)\b")
_COORDINATED = re.compile(r"(?:\bor|\band|\bbut not|\bbut|,)\s+$")
_CAPITALISED = re.compile(
    r"(?:\s(?:at|for|in|of|the|to)(?=\s[^\W\d_a-z]))?\s[^\W\d_a-z][\w.'’&-]*$"
)
_BRACKETS = re.compile(r"\s\([^()]*\)$")


def _split(listed: str) -> frozenset[str]:
    return frozenset(kind.strip() for kind in listed.split(","))


def _by_word(table: Mapping[str, str]) -> dict[tuple[str, str], LikelyKinds]:
    """By a word's stem and the preposition behind it, "" where none is asked for."""
    by_word: dict[tuple[str, str], LikelyKinds] = {}
    for forms, kinds in table.items():
        *heads, last = forms.split()
        preposition = last if last in _PREPOSITIONS else ""
        for form in heads if preposition else (*heads, last):
            by_word[stem(form), preposition] = tuple(map(_split, kinds.split(";")))
    return by_word


TRADES = _split(_TRADES)
"""Kinds of which each is a person as well."""
_SAID_OF, _FIELD_OF = _by_word(_SAID), _by_word(_FIELDS)
_LEVELS = (*_SAID_OF.values(), *_FIELD_OF.values())
KINDS = TRADES.union(*(kinds for levels in _LEVELS for kinds in levels)) - {PERSON}
"""Every kind that is told from others."""


def expected_kinds(question: str, name: str) -> Iterator[LikelyKinds]:
    """What a name may be, what says most about it first: by the verb or noun that has it as its
    object or subject, then by the field that is spoken of."""
    before, _, after = question.partition(name)
    left = words(_without_coordinated(before[-MAX_BEFORE:]))[: -MAX_BESIDE - 1 : -1]
    right = words(_CLAUSE_END.split(after, maxsplit=1)[0])[:MAX_BESIDE]
    kinds, further = _kinds_before(left)
    if kinds is None:
        # By the verb after it: the name does it, or it is done to it ("was born"), also where the
        # question has turned the words round ("was Heat directed").
        bare = [word.lower() for word in right if word.lower() not in _PASSED_OVER]
        is_passive = any(beside[0].lower() in _BE for beside in (left, bare) if beside)
        verb = next((word for word in bare if word not in _BE), "")
        kinds = _SAID_OF.get((stem(verb), "" if is_passive else "by"))
    if kinds:
        yield kinds
    about = takewhile(lambda word: stem(word) not in _ELSEWHERE, further)
    fields = (_FIELD_OF.get((stem(word), "")) for word in (*about, *right))
    if field := next(filter(None, fields), None):
        yield field


def _without_coordinated(before: str) -> str:
    """What stands before the first of the names that are joined with this one: "educated A or "."""
    while joined := _COORDINATED.search(before):
        whole = before[: joined.start()].rstrip()
        other = _BRACKETS.sub("", whole)
        while part := _CAPITALISED.search(other):
            other = other[: part.start()]
        if other == whole:
            return before
        before = f"{other} "
    return before


def _kinds_before(left: Sequence[str]) -> tuple[LikelyKinds | None, Sequence[str]]:
    """What the nearest word says that takes the name, and the words before it.

    `left`: the words before the name, the nearest first.
    """
    bare = [word.lower() for word in left if word.lower() not in _ARTICLES]
    preposition = bare[0] if bare and bare[0] in _PREPOSITIONS else ""
    for n, word in enumerate(bare):
        if word in _RELATIVE or stem(word) in _ELSEWHERE:
            break
        kinds = _SAID_OF.get((stem(word), preposition))
        if kinds is None and preposition in ("", "of"):
            kinds = _SAID_OF.get((stem(word), ""))
        if kinds:
            return kinds, bare[n + 1 :]
    return None, bare


_FOUND = re.compile(r"^Found for (?P<quote>['\"])(?P<name>.+)(?P=quote):$")
_ITEM = re.compile(r"^- (?P<title>.+?)(?: — (?P<about>.*))?$")
_KIND = "|".join(re.escape(kind) for kind in sorted(KINDS, key=len, reverse=True))
_KINDS_SAID = re.compile(rf"\b({_KIND})s?\b(?: and (?:an? )?({_KIND})\b)?", re.IGNORECASE)


class Namesake(NamedTuple):
    """A title, and what is said of it."""

    title: str
    about: str

    @property
    def kinds(self) -> frozenset[str]:
        """What it is: by its brackets, else by the first words for a kind that are said of it."""
        brackets = self.title[len(base_name(self.title)) :]
        match = _KINDS_SAID.search(brackets) or _KINDS_SAID.search(self.about)
        kinds = {kind.lower() for kind in match.groups() if kind} if match else set()
        is_person = re.search(r"\bborn\b", brackets) or not kinds.isdisjoint(TRADES)
        return frozenset({*kinds, PERSON} if is_person else kinds)


class ListedNames(NamedTuple):
    """A question with the namesakes that were found for its names."""

    question: str
    of_name: Mapping[str, Sequence[Namesake]]

    @classmethod
    def read(cls, message: str) -> "ListedNames | None":
        """What an expander is asked; None where the message lists nothing."""
        first, *lines = message.splitlines() or [""]
        of_name: dict[str, list[Namesake]] = {}
        known: list[Namesake] = []
        for line in lines:
            if heading := _FOUND.match(line):
                known = of_name.setdefault(heading["name"], [])
            elif item := _ITEM.match(line):
                known.append(Namesake(item["title"], item["about"] or ""))
        listed = first.startswith("Question: ") and any(of_name.values())
        return cls(first.removeprefix("Question: ").strip(), of_name) if listed else None


def listed_readings(listed: ListedNames) -> list[str]:
    """The question with each namesake that fits in the place of its name; alone, if there are not
    two for any name.

    Those fit that are of a kind that the words around the name expect; all, where none of them is.
    """
    readings = []
    for name, namesakes in listed.of_name.items():
        fitting = namesakes
        for levels in expected_kinds(listed.question, name):
            likeliest: Sequence[Namesake] = ()
            # While it is not two of the likeliest kinds, those of the next kinds too.
            for n in range(1, len(levels) + 1):
                if len(likeliest) < 2:
                    kinds = frozenset[str]().union(*levels[:n])
                    likeliest = [namesake for namesake in fitting if namesake.kinds & kinds]
            fitting = likeliest or fitting
        if len(fitting) > 1:
            readings += [listed.question.replace(name, each.title, 1) for each in fitting]
    return readings or [listed.question]


MAX_CHARACTERS = 2000
_SHOWN = ("film", "television series", "play")
_WORKS_OF = {
    "directed directs director directors": _SHOWN,
    "starred stars appeared appears acted acts cast": _SHOWN,
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
_KINDS = {form: kinds for forms, kinds in _WORKS_OF.items() for form in forms.split()}
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
    named = names(asked) if len(asked) <= MAX_CHARACTERS else []
    if len(named) != 1 or named[0][0].endswith(("'s", "’s")):
        return [asked]
    # A full stop at the end of the name is the sentence's.
    end = named[0].start() + len(named[0][0].rstrip("."))
    before, after = asked[: named[0].start()], asked[end:]
    if _tells_apart(_ASKED_FOR.sub("", before)) or _tells_apart(after):
        return [asked]
    kinds = _kinds(before, after)
    return [f"{asked[:end]} ({kind}){after}" for kind in kinds] or [asked]


def _tells_apart(text: str) -> bool:
    has_kind = not _TOLD_APART.isdisjoint(word.lower() for word in words(text))
    return has_kind or bool(_YEAR.search(text) or re.search(r"[()\[\]]", text))


def _kinds(before: str, after: str) -> tuple[str, ...]:
    """What has a name after this verb, or before this participle: "did X direct" says who did."""
    if _PASSIVE.search(before):
        verbs = [word.lower() for word in words(after)[:2] if _PARTICIPLE.fullmatch(word)]
        return _KINDS.get(verbs[0], ()) if verbs else ()
    between: list[str] = []
    for word in map(str.lower, reversed(words(before))):
        if word in _KINDS:
            # The words between them make the name its object.
            preposition = next((other for other in between if other in _PREPOSITION), "")
            return _KINDS[word] if preposition in _TAKES.get(word, ("", "of", "for")) else ()
        if word not in _BETWEEN:
            break
        between.append(word)
    return ()


NOTHING = "NONE"
_ASKED, _SEARCHED, _PASSAGE = "Question:", "Searched for:", "Passage:"
_OF_SEVERAL = re.compile(r"(Passage \d+:) (.*)\nText: (.*)")
_ANSWERED = re.compile(r"Question: (.*)\n\nAnswer: (.*)\n\n(?s:.*)\nTitles of [^\n]*:\n((?s:.*))")
_SEVERAL = re.compile(
    r"\b(?:readings?|interpret\w*|understood|meanings?|ambigu\w*|disambigu\w*|unambigu\w*"
    r"|rephras\w*|rewrit\w*|reformulat\w*)\b",
    re.IGNORECASE,
)
_IN_LINES = re.compile(r"\blines?\b", re.IGNORECASE)
_IN_JSON = re.compile(r"[{}]|\bJSON\b", re.IGNORECASE)


def module_reply(messages: Sequence[BaseMessage]) -> str | None:
    """The reply to a module's prompt; None where an agent is asked.

    An extractor's user message names a question, a search and a passage or several, a reviewer's a
    question, its answer and titles. An expander's is the question alone, or with namesakes of its
    names, under instructions that ask for readings in lines; an agent's ask for JSON.
    """
    if len(messages) != 2 or not isinstance(messages[1], HumanMessage):
        return None
    instructions, asked = messages[0], messages[1].text
    if not isinstance(instructions, SystemMessage):
        return None
    if (copied := _copied(asked)) is not None:
        return copied
    if reviewed := _ANSWERED.fullmatch(asked.strip()):
        return _lacking(*reviewed.groups())
    text = instructions.text
    if not (_SEVERAL.search(text) and _IN_LINES.search(text)) or _IN_JSON.search(text):
        return None
    listed = ListedNames.read(asked)
    return "\n".join(listed_readings(listed) if listed else _expand(asked))


def _lacking(question: str, answer: str, titles: str) -> str:
    """A reviewer's reply: titles that differ from a name in the question by brackets alone, and
    that the answer does not have, if it has others of that name; or COMPLETE."""
    found = [line.removeprefix("- ") for line in titles.splitlines() if line.endswith(")")]
    namesakes = [one for one in found if contains_name(question, base_name(one))]
    answered = {base_name(one) for one in namesakes if contains_name(answer, one)}
    others = [one for one in namesakes if base_name(one) in answered]
    left_out = [one for one in others if not contains_name(answer, one)]
    return "\n".join(f"MISSING: {one}" for one in left_out) or "COMPLETE"


def _copied(message: str) -> str | None:
    """An extractor's reply: of each passage the sentences that share words with question or search,
    one a line, or NONE; None where the message asks for something else.

    Its head is lines without an empty one between. After it is one passage, or several that are
    each numbered and two lines after the one before; the reply repeats the numbers and titles.
    """
    lines = message.strip().splitlines()
    head = list(takewhile(lambda line: line and not line.startswith(_PASSAGE), lines))
    if not head or not head[0].startswith(_ASKED):
        return None
    if len(head) < len(lines) and lines[len(head)]:
        passages = [("", "\n".join(lines[len(head) + 1 :]))]
    else:
        blocks = message.strip().split("\n\n")[1:]
        matches = [match for block in blocks if (match := _OF_SEVERAL.fullmatch(block))]
        if not blocks or len(matches) < len(blocks):
            return None
        passages = [(f"{match[1]} {match[2]}\n", match[3]) for match in matches]
    searched = " ".join(line.removeprefix(_SEARCHED) for line in head if line.startswith(_SEARCHED))
    wanted = stems(head[0].removeprefix(_ASKED)) | stems(searched)
    copied = []
    for heading, text in passages:
        kept = [" ".join(s.split()) for s in sentences(text.strip()) if stems(s) & wanted]
        copied.append(heading + ("\n".join(kept) or NOTHING))
    return "\n\n".join(copied)
