"""Numbers and quantities in one form, however they are typed: "1,000", "5 %", "-40 °C"."""

import re
from collections.abc import Callable

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
