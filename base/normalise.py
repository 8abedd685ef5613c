"""How texts are compared: the same key means the same text to every metric."""

import html
import re
import unicodedata
from functools import lru_cache

from branchwise.base.quantities import rewritten

MAX_CHARACTERS = 2_000
"""Of an entity or a branch name only so much is compared: it comes from outside."""

# A spaced accent, a prime or a letter for a glottal stop stands for an apostrophe in typed names;
# NFKC would break the first in two. The dotted capital I would fold into two characters; a ring
# stands for a degree sign; private-use characters are needed below.
_BEFORE_FOLDING = str.maketrans(
    dict.fromkeys("’‘‛´`ʼʻʾʿ′", "'")
    | dict.fromkeys("‐‑‒–—―⁃−﹘﹣－", "-")
    | dict.fromkeys("™®©℠\ue000\ue001\ue002\ue003\ue004", "")
    | {"İ": "i", "˚": "°", "♯": "#"}
)
_LINK = re.compile(r"\[([^][]+)\]\((?:\w+://|[/#])[^()\s]*\)")
_TAG = re.compile(r"</?(?:b|i|u|s|em|strong|code|span|sub|br|p)\s*/?>|~~|^\s*>+\s", re.IGNORECASE)
# NFKC would make "102" of "10²" and of "10₂", and "51⁄2" of "5½".
_RAISED = re.compile(r"(?<=\d)(?:<sup>([-+−\d]+)</sup>|([⁰¹²³⁴-⁹⁺⁻]+))", re.IGNORECASE)
_APART = re.compile(r"(?<=\d)(?=[₀-₉¼-¾⅐-⅞↉])")
_FIXED_SPACE = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
_DEGREE = re.compile(r"(?<=\d)( ?)º(?= ?[CFcf]\b)")
# An article belongs to a word after it: "Vitamin A" and "A. Milne" keep theirs, "Office, The" not.
_ARTICLES = re.compile(r"(?<![\w'])(?:an?(?=\s+[^\s,;:()])|the(?=\s|$))")
_INITIALS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
# Before a name only: "Main St" is a street.
_ABBREVIATED = re.compile(r"(?<!\S)(st|mt)(?= [^\W\d])")
_WRITTEN_OUT = {"st": "saint", "mt": "mount"}
# Decimal points; the sign of a number; that of a grade, a blood group or an ion ("A-"); "C#", "A*";
# the stroke of a fraction.
_TELLING_MARKS = re.compile(
    r"(?<=\d)\.(?=\d)"
    r"|(?<![\w)\]}%°])-(?=[$€£¥₹]?\d)"
    r"|(?:(?<=(?<![\w'.])[^\W\d_])|(?<=(?<![\w'.])[^\W\d_]{2})|(?<=[^\W\d_]\d))-(?![\w-])"
    r"|(?<=\w)#"
    r"|(?<=(?<![\w*])[^\W\d_])\*(?![\w*])"
    r"|(?:(?<=(?<![\d/.])\d)|(?<=(?<![\d/.])\d\d))/(?=\d{1,2}(?![\d/]))"
)
# Private-use characters hold the place of marks that stay while the other punctuation goes.
_HOLD = {".": "\ue000", "-": "\ue001", "#": "\ue002", "/": "\ue003", "*": "\ue004"}
_RELEASE = {ord(held): mark for mark, held in _HOLD.items()}
# Scripts written without spaces: Thai to Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff])"
)
_LONG_WAY = frozenset(("an", "the", "st", "mt", "cent"))


@lru_cache(maxsize=16_384)
def normalise(text: str, *, articles: bool = False) -> str:
    """The key of a text: NFKC, case folded, without articles and punctuation, single spaces.

    Apostrophes and full stops vanish ("O'Brien" = "OBrien", "U.S." = "US"), other punctuation
    separates words ("Spider-Man" = "Spider Man"), "&" is "and", "St." before a name "Saint",
    initials are one word ("J. R. R." = "J.R.R."), markup goes. What a sign says of a value stays:
    decimal points, minus signs however typed, powers ("10²" = "10^2"), fractions ("5½" = "5 1/2"),
    "C++", "C#", "A-"; quantities have one form (`quantities`). Letters of every script with their
    combining marks, digits and symbols stay. A text of which nothing would be left ("The The",
    "!!!") keeps its articles, or else its punctuation. With `articles` they always stay.
    """
    if (plain := _plain(text)) is not None:
        return plain
    folded = _fold(text)
    bare = "" if articles else _words(_ARTICLES.sub(" ", folded))
    return bare or _words(folded) or folded


def _plain(text: str) -> str | None:
    """The key of words of two or more English letters, none of which changes: as most names are.

    None for any other text. It is what the long way comes to, five times as fast.
    """
    words = text.lower().split(" ")
    if not text.isascii() or not all(len(word) > 1 and word.isalpha() for word in words):
        return None
    return None if not _LONG_WAY.isdisjoint(words) else " ".join(words)


def tokens(text: str, *, articles: bool = False) -> list[str]:
    """The words of the key in order; in scripts without spaces every character is one."""
    return _UNSPACED.sub(r" \1 ", normalise(text, articles=articles)).split()


def _fold(text: str) -> str:
    """Compatibility forms, case and markup removed: NFKC before and after folding (Unicode, 3.13).

    Composed first, since what is replaced before NFKC may be written as letter and mark.
    """
    composed = unicodedata.normalize("NFC", text)
    if "&" in composed and ";" in composed:
        composed = unicodedata.normalize("NFC", html.unescape(composed))
    if any(map(str.isdigit, composed)):
        raised = _RAISED.sub(lambda match: f"^{match[1] or match[2]}", composed)
        composed = _DEGREE.sub("°", _FIXED_SPACE.sub("", _APART.sub(" ", raised)))
    if "](" in composed:
        composed = _LINK.sub(r"\1", composed)
    marked = "<" in composed or ">" in composed or "~~" in composed
    plain = (_TAG.sub("", composed) if marked else composed).translate(_BEFORE_FOLDING)
    folded = unicodedata.normalize("NFKC", plain).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).translate(_AFTER_FOLDING).split())


def _words(text: str) -> str:
    """A folded text without punctuation, initials joined, single spaces."""
    if any(map(str.isdigit, text)):
        text = rewritten(text)
    held = _TELLING_MARKS.sub(lambda match: _HOLD[match[0]], text)
    kept = " ".join(held.replace("&", " and ").translate(_KEPT).split())
    joined = _INITIALS.sub(lambda match: match[0].replace(" ", ""), kept)
    written = _ABBREVIATED.sub(lambda match: _WRITTEN_OUT[match[1]], joined)
    return written.replace("per cent", "percent")


class _Kept(dict[int, str]):
    """What becomes of a character: nothing, a space, or itself. Filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        # Soft hyphens, joiners and variation selectors are no part of a word.
        if character in "'." or category == "Cf" or 0xFE00 <= code <= 0xFE0F:
            kept = ""
        elif category[0] in "PZ" or category == "Cc" or character == "|":
            kept = " "
        elif category == "Nd":
            kept = str(unicodedata.decimal(character))
        else:
            kept = character
        self[code] = kept
        return kept


_KEPT = _Kept(_RELEASE)
_AFTER_FOLDING = {ord("⁄"): "/", ord("−"): "-"}
