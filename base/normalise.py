"""How texts are compared: the same key means the same text to every metric."""

import html
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

_CODES = {
    **dict.fromkeys(("us dollar", "usd", "dollar"), "$"),
    **dict.fromkeys(("euro", "eur"), "€"),
    **dict.fromkeys(("pound sterling", "pounds sterling", "gbp"), "£"),
    **dict.fromkeys(("yen", "jpy"), "¥"),
    **dict.fromkeys(("rupee", "inr"), "₹"),
}
_SIGN = "[$€£¥₹]"
_NUMBER = r"\d[\d.]*(?: (?:thousand|million|billion|trillion))?"
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_MONTH = "|".join(_MONTHS)
_SHORT = {month[:3]: month for month in _MONTHS} | {"sept": "september"}
_BRIEF = "|".join(_SHORT)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_Rewritings = tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]


def _grouped(match: re.Match[str]) -> str:
    return re.sub("[,. ]", "", match[0])


def _day_first(match: re.Match[str]) -> str:
    month = int(match[2])
    return f"{_MONTHS[month - 1]} {int(match[3])} {match[1]}" if 1 <= month <= 12 else match[0]


# As "august 14 2018".
_DATES: _Rewritings = (
    (re.compile(r"(?<![\d-])([12]\d{3})-(\d\d)-(\d\d)(?![\d-])"), _day_first),
    (
        re.compile(
            rf"\b({'|'.join(_SHORT)})\b\.?(?= \d)|(?<=\d )({'|'.join(_SHORT)})\b\.?(?=,? \d)"
        ),
        lambda match: _SHORT[match[1] or match[2]],
    ),
    (re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)\b"), r"\1 \2"),
    (
        re.compile(
            rf"(?<![\w.,-])(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b(?! \d\d?\b)"
        ),
        r"\2 \1",
    ),
)
_GROUPS: _Rewritings = (
    # Five feet ten: other apostrophes between digits group them ("10'000") and go like any other.
    (re.compile(r"(?<=\d)'(?=\d{1,2}(?!\d))"), " "),
    (re.compile(r"(?<!\d)(?<!\d,)\d{1,3}(?:,\d{3})+(?!\d|,\d)"), _grouped),
    (re.compile(r"(?<!\d)(?<!\d,)\d{1,2}(?:,\d\d)+,\d{3}(?!\d|,\d)"), _grouped),  # 1,00,000
    (re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{3}){2,}(?!\d|\.\d)"), _grouped),  # not 10.000
    # Groups by spaces, if no word stands before them that the first may belong to ("747 400").
    (re.compile(r"(?<![\w,.])(?<![^\W\d] )[1-9]\d{0,2}(?: \d{3})+(?! ?\d)"), _grouped),
    (re.compile(r"(?<![\w,.])[1-9]\d{0,2}(?: 000)+(?! ?\d)"), _grouped),
)
_SIGNS: _Rewritings = (
    (re.compile(r"(?<![\w.)])\.(?=\d)"), "0."),
    (re.compile(r"\b(utc|gmt) ?([-+]) ?(?=\d)"), r"\1 \2\2"),
    (re.compile(rf"(?<![\w+)\]}}°%])\+(?={_SIGN}?\d)(?!\+)"), ""),
    (re.compile(r"(?<=\d) ?[x×] ?(?=\d)"), " x "),
    (re.compile(r"(?<=[^\W\d_])\^(?=\d)"), ""),
)
_PERCENT: _Rewritings = ((re.compile(r"(?<=\d) ?(?:%(?!\w)|per ?cent\b)"), " percent"),)
_CURRENCIES: _Rewritings = (
    (re.compile(r"\bus ?(?=\$)"), ""),
    (
        re.compile(r"\b(usd|eur|gbp|jpy|inr) ?(?=\d)"),
        lambda match: _CODES[match[1]],
    ),
    (re.compile(rf"({_SIGN}) ?- ?(?=\d)"), r"-\1"),
    (re.compile(rf"({_SIGN}) (?=\d)"), r"\1"),
    (
        re.compile(
            rf"(?<![\w.$€£¥₹])({_NUMBER}) ?(?:({_SIGN})(?![\w$€£¥₹])|({'|'.join(_CODES)})s?\b)"
        ),
        lambda match: (match[2] or _CODES[match[3]]) + match[1],
    ),
)
_DEGREES: _Rewritings = (
    (re.compile(r"(?<=\d)(?: ?degrees?\b| ?°) ?(?:([cf])(?:elsius|ahrenheit)?\b)"), r"°\1"),
    (re.compile(r"(?<=\d)(?: degrees?\b| °)"), "°"),
    (re.compile(r"(?<=\d°) (?=[knsew]\b)"), ""),
)
_UNITS: _Rewritings = (
    (
        re.compile(
            r"\b(\d[\d.]*)(?=(?:[kcm]?m|mi|ft|[km]?g|lbs?|[km]?l|ha|mph|k[mp]h|[kmg]w|kwh|[kmg]?hz|[kmgt]b"
            r"|bce?|ad|ce|am|pm)[23]?(?!\w))"
        ),
        r"\1 ",
    ),
    (re.compile(r"\bad (\d{1,4})(?!\w)"), r"\1 ad"),
    (re.compile(r"(?<=\d )bce(?!\w)"), "bc"),
    (re.compile(r"(?<=\d )ce(?!\w)"), "ad"),
)

REWRITINGS: tuple[tuple[re.Pattern[str], _Rewritings], ...] = (
    (re.compile(rf"\b(?:{_BRIEF}|{_MONTH})\b|\d-\d\d-\d"), _DATES),
    (re.compile(r"\d[',. ]\d"), _GROUPS),
    (re.compile(r"[.+x×^]|utc|gmt"), _SIGNS),
    (re.compile(r"%|cent"), _PERCENT),
    (re.compile(rf"{_SIGN}|{'|'.join(_CODES)}"), _CURRENCIES),
    (re.compile(r"°|degree"), _DEGREES),
    (re.compile(r"\d[a-z]|\b(?:ad|bce|ce)\b"), _UNITS),
)
"""In their order, each group with what it needs: most texts lack all of it."""


def rewritten(text: str) -> str:
    """A folded text (lower case, NFKC, every dash a hyphen) with its quantities in one form.

    Thousands separators, the sign of what is positive, and spaces before units go; percentages and
    currencies are written one way. Only how a value is typed is changed, never the value: "3.10" is
    not "3.1", and "10.000", which may be ten, not "10000".
    """
    for needed, rewritings in REWRITINGS:
        if needed.search(text):
            for pattern, replacement in rewritings:
                text = pattern.sub(replacement, text)
    return text


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
    """The key of words of two or more English letters, five times as fast; None for other texts."""
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
