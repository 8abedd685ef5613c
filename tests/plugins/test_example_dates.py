"""The date calculator of the examples: its calendar, what it reads, what it says."""

import contextlib
import datetime
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise import ToolError
from branchwise.base.plugins.specs import find_plugin

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
SPEC = f"{EXAMPLES / 'date_arithmetic.py'}:date_arithmetic"
date_arithmetic = find_plugin(SPEC, "tools").object
days = find_plugin(f"{EXAMPLES / 'calendar_days.py'}:day_number", "tools").object
calendar = find_plugin(f"{EXAMPLES / 'calendar_days.py'}:parse_date", "tools").object.__globals__
_UNIX_EPOCH = 2_440_588  # Julian day number of 1 January 1970


@given(st.dates(min_value=datetime.date(1582, 10, 15)))
def test_a_gregorian_day_is_counted_as_the_standard_library_counts_it(day: datetime.date):
    number = days(day.year, day.month, day.day)
    assert number - _UNIX_EPOCH == (day - datetime.date(1970, 1, 1)).days
    assert calendar["WEEKDAYS"][number % 7] == day.strftime("%A")


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1 January 4712 BC", 366),  # 4713 BC, where day 0 is, was a leap year
        ("15 March 44 BC", 1_705_426),
        ("1 January AD 1", 1_721_424),
        ("October 4, 1582", 2_299_160),
        ("15th of October 1582", 2_299_161),
        ("2000-01-01", 2_451_545),
    ],
)
def test_known_days_have_their_julian_day_number(written: str, number: int):
    assert calendar["span"](calendar["parse_date"](written)) == (number, number)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("days_between", "4 July 1776", "14 July 1789"), "4,758 days."),
        (("days_between", "1999", "12 March 1999"), ": between -294 and 70 days."),
        (("days_between", "2 BC", "1 BC"), ": between 1 and 730 days."),
        (("weekday", "29 February 2000"), "29 February 2000 is a Tuesday."),
        (("add", "31 January 2023", "", 0, 1), "is 28 February 2023."),
        (("add", "29 February 2024", "", 1), "is 28 February 2025."),
        (("add", "March 44 BC", "", 44), "is March 1."),
        (("add", "1999", "", -2000), "is 2 BC."),
        (("age", "1815", "27 November 1852"), ": 36 or 37 years old."),
        (("age", "23 September 63 BC", "19 August AD 14"), ": 75 years old."),
        (("age", "29 February 2000", "28 February 2001"), ": 0 years old."),
    ],
)
def test_what_it_says_is_what_one_reckons_by_hand(arguments: tuple, said: str):
    answer = date_arithmetic(*arguments)
    assert said in answer
    assert ("Julian" in answer) == ("BC" in " ".join(map(str, arguments)))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("weekday", "10 October 1582"), "4 October 1582 was followed by 15 October"),
        (("weekday", "29 February 1900"), "there is no 29 February 1900"),
        (("weekday", "5000 BC"), "from 4712 BC to 9999"),
        (("weekday", "soon"), "'soon' is not a date; write it like 12 March 1999"),
        (("add", "1999", "", 0, 1), "names no month to count months from"),
        (("add", "March 1999", "", 0, 0, 1), "names no day to count days from"),
        (("add", "1 January 1999", "", 0, 0, 10**12), "from 4712 BC to 9999"),
        (("age", "1999"), "age needs two dates"),
        (("age", "1999", "1950"), "1950 is before 1999"),
    ],
)
def test_what_cannot_be_reckoned_is_said_to_the_model(arguments: tuple, line: str):
    with pytest.raises(ToolError, match=re.escape(line)):
        date_arithmetic(*arguments)


@given(st.text(max_size=80))
def test_any_text_is_a_date_or_a_tool_error(text: str):
    with contextlib.suppress(calendar["CalendarError"]):
        assert calendar["span"](calendar["parse_date"](text)).first >= 0
