"""Spans of time as people write them: `90`, `90s`, `2m`, `1.5h`."""

import math
import re

from branchwise.base.errors import InputError

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_WRITTEN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})\s*([a-z]*)")
MOST_SECONDS = 366 * 86_400.0
"""The longest span that is taken: what waits for more than a year, or for ever, is a mistake, and
event loops refuse to wait for centuries."""
EXAMPLE = "write seconds, or a number with s, m, h or d: 90s, 2m, 1.5h"


def read_duration(text: str | float, where: str | None = None) -> float:
    """Seconds; a number without a unit is seconds. Raises InputError."""
    found = _WRITTEN.fullmatch(str(text).strip().lower())
    if found is None or (found[2] and found[2] not in _UNITS):
        raise InputError(f"{str(text)[:40]!r} is not a duration", where=where, remedy=EXAMPLE)
    seconds = float(found[1]) * _UNITS.get(found[2], 1.0)
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
