"""Numbers and money as every output prints them."""

import math
from typing import Literal

UNKNOWN = "–"
Unit = Literal[
    "text", "count", "tokens", "share", "change", "value", "p", "seconds", "usd", "ratio"
]
"""The unit of a number. `share` is 0 to 1, `change` a signed difference of shares, `value` any
other number, `ratio` a multiple of the base's."""

_LEAST_USD = 1e-6
_SIZES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def number(value: float | None, digits: int = 2) -> str:
    """Without a zero before the point; a negative value keeps its sign when it rounds to zero."""
    if value is None:
        return UNKNOWN
    shown = f"{abs(value):.{digits}f}"
    bare = shown.removeprefix("0") if digits and abs(float(shown)) < 1 else shown
    return f"-{bare}" if value < 0 else bare


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, "th")
    return f"{n}{ending}"


def signed(value: float, digits: int = 2) -> str:
    """As `number`, always with a sign; "±" for no difference at all."""
    if value == 0:
        return f"±{number(0.0, digits)}"
    return number(value, digits) if value < 0 else f"+{number(value, digits)}"


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
    return f"{value:,.0f}" if value >= 99.95 or value == int(value) else f"{value:.1f}"


def short_count(value: float | None) -> str:
    """As `count` below 10,000, else three digits and a unit: 1.23M."""
    if value is None or value < 9999.5:
        return count(value)
    # The largest unit that leaves a whole digit, after rounding: 999,600 is 1.00M.
    size, letter = next((s for s in _SIZES if value >= 0.9995 * s[0]), _SIZES[-1])
    scaled = value / size
    return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{letter}"


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
        return f"{value:.{behind}f}".removeprefix("0")
    if value < 0.99995:
        return f"{value:.4f}".removeprefix("0")
    return f"{value:,.2f}" if value < 9999.995 else f"{value:,.0f}"


def times(value: float | None) -> str:
    """ "×2.1": a multiple of the base's."""
    return UNKNOWN if value is None else f"×{as_text(value, 'ratio')}"


def percent(part: float, whole: float) -> str:
    """A share as a whole percentage; "<1%" for what is there and rounds to nothing."""
    if not whole:
        return UNKNOWN
    rounded = round(100 * part / whole)
    return "<1%" if part and not rounded else f"{rounded}%"


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
            return number(value) if value < 9.995 else f"{value:,.1f}"
        case _:
            return number(value, digits)
