"""A tool that reckons with dates: language models are bad at it, and a calendar is short.

    branchwise tools try date_arithmetic.py:date_arithmetic \\
        --args '{"operation": "days_between", "date": "4 July 1776", "other": "1789-07-14"}'

The reckoning itself is in `calendar_days.py`, beside this file.
"""

from typing import Literal

from calendar_days import (
    CalendarError,
    Date,
    add_days,
    add_months,
    completed_years,
    days_between,
    parse_date,
    weekday,
)

from branchwise import ToolError, tool

SECTION = """Do not reckon with dates yourself: days between two dates, a date some days, months \
or years later, the day of the week and ages come from the tool date_arithmetic."""


@tool(section=SECTION, seconds=5)
def date_arithmetic(
    operation: Literal["days_between", "add", "weekday", "age"],
    date: str,
    other: str = "",
    years: int = 0,
    months: int = 0,
    days: int = 0,
) -> str:
    """Reckon with dates: the days from `date` to `other`; `date` plus years, months and days
    (each may be negative); the day of the week of `date`; the age at `other` of a person or
    something born or founded at `date`.

    Dates may be partial: "1999", "March 1999", "12 March 1999", "1999-03-12", "44 BC". Until
    4 October 1582 they are of the Julian calendar, from 15 October 1582 of the Gregorian.

    Args:
        operation: what to reckon.
        date: the date to begin with; for an age, of birth.
        other: the second date, of days_between and age.
        years: to add.
        months: to add.
        days: to add.
    """
    try:
        first = parse_date(date)
        if operation == "weekday":
            return f"{first} is a {weekday(first)}.{_old_style(first)}"
        if operation == "add":
            moved = add_days(add_months(first, 12 * years + months), days)
            return f"{first} plus {_amount(years, months, days)} is {moved}.{_old_style(first)}"
        if not other.strip():
            raise ToolError(f"{operation} needs two dates; give the second as other")
        second = parse_date(other)
        reckon = _days if operation == "days_between" else _age
        return f"{reckon(first, second)}{_old_style(first, second)}"
    except CalendarError as error:
        raise ToolError(str(error)) from None


def _days(first: Date, second: Date) -> str:
    least, most = days_between(first, second)
    many = f"{least:,}" if least == most else f"between {least:,} and {most:,}"
    unit = "day" if least == most and abs(least) == 1 else "days"
    return f"From {first} to {second}: {many} {unit}."


def _age(born: Date, then: Date) -> str:
    least, most = completed_years(born, then)
    if most < 0:
        raise ToolError(f"{then} is before {born}; an age needs the birth first")
    years = f"{max(least, 0)}" if least == most else f"{max(least, 0)} or {most}"
    if most - least > 1:
        years = f"between {max(least, 0)} and {most}"
    return f"Born {born}, at {then}: {years} years old."


def _amount(years: int, months: int, days: int) -> str:
    named = [(years, "years"), (months, "months"), (days, "days")]
    return " ".join(f"{n} {unit}" for n, unit in named if n) or "nothing"


def _old_style(*dates: Date) -> str:
    """What must be known of old dates: which calendar they are taken to be of."""
    if not any(date.is_julian for date in dates):
        return ""
    return (
        " (Dates before 15 October 1582 are taken as Julian, as people wrote them then; many"
        " countries kept that calendar longer.)"
    )
