"""The words of a branch name, those that mean the same in one form.

"Who was the fourth chairman?" and "the 4th chairman" have the same words that tell anything.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from branchwise.base.normalise import normalise, tokens
from branchwise.eval.branch_names.closed_classes import (
    FUNCTION_WORDS_OF_KEYS,
    NUMBER_WORDS,
    PAIRS,
    ROMAN_NUMERALS,
    SAME_WORDS,
    SINCE,
    TENS,
)

_ORDINAL = re.compile(r"0*(\d+)(?:st|nd|rd|th)")
_RANGE_OF_YEARS = re.compile(r"\b(1\d|20)(\d\d[-–/])(\d\d)(?![\d-])")
_DEMONSTRATIVE = re.compile(r"\b(?:the|this|that)\b", re.IGNORECASE)
_FORMS = {
    **{w: str(n) for table in (NUMBER_WORDS, TENS, ROMAN_NUMERALS) for w, n in table.items()},
    **SAME_WORDS,
}


class BranchWords(NamedTuple):
    """A name's key (`normalise`), and its words in order.

    `content` leaves out question words and other function words. `has_roman`: whether a word is a
    Roman numeral of several letters.
    """

    key: str
    content: tuple[str, ...]
    all: tuple[str, ...]
    has_roman: bool


@lru_cache(maxsize=16_384)
def name_words(text: str, *, articles: bool = False) -> BranchWords:
    """The words of a name: numbers as figures, and one form of a closed class for all.

    Numbers are "fourth", "four", "4th" and "IV", also as halves of "twenty-first"; a range
    "1971-75" has both years. "one" after "the" ("the 1994 one") is no number.
    """
    years = _RANGE_OF_YEARS.sub(r"\1\2\1\3", text)
    plain = tokens(years, articles=articles)
    if plain and plain[-1] == "one" and _DEMONSTRATIVE.search(text):
        plain.pop()
    words = _joined(plain)
    content = tuple(word for word in words if word not in FUNCTION_WORDS_OF_KEYS)
    has_roman = not ROMAN_NUMERALS.keys().isdisjoint(plain)
    return BranchWords(normalise(text, articles=articles), content, tuple(words), has_roman)


def _joined(plain: list[str]) -> list[str]:
    """The words in one form, two that are one joined."""
    words: list[str] = []
    last = ""
    for word in plain:
        if pair := PAIRS.get((last, word)):
            words[-1] = pair
        elif last in TENS and (unit := NUMBER_WORDS.get(word, 10)) < 10:
            words[-1] = str(TENS[last] + unit)
        else:
            if last == "from" and word[0].isdecimal():
                words[-1] = SINCE
            words.append(_form(word))
        last = word
    return words


def _form(word: str) -> str:
    if word[0].isdecimal():
        ordinal = _ORDINAL.fullmatch(word)
        return ordinal[1] if ordinal else word
    return _FORMS.get(word, word)


def singular(word: str) -> str:
    """An English plural without its ending (the S stemmer of Harman 1991), other words as is.

    >>> [singular(word) for word in ("finals", "ceremonies", "glass", "1950s")]
    ['final', 'ceremony', 'glass', '1950s']
    """
    if len(word) < 4 or word[-1] != "s" or word[-2] in "us" or word[-2].isdecimal():
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
