"""Names that carry a qualifier: "Crater (2007 film)", "Malenza, Velmara", "Ana Silva, born 1952".

A name is a head and what is said of its bearer. What a prediction says is compared with what gold
says of the entity, in its forms and its description: it may say more or less, never something else.
Years, numbers, nouns of kind or occupation, and proper names are compared, each with its like.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import filterfalse, pairwise
from operator import or_
from typing import NamedTuple

from branchwise.base.normalise import MAX_CHARACTERS, normalise
from branchwise.eval import word_lists as lists
from branchwise.eval.name_words import name_words, singular

_BRACKET = re.compile(r"(.*[^\s(（\[])\s*[(（\[]((?:[^][()（）]|\([^()]*\))*)[])）]\s*", re.DOTALL)
_BORN = re.compile(r"(.*[^\s,])[\s,]+((?:born|b\.)\s.*)", re.DOTALL | re.IGNORECASE)
_TAIL = re.compile(r"(.*?[^\s,])(?:\s*,\s+|\s+[-–—]\s+)(\S.*)", re.DOTALL)
_COMPANY = re.compile(
    rf"(.*[^\s,])[\s,]+((?:{'|'.join(sorted(lists.COMPANY_FORMS))})\.?)\s*",
    re.DOTALL | re.IGNORECASE,
)
_LIST = re.compile(r"\band\b|&")
_CLOSING = tuple("])）")
_MAY_QUALIFY = re.compile(
    rf",|\s(?:[-–—]|born|b\.|of|in|from|by|{'|'.join(sorted(lists.COMPANY_FORMS))})\b"
    rf"|\s[-–—]\s|(?:{'|'.join(lists.MONTHS)})",
    re.IGNORECASE,
)
_LONG_REGION = re.compile(
    rf"\b(?:{'|'.join(sorted((r for r in lists.REGIONS if ' ' in r), reverse=True))})\b",
    re.IGNORECASE,
)
_MAGNITUDE = re.compile(r"(?:hundred|thousand|[mbtr]+illion|dozen|per ?cent|%)", re.IGNORECASE)
_CAPITALS = re.compile(r"[A-Z]{2,5}(?: [A-Z]{2,5})*")
_PHRASE = re.compile(r"(.*?\S)\s+((?:of|in|from|by)\s+(?:the\s+)?\S.*)", re.DOTALL)
_NAME_AFTER_OF = re.compile(r"of\s+(?!The\b)[^\W\d_a-z]")
_PARTS = re.compile(r"[,;/]|\band\b|&|\(|\)")
_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_PREPOSITION = re.compile(
    r"\b(?:(by|with)|(of|in|from|at|near)|on|for|about|who|that|which|born|died|b\.|d\.)\s"
    r"|\b(?:founded|formed|established|based|\w+(?:ed|en)\s(?=by|in|at|from|on))\b"
)
_BESIDE = re.compile(r"\s*(?:since|until|also|formerly|aka|a\.k\.a\.)\b")
"""Opens what is said of an office or of another name."""
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_BIRTH, _DEATH = frozenset(("born", "b")), frozenset(("died", "d"))
_SYNONYMS = {
    "actress": "actor",
    "movie": "film",
    "picture": "film",
    "book": "novel",
    "businessman": "executive",
    "businesswoman": "executive",
    "comedienne": "comedian",
    "soccer": "football",
    "single": "song",
    "television": "tv",
    "town": "city",
}
_BROADER = {
    **dict.fromkeys(("novelist", "author", "poet", "playwright", "screenwriter"), "writer"),
    **dict.fromkeys(("physicist", "chemist", "mathematician", "biologist"), "scientist"),
    **dict.fromkeys(("painter", "sculptor"), "artist"),
}
_SAYS_NOTHING = lists.FUNCTION_WORDS_OF_KEYS.union(
    lists.COMPANY_FORMS, ["person", "people", "disambiguation", "thing", "work", "title", "name"]
)
_REGNAL = re.compile(r"[^\W\d_]\s+[IVX]{1,5}\Z")
_DATED = re.compile(rf"((?:{'|'.join(lists.MONTHS)}) \d\d?) ([12]\d{{3}})")
_OPENS_DATE = re.compile(rf"(?:{'|'.join(lists.MONTHS)}) \d+ [12]\d{{3}} \S+ \d")
_OPENS_PHRASE = re.compile(r"(?:of|in|from|by)\s")
_NO_NAMES = lists.KINDS.union(lists.COMPANY_FORMS, lists.FUNCTION_WORDS_OF_KEYS, lists.MONTHS)
_ENDING = re.compile(r"(?:(?:i?an?|ese|ish|i|ia|e|o|ic|y)s?)$")
_STEM = 4


class ComparedName(NamedTuple):
    """A text as it is compared: its key, the key of its head, and what it says beside that.
    `certain`: the rest can only be a qualifier; else it is one where gold says the same."""

    key: str
    head: str
    qualifier: str = ""
    certain: bool = False

    @property
    def is_phrase(self) -> bool:
        """Whether the rest may as well be a part of the name: "Bank of America"."""
        return _OPENS_PHRASE.match(self.qualifier) is not None


@dataclass(frozen=True)
class Traits:
    """What is said of a thing."""

    years: frozenset[str] = frozenset()
    born: frozenset[str] = frozenset()
    died: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    sides: frozenset[str] = frozenset()
    adjectives: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    makers: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return self.adjectives | self.places | self.makers

    def __or__(self, other: "Traits") -> "Traits":
        return Traits(*(getattr(self, f) | getattr(other, f) for f in self.__dataclass_fields__))

    def __bool__(self) -> bool:
        return any(getattr(self, field) for field in self.__dataclass_fields__)

    def contradicts(self, other: "Traits") -> bool:
        """Whether both say something of one sort, and nothing that both say."""
        births = self.born or self.years, other.born or other.years
        numbers, sides = (self.numbers, other.numbers), (self.sides, other.sides)
        pairs = (births, (self.died, other.died), numbers, sides)
        if any(own and theirs and own.isdisjoint(theirs) for own, theirs in pairs):
            return True
        if self.nouns and other.nouns and not _share_nouns(self.nouns, other.nouns):
            return True
        # "The Iron Snow song" names its maker, "the Velmaran song" its country.
        likes = (
            (self.adjectives, other.adjectives),
            (self.places, other.places),
            (self.makers, other.makers),
            (frozenset(filterfalse(_is_of_a_country, self.adjectives)), other.makers),
            (self.makers, frozenset(filterfalse(_is_of_a_country, other.adjectives))),
        )
        alike = any(own and theirs for own, theirs in likes)
        return alike and not _share_names(self.names, other.names)

    def supports(self, other: "Traits") -> bool:
        """Whether both say one thing of it."""
        ours, theirs = self.years | self.born | self.died, other.years | other.born | other.died
        if ours & theirs or self.numbers & other.numbers:
            return True
        return _share_nouns(self.nouns, other.nouns) or _share_names(self.names, other.names)


NOTHING = Traits()


@lru_cache(maxsize=16_384)
def read_name(text: str) -> ComparedName:
    """A text's head and qualifier; the head is the key where it has none."""
    text = text[:MAX_CHARACTERS]
    key = normalise(text)
    head, qualifier, certain = text, "", False
    while head.rstrip()[-1:] in _CLOSING and (bracket := _BRACKET.fullmatch(head)):
        head, qualifier, certain = bracket[1], f"{bracket[2]}, {qualifier}".strip(", "), True
    if not (certain or _MAY_QUALIFY.search(text)):
        return ComparedName(key, key)
    if not certain and (
        match := _COMPANY.fullmatch(text) or _BORN.fullmatch(text) or _TAIL.fullmatch(text)
    ):
        head, qualifier = match[1], match[2]
        certain = _is_closed(qualifier) or _is_located(head, qualifier)
    elif not certain and (match := _PHRASE.fullmatch(text)):
        head, qualifier = match[1], match[2]
        certain = _is_described(head, qualifier)
    if not certain and _LIST.search(qualifier):
        return ComparedName(key, key)
    if dated := _DATED.fullmatch(key):
        return ComparedName(key, dated[1], dated[2], True)
    is_figure = not any(map(str.isalpha, head))
    if is_figure and certain and _MAGNITUDE.match(qualifier):
        return ComparedName(key, key)
    if not certain and (is_figure or _OPENS_DATE.match(key)):
        return ComparedName(key, key)
    head_key = normalise(head) if qualifier else key
    if head_key == key:
        return ComparedName(key, key)
    return ComparedName(key, head_key, qualifier, certain)


def _is_closed(qualifier: str) -> bool:
    """Whether it says where a place is, or all of it is years, kinds, ranks and abbreviations."""
    *parts, last = qualifier.split(",")
    key = normalise(last)
    is_region = key in lists.REGIONS or (last.strip().isupper() and key in lists.STATES)
    if is_region or not lists.COUNTRIES.isdisjoint(name_words(last).all[-1:]):
        return all(part.strip() and " and " not in f" {part}" and "&" not in part for part in parts)
    return all(map(_is_closed_part, (*parts, last)))


def _is_located(head: str, qualifier: str) -> bool:
    """Whether a site has its place after it, or a place its area."""
    if _LIST.search(qualifier):
        return False
    ends = [part.split()[-1:] for part in (head.lower(), *qualifier.lower().split(","))]
    if ends[0] and ends[0][0] in lists.SITES:
        return not any(end and end[0] in lists.SITES for end in ends[1:])
    return not lists.AREAS.isdisjoint(qualifier.lower().replace(",", " ").split())


def _is_described(head: str, qualifier: str) -> bool:
    """Whether "of", "in", "from" or "by" and what follows are not part of the name: beside a king's
    number, an office, a site ("in"), what has no capital ("miners in 1905"), and a word that is a
    person's name, or a place's: "Thales of Miletus"."""
    *before, last = head.split()
    noun = last.lower()
    if head[0].islower() or noun in lists.DESCRIBED or _REGNAL.search(head):
        return True
    if not qualifier.lower().startswith("of"):
        return noun in lists.SITES
    return not (
        before
        or noun in lists.COMMON_WORDS
        or singular(noun) in lists.KINDS
        or singular(noun) in lists.NEED_A_PHRASE
        or not _NAME_AFTER_OF.match(qualifier)
    )


def _is_closed_part(part: str) -> bool:
    content = name_words(part).content
    words = [singular(word) for word in content]
    if words == ["sr"]:
        return True
    if _CAPITALS.fullmatch(part.strip(" .")):
        return lists.GENERATIONS.isdisjoint(words)
    known = (*_BIRTH, *_DEATH, *lists.COMPANY_FORMS)
    return not lists.RANKS.isdisjoint((*words, *content)) or all(
        word in lists.KINDS or word in lists.COUNTRIES or word in known or _YEAR.fullmatch(word)
        for word in words
    )


@lru_cache(maxsize=16_384)
def traits_in(text: str) -> Traits:
    joined = _LONG_REGION.sub(lambda match: match[0].replace(" ", ""), text[:MAX_CHARACTERS])
    return reduce(or_, map(_traits_in_part, _PARTS.split(joined)), NOTHING)


def _traits_in_part(part: str) -> Traits:
    """What one phrase says: the noun it ends in before any preposition, and what stands around."""
    if _BESIDE.match(part):
        return NOTHING
    spans = [0, *(match.start() for match in _PREPOSITION.finditer(part)), len(part)]
    pieces = [part[start:end] for start, end in pairwise(spans)]
    values: dict[str, set[str]] = defaultdict(set)
    nouns = [w for w in _WORD.findall(pieces[0]) if w.lower() in lists.KINDS or w[0].islower()]
    if nouns and (noun := singular(nouns[-1].lower())) not in _SAYS_NOTHING:
        values["nouns"].add(_SYNONYMS.get(noun, noun))
    if sides := [word.lower() for word in _WORD.findall(part) if word.lower() in lists.SIDES]:
        values["sides"].add(singular(sides[0]))
    event = "years"
    for number, piece in enumerate(pieces):
        opening = _PREPOSITION.match(piece)
        sort = "adjectives" if nouns and not number else "places"
        if opening and opening[1]:
            sort = "makers"
        words = _WORD.findall(piece)
        if words and words[0].lower() in _BIRTH | _DEATH:
            event = "born" if words[0].lower() in _BIRTH else "died"
        for word in words:
            state = lists.STATES.get(word.lower(), "") if word.isupper() else ""
            shown = state.replace(" ", "") or word
            for value in name_words(shown).all:
                if _YEAR.fullmatch(value):
                    values[event].add(value)
                elif value[0].isdecimal():
                    values["numbers"].add(value)
                elif word[0].isupper() and value not in _NO_NAMES:
                    values[sort].add(value)
    return Traits(**{sort: frozenset(words) for sort, words in values.items()})


def traits_of(names: Iterable[ComparedName], head: str, descriptions: Iterable[str]) -> Traits:
    """What forms with this head, and descriptions, say of their bearer."""
    own = [name.qualifier for name in names if name.qualifier and name.head == head]
    return reduce(or_, map(traits_in, (*own, *descriptions)), NOTHING)


def _share_nouns(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether one is of both, or a broader word of the other's: a novelist is a writer."""
    broader, theirs_broader = ({_BROADER.get(n) for n in nouns} for nouns in (ours, theirs))
    return bool(ours & theirs or ours & theirs_broader or broader & theirs)


def _share_names(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether one is of both, as name or as adjective: "Velmara", "Velmaran"."""
    stems, their_stems = (
        {_ENDING.sub("", name) for name in names if len(name) >= _STEM} for names in (ours, theirs)
    )
    return bool(ours & theirs or stems & their_stems)


def _is_of_a_country(word: str) -> bool:
    return word in lists.COUNTRIES or word.endswith(("an", "ish", "ese", "ic", "i"))
