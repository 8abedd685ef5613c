"""Numbers and dates as answers: what writes the same value, and what stands next to one.

"18 February 1977", "February 18, 1977" and "1977-02-18T00:00:00Z" are one date; "1,200" is 1200.
A number is not a mention inside a longer number, a percentage, a time, a date's day or a name
("Apollo 11"); a year is one inside a date or a range of years, not in a season ("1976-77").
"""

import re
from typing import NamedTuple

from branchwise.base.text import one_line
from branchwise.eval.word_lists import FUNCTION_WORDS, MONTHS

_NUMBER = re.compile(r"([-+]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?")
_MONTH_NAMES = "|".join(rf"{m}|{m[:3]}\.?" + (r"|sept\.?" if m[0] == "s" else "") for m in MONTHS)
_ORDINAL = r"(?:st|nd|rd|th)?"
_ISO = re.compile(r"\+?(\d{4})-(\d\d)(?:-(\d\d)(?:t[\d:.]*(?:z|[+-]\d\d:\d\d)?)?)?")
_DAY_FIRST = re.compile(
    rf"(?:(?:the )?(\d\d?){_ORDINAL}(?: of)? )?({_MONTH_NAMES})(?: of)?,? (\d{{3,4}})"
)
_MONTH_FIRST = re.compile(rf"({_MONTH_NAMES}) (\d\d?){_ORDINAL},? (\d{{3,4}})")

_WORD_BEFORE = re.compile(r"(?:^|[^\w])([^\W\d_][\w'’]*)[ ]$")
_PLAIN_BEFORE = FUNCTION_WORDS | frozenset(
    ["altogether", "approximately", "count", "exactly", "nearly", "overall", "roughly", "scored"]
)
_MAGNITUDE = re.compile(r"(?:%| ?(?:%|percent\b|per cent\b|(?:m|b|tr)illion\b|thousand\b))", re.I)
_MONTH_AFTER = re.compile(rf"{_ORDINAL}(?: of)? (?:{_MONTH_NAMES})\b", re.I)
_MONTH_BEFORE = re.compile(rf"(?:^|\W)(?:{_MONTH_NAMES}) $", re.I)
_RANGE_AFTER = re.compile(r"[-–]\d{4}(?!\d)")
_DATE_AFTER = re.compile(r"-\d\d-\d\d")


class Date(NamedTuple):
    """A day, or a whole month where `day` is None."""

    year: int
    month: int
    day: int | None


def read_date(fold: str) -> Date | None:
    """The date that a folded text is, or None."""
    text = one_line(fold)
    if iso := _ISO.fullmatch(text):
        day = int(iso[3]) if iso[3] else None
        return _date(int(iso[1]), int(iso[2]), day)
    if named := _MONTH_FIRST.fullmatch(text):
        return _date(int(named[3]), _month(named[1]), int(named[2]))
    if named := _DAY_FIRST.fullmatch(text):
        return _date(int(named[3]), _month(named[2]), int(named[1]) if named[1] else None)
    return None


def date_pattern(date: Date) -> str:
    """A regular expression for folded text that finds the date in the usual ways of writing it."""
    name = MONTHS[date.month - 1]
    month = rf"(?:{name}|{name[:3]}\.?{'|sept.?' if date.month == 9 else ''})"
    year, number = f"{date.year}", f"0?{date.month}"
    gap = r"\s{1,4}"
    any_day = rf"\d{{1,2}}{_ORDINAL}"
    if date.day is None:
        return (
            rf"(?<!\w)(?:{month}(?:{gap}{any_day})?(?:{gap}of)?,?{gap}{year}(?!\d)"
            rf"|{year}-{date.month:02}(?:-\d\d(?!\d)|(?!\d|-\d))|{year}年\s?{number}月)"
        )
    day = f"0?{date.day}"
    return (
        rf"(?<![\w.])(?:{day}{_ORDINAL}(?:{gap}of)?{gap}{month},?{gap}{year}(?!\d)"
        rf"|{month}{gap}{day}{_ORDINAL}(?:,|{gap}|,{gap}){year}(?!\d)"
        rf"|{year}[-/]{date.month:02}[-/]{date.day:02}(?!\d)|{day}\.\s?{number}\.\s?{year}(?!\d)"
        rf"|{year}年\s?{number}月\s?{day}日)"
    )


def number_pattern(fold: str) -> str | None:
    """A regular expression that finds the number that a folded text is; None if it is none.

    With or without thousand separators; zeros after the point do not matter ("57" is "57.0").
    """
    number = _NUMBER.fullmatch(fold.strip())
    if number is None:
        return None
    sign, digits = number[1], number[2].replace(",", "")
    decimals = (number[3] or "").rstrip("0")
    first = len(digits) % 3 or 3
    groups = [digits[:first], *(digits[i : i + 3] for i in range(first, len(digits), 3))]
    pattern = re.escape("-") if sign == "-" else ""
    pattern += ",?".join(groups) + (rf"\.{decimals}0*" if decimals else r"(?:\.0+)?")
    return pattern


def is_bare_number(text: str, start: int, end: int) -> bool:
    """Whether the number at [start, end) of a text stands for itself there."""
    before, after = text[max(0, start - 40) : start], text[end : end + 40]
    value = text[start:end]
    is_year = len(value) == 4 and value.isdecimal() and "1000" <= value <= "2100"
    if not (_free_before(before, value, is_year) and _free_after(after, is_year)):
        return False
    if is_year:
        return True
    return not (
        _MAGNITUDE.match(after)
        or (_is_day(value) and (_MONTH_AFTER.match(after) or _MONTH_BEFORE.search(before)))
        or _names_a_thing(before)
    )


def _free_before(before: str, value: str, is_year: bool) -> bool:
    last, rest = before[-1:], before[:-1]
    if last.isalnum() or last == "_":
        return False
    if last in ".,:/" and rest[-1:].isdigit():
        return False
    if last in "-−" and last:
        return is_year and rest[-4:].isdigit() and len(rest) >= 4
    if last == "–":
        return is_year and rest[-4:].isdigit()
    return not (value[0] == "-" and rest[-1:].isalnum())


def _free_after(after: str, is_year: bool) -> bool:
    sign, following = after[:1], after[1:2]
    if sign.isalnum() or (sign in "'’" and sign and following == "s"):
        return False
    if sign in ".,:/" and following.isdigit():
        return False
    if sign in "-–" and sign and following.isdigit():
        return is_year and bool(_RANGE_AFTER.match(after) or _DATE_AFTER.match(after))
    return not (sign == "-" and following.isupper())


def _is_day(value: str) -> bool:
    return value.isdecimal() and 1 <= int(value[:9]) <= 31


def _names_a_thing(before: str) -> bool:
    """Whether a capitalised word stands right before that makes it a name: "Apollo 11"."""
    word = _WORD_BEFORE.search(before)
    return bool(word and word[1][0].isupper() and word[1].lower() not in _PLAIN_BEFORE)


def _date(year: int, month: int, day: int | None) -> Date | None:
    if 1 <= month <= 12 and (day is None or 1 <= day <= 31):
        return Date(year, month, day)
    return None


def _month(name: str) -> int:
    return next(i for i, month in enumerate(MONTHS, 1) if month[:3] == name[:3])
