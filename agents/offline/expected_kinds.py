"""What kinds of things a name in a question may be, by the words around it.

General English: what is directed is a film or a series, who directs is a person, and what people
are born in is a place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from branchwise.agents.offline.words import stem, words

MAX_BESIDE = 8
"""Words on each side of a name that say what it may be."""
MAX_CHARACTERS = 500
"""Before a name, in which these words and names joined with it are looked for."""
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


def _by_word(said: Mapping[str, str]) -> dict[tuple[str, str], LikelyKinds]:
    """By a word's stem and the preposition behind it, "" where none is asked for."""
    found: dict[tuple[str, str], LikelyKinds] = {}
    for forms, kinds in said.items():
        *heads, last = forms.split()
        preposition = last if last in _PREPOSITIONS else ""
        for form in heads if preposition else (*heads, last):
            found[stem(form), preposition] = tuple(map(_split, kinds.split(";")))
    return found


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
    left = words(_without_coordinated(before[-MAX_CHARACTERS:]))[: -MAX_BESIDE - 1 : -1]
    right = words(_CLAUSE_END.split(after, maxsplit=1)[0])[:MAX_BESIDE]
    said, further = _said_before(left)
    if said := said or _said_behind(right, is_passive=bool(left) and left[0].lower() in _BE):
        yield said
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


def _said_before(left: Sequence[str]) -> tuple[LikelyKinds | None, Sequence[str]]:
    """What the nearest word says that takes the name, and the words before it.

    `left`: the words before the name, the nearest first.
    """
    bare = [word.lower() for word in left if word.lower() not in _ARTICLES]
    preposition = bare[0] if bare and bare[0] in _PREPOSITIONS else ""
    for n, word in enumerate(bare):
        if word in _RELATIVE or stem(word) in _ELSEWHERE:
            break
        said = _SAID_OF.get((stem(word), preposition))
        if said is None and preposition in ("", "of"):
            said = _SAID_OF.get((stem(word), ""))
        if said:
            return said, bare[n + 1 :]
    return None, bare


def _said_behind(right: Sequence[str], *, is_passive: bool) -> LikelyKinds | None:
    """What the verb behind a name says: the name does it, or it is done to it ("was born").

    `is_passive`: the question has turned the words round ("was Heat directed").
    """
    bare = [word.lower() for word in right if word.lower() not in _PASSED_OVER]
    is_passive = is_passive or (bool(bare) and bare[0] in _BE)
    verb = next((word for word in bare if word not in _BE), "")
    return _SAID_OF.get((stem(verb), "" if is_passive else "by"))
