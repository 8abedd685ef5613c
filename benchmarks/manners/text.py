"""English in pieces, as the manners read it: names, sentences, content words."""

import re
from collections.abc import Iterable, Iterator

_LISTED = """
    a about after all also an and any are as at be been before both but by can did do does each
    every find for from given had has have he her his how i in is it its least list many more most
    name no not of on one only or other same she so some such than that the their them then there
    these they this those through to under up was we were what when where which while who whom
    whose why will with would consider identify tell
"""
_DATES = """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
"""
STOP_WORDS = frozenset(_LISTED.split())
_DATE_WORDS = frozenset(_DATES.split())
_CAPITAL = r"[^\W\d_a-zß-ÿ][\w'’-]*\.?"
_LINK = r"(?:(?:of|the|at|for|de|la|von|van|&)[ ]){0,2}"
_NAME = re.compile(rf"\b{_CAPITAL}(?:[ ]{_LINK}{_CAPITAL})*")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<![ .][A-Z]\.)\s+(?:…\s+)?(?=[\"“(]?[^\W\d_a-z])|\s+…\s+")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)$")
STEM = 5
"""Letters by which words are compared: "directed" and "director" are alike."""


def words(text: str) -> list[str]:
    """The words of a text as written."""
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text)


def content_words(text: str) -> list[str]:
    """Its words without stop words."""
    return [word for word in words(text) if word.lower() not in STOP_WORDS]


def stems(text: str) -> frozenset[str]:
    """The beginnings of its content words."""
    return frozenset(word.lower()[:STEM] for word in content_words(text))


def sentences(text: str) -> list[str]:
    """The sentences of a text; an initial ends none."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def names(text: str) -> list[str]:
    """Capitalised names, each once, in order.

    One word at the beginning of a sentence is a name only if it stands elsewhere too.
    """
    found = [name for sentence in sentences(text) for name in _names_of(sentence)]
    return list(dict.fromkeys(found))


def _names_of(sentence: str) -> Iterator[str]:
    for match in _NAME.finditer(sentence):
        parts = match[0].rstrip(".").removesuffix("'s").removesuffix("’s").split()
        is_first = match.start() == 0
        while parts and parts[0].lower() in STOP_WORDS - {"the", "a"}:
            parts, is_first = parts[1:], False
        alone = parts[0].lower() if len(parts) == 1 else ""
        if len(parts) > 1 or (alone and not is_first and alone not in STOP_WORDS | _DATE_WORDS):
            yield " ".join(parts)


def base(title: str) -> str:
    """A title without what tells it apart: brackets at its end, or what follows a comma."""
    return _IN_BRACKETS.sub("", title).split(", ")[0].strip()


def without(text: str, names: Iterable[str]) -> str:
    """The content words of a text outside the names."""
    for name in names:
        text = text.replace(name, " ")
    return " ".join(content_words(text))
