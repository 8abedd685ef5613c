"""How names are compared: case, accents and punctuation do not count."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

MAX_CHARACTERS = 300
MAX_WORDS = 16
"""Characters compared of a name or of a search text: both come from outside."""

_ARTICLES = frozenset({"the", "a", "an"})
_STOP_LIST = """
a an the of in on at by for to from with and or is are was were be been has have had did do does
who whom whose which what where when why how that this it its he she they
"""
STOPS = frozenset(_STOP_LIST.split())
"""Words that say little: names that share one need not be related."""

_ACCENTS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u1aff]*[^\W_]+)*[+#]*")
# Letters that do not decompose into a base letter and an accent.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)
# These vanish inside a word; all other punctuation separates words.
_VANISH = str.maketrans(dict.fromkeys("'’‘‛´`ʼ′.\u00ad\u200b\u200c\u200d\ufeff"))


class NameKey(NamedTuple):
    """A name in its compared form.

    `key`: its words without a leading article; `squeezed`: the same without spaces, so that
    "Spider-Man" and "Spiderman" meet; `words`: those of `key`.
    """

    key: str
    squeezed: str
    words: tuple[str, ...]


@lru_cache(maxsize=8_192)
def fold(text: str) -> NameKey:
    """The compared form of a text. A text of signs alone ("!!!") keeps them; blank is empty."""
    text = text[:MAX_CHARACTERS]
    words = _words(text)[:MAX_WORDS]
    if len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    if not words:
        signs = "".join(text.split()).replace("\0", "")
        return NameKey(signs, signs, ())
    return NameKey(" ".join(words), "".join(words), tuple(words))


def telling(words: Iterable[str]) -> list[str]:
    """The significant words, or all if none is."""
    words = list(words)
    return [word for word in words if word not in STOPS] or words


def _words(text: str) -> list[str]:
    """The folded words of a text in order."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)
        text = unicodedata.normalize("NFD", text)
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
    return _WORD.findall(text.lower().translate(_VANISH).replace("&", " and "))
