"""How texts are compared: the same key means the same text to every metric."""

import re
import unicodedata
from functools import lru_cache

MAX_CHARACTERS = 2_000
"""Of an entity or a branch name only so much is compared: it comes from outside."""

# A spaced accent or a prime stands for an apostrophe in typed names; NFKC would break it in two.
# The dotted capital I would fold into two characters; private-use ones are needed below.
_BEFORE_FOLDING = str.maketrans(
    dict.fromkeys("’‘‛´`ʼ′", "'") | dict.fromkeys("™®©℠\ue000\ue001\ue002", "") | {"İ": "i"}
)
# An article belongs to a word after it: "Vitamin A" and "A. Milne" keep theirs, "Office, The" not.
# Which sign stands between them must not matter: "Serie A (Brazil)" is "Serie A, Brazil".
_ARTICLES = re.compile(r"(?<![\w'])(?:an?(?=[\s,;:()]+[^\s,;:()])|the(?=\s|$))")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_INITIALS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
_TELLING_MARKS = re.compile(r"(?<=\d)\.(?=\d)|(?<!\S)[-−](?=\d)|(?<=\w)#")
# Private-use characters hold the place of marks that stay while the other punctuation goes.
_HOLD = {".": "\ue000", "-": "\ue001", "−": "\ue001", "#": "\ue002"}
_RELEASE = {0xE000: ".", 0xE001: "-", 0xE002: "#"}
# Scripts written without spaces: Thai to Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff])"
)


@lru_cache(maxsize=16_384)
def normalise(text: str, *, articles: bool = False) -> str:
    """The key of a text: NFKC, case folded, without articles and punctuation, single spaces.

    Apostrophes and full stops vanish ("O'Brien" = "OBrien", "U.S." = "US"), other punctuation
    separates words ("Spider-Man" = "Spider Man"), "&" is "and", initials are one word
    ("J. R. R." = "J.R.R."). Signs and decimal points of numbers stay, thousands commas go. Letters
    of every script with their combining marks, digits and symbols ("C++", "C#") stay. A text of
    which nothing would be left ("The The", "!!!") keeps its articles, or else its punctuation.
    With `articles` they always stay.
    """
    if (plain := _plain(text)) is not None:
        return plain
    folded = _fold(text)
    bare = "" if articles else _words(_ARTICLES.sub(" ", folded))
    return bare or _words(folded) or folded


def _plain(text: str) -> str | None:
    """The key of words of two or more English letters, none an article: as most names are.

    None for any other text. It is what the long way comes to, five times as fast.
    """
    words = text.lower().split(" ")
    if not text.isascii() or not all(len(word) > 1 and word.isalpha() for word in words):
        return None
    return None if "an" in words or "the" in words else " ".join(words)


def tokens(text: str, *, articles: bool = False) -> list[str]:
    """The words of the key in order; in scripts without spaces every character is one."""
    return _UNSPACED.sub(r" \1 ", normalise(text, articles=articles)).split()


def _fold(text: str) -> str:
    """Compatibility forms and case removed: NFKC before and after folding (Unicode, 3.13).

    Composed first, since what is replaced before NFKC may be written as letter and mark.
    """
    composed = unicodedata.normalize("NFC", text).translate(_BEFORE_FOLDING)
    folded = unicodedata.normalize("NFKC", composed).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _words(text: str) -> str:
    """A folded text without punctuation, initials joined, single spaces."""
    held = _TELLING_MARKS.sub(lambda m: _HOLD[m[0]], _THOUSANDS.sub("", text))
    kept = held.replace("&", " and ").translate(_KEPT)
    return _INITIALS.sub(lambda m: m[0].replace(" ", ""), " ".join(kept.split()))


class _Kept(dict[int, str]):
    """What becomes of a character: nothing, a space, or itself. Filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character in "'." or category == "Cf":  # soft hyphens, joiners: no part of the word
            kept = ""
        elif category[0] in "PZ" or category == "Cc" or character == "|":
            kept = " "
        else:
            kept = character
        self[code] = kept
        return kept


_KEPT = _Kept(_RELEASE)
