"""Numbers, money and spans of time as every output prints them."""

import math
import re
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Literal

from branchwise.base.errors import InputError

UNKNOWN = "–"
Unit = Literal[
    "text", "count", "tokens", "share", "change", "value", "p", "seconds", "usd", "ratio"
]
"""The unit of a number. `share` is 0 to 1, `change` a signed difference of shares, `value` any
other number, `ratio` a multiple of the base's."""

_LEAST_USD = 1e-6
_SIZES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def rounded(value: float, digits: int = 0, separator: str = "") -> str:
    """With `digits` after the point, halves away from zero, as a reader rounds the decimal: .575
    is .58, though the float lies below it. Zero has no sign."""
    with localcontext(rounding=ROUND_HALF_UP):
        shown = f"{Decimal(str(round(value, 12))):{separator}.{digits}f}"
    return shown if shown.strip("-0.") else shown.removeprefix("-")


def number(value: float | None, digits: int = 2) -> str:
    """Without a zero before the point."""
    if value is None:
        return UNKNOWN
    return re.sub(r"^(-?)0\.", r"\1.", rounded(value, digits))


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, "th")
    return f"{n}{ending}"


def signed(value: float, digits: int = 2) -> str:
    """As `number`, with a sign unless it rounds to zero; "±" for no difference at all."""
    shown = number(value, digits)
    if value == 0:
        return f"±{shown}"
    return f"+{shown}" if value > 0 and shown.strip("0.") else shown


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """ "[.03, .13]"; empty without an interval."""
    if low is None or high is None:
        return ""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(p: float) -> str:
    """ "p = .004", "p < .001", "p > .999", "p = 1"."""
    if p < 0.001:
        return "p < .001"
    if p == 1:
        return "p = 1"
    return "p > .999" if p > 0.999 else f"p = {number(p, 3)}"


def count(value: float | None) -> str:
    """Whole, with separators; one digit after the point for a mean below 100."""
    if value is None:
        return UNKNOWN
    return rounded(value, 0 if value >= 99.95 or value == int(value) else 1, ",")


def short_count(value: float | None) -> str:
    """As `count` below 10,000, else three digits and a unit: 1.23M."""
    if value is None or value < 9999.5:
        return count(value)
    # The largest unit that leaves a whole digit, after rounding: 999,600 is 1.00M.
    size, letter = next((s for s in _SIZES if value >= 0.9995 * s[0]), _SIZES[-1])
    scaled = value / size
    return f"{rounded(scaled, 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0)}{letter}"


def usd(value: float | None) -> str:
    """Four digits after the point below 1, then two, then none; two significant digits below
    .001. 0 only where nothing is paid."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    if value < _LEAST_USD:
        return f"<{_LEAST_USD:.6f}".replace("0.", ".", 1)
    if value < 0.000995:
        behind = 1 - math.floor(math.log10(value / 0.995))
        return number(value, behind)
    if value < 0.99995:
        return number(value, 4)
    return rounded(value, 2 if value < 9999.995 else 0, ",")


def times(value: float | None) -> str:
    """ "×2.1": a multiple of the base's."""
    return UNKNOWN if value is None else f"×{as_text(value, 'ratio')}"


def percent(part: float, whole: float) -> str:
    """A share as a whole percentage; "<1%" for what is there and rounds to nothing."""
    if not whole:
        return UNKNOWN
    shown = rounded(100 * part / whole)
    return "<1%" if part and shown == "0" else f"{shown}%"


def as_text(value: float | None, unit: Unit, digits: int = 2) -> str:
    """A number of this unit; `digits` after the point of shares, changes and values."""
    match unit:
        case _ if value is None:
            return UNKNOWN
        case "p":
            return p_value(value).removeprefix("p ").removeprefix("= ").replace(" ", "")
        case "change":
            return signed(value, digits)
        case "count" | "tokens":
            return count(value)
        case "usd":
            return usd(value)
        case "seconds" | "ratio":
            return number(value) if value < 9.995 else rounded(value, 1, ",")
        case _:
            return number(value, digits)


_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_WRITTEN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})\s*([a-z]*)")
MOST_SECONDS = 366 * 86_400.0
"""The longest span that is taken: what waits for more than a year, or for ever, is a mistake, and
event loops refuse to wait for centuries."""
EXAMPLE = "write seconds, or a number with s, m, h or d: 90s, 2m, 1.5h"


def read_duration(text: str | float, where: str | None = None) -> float:
    """Seconds; a number without a unit is seconds. Raises InputError."""
    written = _WRITTEN.fullmatch(str(text).strip().lower())
    if written is None or (written[2] and written[2] not in _UNITS):
        raise InputError(f"{str(text)[:40]!r} is not a duration", where=where, remedy=EXAMPLE)
    seconds = float(written[1]) * _UNITS.get(written[2], 1.0)
    if seconds > MOST_SECONDS:
        raise InputError(f"{str(text)[:40]!r} is more than a year", where=where, remedy=EXAMPLE)
    return seconds


def duration(seconds: float) -> str:
    """A span as it is told: "45 s", "2 min", "1 h 5 min"."""
    whole = max(0, math.floor(seconds + 0.5))
    if whole < 120 and whole % 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min" if minutes else "0 s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
