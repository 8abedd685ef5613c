"""English text in pieces: words, sentences, capitalised names."""

import re
from collections.abc import Iterable
from functools import lru_cache

_STOP_WORDS = """
    a about after all also am an and any are as at be because been before being between both
    but by can could did do does doing during each every few for from further had has have
    having he her hers him his how i if in into is it its itself just list many me more most
    much my name no nor not of off on once only or other our out over own same she should so
    some such than that the their them then there these they this those through to too under
    until up very was we were what when where which while who whom whose why will with would
    you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# Extracts of a passage are joined by " … ".
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]*(?:\s+…\s+|\s+(?=[\"“‘(]?[A-Z0-9]))")
_INITIAL = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|Jr|Sr|St|Prof|vs|No|Inc|Ltd|Co))\.$")
_NAME = re.compile(
    r"\b[^\W\d_a-zß-ÿ][\w'’-]*\.?"
    r"(?:[ ](?:(?:of|the|de|du|la|le|van|von|der|den|di|da|del|al|bin|for)[ ]){0,2}"
    r"(?:[^\W\d_a-zß-ÿ][\w'’-]*\.?|\d+(?=[ )]|$)))*"
)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A crude stem that brings "directed", "director" and "directs" together."""
    word = word.lower().removesuffix("'s").removesuffix("’s")
    if len(word) > 5:
        return word[:5]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def words(text: str) -> list[str]:
    """The words of `text` as written."""
    return WORD.findall(text)


def stem_list(text: str) -> list[str]:
    """Stems of the words of `text`, stop words left out."""
    return [stem(word) for word in words(text) if word.lower() not in STOP_WORDS]


def stems(text: str) -> frozenset[str]:
    """The same, each once."""
    return frozenset(stem_list(text))


def sentences(text: str) -> list[str]:
    """The sentences of `text`, verbatim; a full stop after an initial or a title ends none."""
    whole: list[str] = []
    begin = part = 0
    for end in _SENTENCE_END.finditer(text):
        if not _INITIAL.search(text[part : end.start()]):
            whole.append(text[begin : end.start()].strip())
            begin = end.end()
        part = end.end()
    return [*whole, text[begin:].strip()]


def names(text: str) -> list[re.Match[str]]:
    """Capitalised names in `text`, in order; stop words alone are none."""
    return [
        name
        for name in _NAME.finditer(text)
        if len(name[0]) > 1 and any(word.lower() not in STOP_WORDS for word in words(name[0]))
    ]


def longest_name(text: str) -> str:
    """The longest capitalised name in `text`, the first of several; empty where there is none."""
    return max((name[0] for name in names(text)), key=len, default="")


def asked_name(question: str) -> str:
    """The longest capitalised name in the question, without a possessive."""
    bare = (name[0].rstrip(".").removesuffix("'s") for name in names(question))
    return max(bare, key=len, default="")


def base_name(title: str) -> str:
    """The title without a disambiguator in brackets at its end."""
    return re.sub(r"\([^()]*\)$", "", title.strip()).strip()


def contains_name(text: str, name: str) -> bool:
    """Whether the words of `name` stand in `text` one after the other, whatever their case."""
    sought = " ".join(words(name)).lower()
    return bool(sought) and f" {sought} " in f" {' '.join(words(text)).lower()} "


def words_beside(question: str, name: str) -> list[str]:
    """The question's content words beside the asked name."""
    named = {stem(word) for word in words(name)}
    content = (word for word in words(question) if word.lower() not in STOP_WORDS)
    return [word for word in content if stem(word) not in named]


def unique(texts: Iterable[str]) -> list[str]:
    """The texts in order, each once, whatever its case."""
    return list({text.lower(): text for text in reversed(list(texts))}.values())[::-1]
