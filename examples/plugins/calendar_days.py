"""Dates as people write them, and the days between them: Julian, then Gregorian from 1582.

A day is counted by its Julian day number, days since 1 January 4713 BC (Julian): what chronology
counts in. The formulas are the usual ones, with a year that begins in March, so that the leap day
is its last (Explanatory Supplement to the Astronomical Almanac, chapter 15).
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

_YEARS = "January February March April May June July August September October November December"
_WEEKS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTHS, WEEKDAYS = _YEARS.split(), _WEEKS.split()
FIRST_GREGORIAN = 2_299_161  # 15 October 1582, the day after 4 October
_FIRST_YEAR, _LAST_YEAR = -4711, 9999
_MAX_CHARS = 60
_BC = re.compile(r"^(?P<date>.*\S)\s*\b(?:B\.?C\.?(?:E\.?)?)$", re.IGNORECASE)
_AD = re.compile(r"\bA\.?D\.?\s*(?=\d+$)|(?<=\d)\s+(?:A\.?D\.?|C\.?E\.?)$", re.IGNORECASE)
_ISO = re.compile(r"^(?P<year>[+-]?\d{4,5})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?$")
_DAY_FIRST = re.compile(
    r"^(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>[A-Za-z]{3,9})\.?,?\s+"
    r"(?P<year>\d{1,5})$"
)
_MONTH_FIRST = re.compile(
    r"^(?P<month>[A-Za-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,\s*|\s+)(?P<year>\d{1,5})$"
)
_YEAR = re.compile(r"^(?P<year>\d{1,5})$")


class CalendarError(ValueError):
    """A text that is not a date, or a question that a partial date cannot answer."""


class Span(NamedTuple):
    """First and last day of a date by day number; the same where it is a full date."""

    first: int
    last: int


@dataclass(frozen=True)
class Date:
    """`year` is astronomical: 1 BC is 0, 44 BC is -43. `month` and `day` are None if not known."""

    year: int
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        year = str(self.year) if self.year > 0 else f"{1 - self.year} BC"
        parts = [str(self.day or ""), MONTHS[self.month - 1] if self.month else "", year]
        return " ".join(filter(None, parts))

    @property
    def is_julian(self) -> bool:
        """Whether it is of the Julian calendar, or a part of it is."""
        return span(self).first < FIRST_GREGORIAN


def parse_date(text: str) -> Date:
    """A date, a month or a year. Raises CalendarError, which says what can be read."""
    written = " ".join(text[: 2 * _MAX_CHARS].split())
    before_christ = _BC.match(written)
    bare = before_christ["date"] if before_christ else _AD.sub("", written)
    patterns = (_DAY_FIRST, _MONTH_FIRST, _YEAR) if before_christ else _PATTERNS
    matched = next(filter(None, (pattern.match(bare) for pattern in patterns)), None)
    if len(written) > _MAX_CHARS or matched is None:
        raise CalendarError(
            f"{written[:_MAX_CHARS]!r} is not a date; write it like 12 March 1999, 1999-03-12, "
            "March 1999, 1999 or 44 BC"
        )
    parts = matched.groupdict()
    year = int(parts["year"])
    if year == 0 and not parts["year"].startswith(("0000", "+", "-")):
        raise CalendarError("there is no year 0: 1 BC is followed by AD 1")
    month, day = _month(parts.get("month")), parts.get("day")
    return _checked(Date(1 - year if before_christ else year, month, int(day) if day else None))


_PATTERNS = (_ISO, _DAY_FIRST, _MONTH_FIRST, _YEAR)


def span(date: Date) -> Span:
    """The days that a date may mean."""
    if date.month is None:
        return Span(day_number(date.year, 1, 1), day_number(date.year, 12, 31))
    if date.day is None:
        last = month_length(date.year, date.month)
        return Span(day_number(date.year, date.month, 1), day_number(date.year, date.month, last))
    return Span(*[day_number(date.year, date.month, date.day)] * 2)


def days_between(first: Date, second: Date) -> Span:
    """The fewest and the most days from one date to another; negative where it is earlier."""
    one, other = span(first), span(second)
    return Span(other.first - one.last, other.last - one.first)


def completed_years(born: Date, then: Date) -> Span:
    """The fewest and the most birthdays between two dates."""
    ends = [_birthdays(_of(one), _of(other)) for one in span(born) for other in span(then)]
    return Span(min(ends), max(ends))


def weekday(date: Date) -> str:
    """Name of the day of the week of a full date."""
    if date.day is None:
        raise CalendarError(f"{date} is not one day; give the day and the month, too")
    return WEEKDAYS[span(date).first % 7]


def add_months(date: Date, months: int) -> Date:
    """The date so many months later; the month's last day where it has no such day."""
    if not months:
        return date
    if date.month is None:
        years, rest = divmod(months, 12)
        if rest:
            raise CalendarError(f"{date} names no month to count months from; give one")
        return _checked(Date(date.year + years))
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise _out_of_range()
    day = date.day and min(date.day, month_length(year, month + 1))
    return _checked(Date(year, month + 1, day))


def add_days(date: Date, days: int) -> Date:
    """The date so many days later."""
    if not days:
        return date
    if date.day is None:
        raise CalendarError(f"{date} names no day to count days from; give the full date")
    number = span(date).first + days
    if not day_number(_FIRST_YEAR, 1, 1) <= number <= day_number(_LAST_YEAR, 12, 31):
        raise _out_of_range()
    return _of(number)


def day_number(year: int, month: int, day: int) -> int:
    """The Julian day number of a day in the calendar of its time."""
    gregorian = _gregorian(year, month, day)
    return gregorian if gregorian >= FIRST_GREGORIAN else _march_days(year, month, day) - 32_083


def month_length(year: int, month: int) -> int:
    """The last day of a month in the calendar of its time."""
    if month == 2:
        has_century = (year, month) > (1582, 10) and year % 100 == 0
        leap = year % 400 == 0 if has_century else year % 4 == 0
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _gregorian(year: int, month: int, day: int) -> int:
    years = year + 4800 - (month < 3)
    return _march_days(year, month, day) - years // 100 + years // 400 - 32_045


def _march_days(year: int, month: int, day: int) -> int:
    """Days of years that begin in March, each fourth a leap year."""
    years, months = year + 4800 - (month < 3), (month - 3) % 12
    return day + (153 * months + 2) // 5 + 365 * years + years // 4


def _of(number: int) -> Date:
    """The day of a number, in the calendar of its time."""
    days = number + 32_082  # since 1 March 4801 BC
    if number >= FIRST_GREGORIAN:
        century = (4 * (number + 32_044) + 3) // 146_097
        days = number + 32_044 - 146_097 * century // 4 + 36_525 * century
    years = (4 * days + 3) // 1461
    of_year = days - 1461 * years // 4
    months = (5 * of_year + 2) // 153
    day = of_year - (153 * months + 2) // 5 + 1
    month = (months + 2) % 12 + 1
    return Date(years - 4800 + (month < 3), month, day)


def _birthdays(born: Date, then: Date) -> int:
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))


def _month(written: str | None) -> int | None:
    if written is None or written.isdigit():
        return int(written) if written else None
    near = [n for n, name in enumerate(MONTHS, 1) if name.lower().startswith(written.lower())]
    if len(near) != 1 and written.lower() != "sept":
        raise CalendarError(f"there is no month {written!r}")
    return near[0] if near else 9


def _checked(date: Date) -> Date:
    if not _FIRST_YEAR <= date.year <= _LAST_YEAR:
        raise _out_of_range()
    if date.month is not None and not 1 <= date.month <= 12:
        raise CalendarError(f"there is no month {date.month}")
    if date.month is None or date.day is None:
        return date
    if not 1 <= date.day <= month_length(date.year, date.month):
        raise CalendarError(f"there is no {date}")
    if (date.year, date.month) == (1582, 10) and 5 <= date.day <= 14:
        raise CalendarError(
            f"there was no {date}: 4 October 1582 was followed by 15 October, when the Gregorian "
            "calendar replaced the Julian"
        )
    return date


def _out_of_range() -> CalendarError:
    return CalendarError(f"dates are reckoned from {1 - _FIRST_YEAR} BC to {_LAST_YEAR}")
