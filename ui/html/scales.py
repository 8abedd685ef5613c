"""Scales of figures: where a value stands, and which round numbers are written beside."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from branchwise.eval.numbers import number, signed

_STEPS = (1, 2, 2.5, 5, 10)
_UNITS = ((1e9, "B"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Scale:
    """A linear scale of values `low` to `high` on units `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Where a value stands; what is beyond an end stands at the end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def from_zero(values: Sequence[float], start: float, end: float, most: int = 5) -> Scale:
    """From 0 to a round number that no value exceeds."""
    top = max(values, default=0.0) or 1.0
    step = _step(top / most)
    count = ceil(round(top / step, 6))
    ticks = tuple(round(step * i, 12) for i in range(count + 1))
    return Scale(0.0, ticks[-1], start, end, ticks)


def around_zero(values: Sequence[float], start: float, end: float, most: int = 6) -> Scale:
    """With 0 in it, and a round number beyond the values on either side."""
    low, high = min((0.0, *values)), max((0.0, *values))
    step = _step(((high - low) or 0.1) / most)
    first, last = floor(round(low / step, 6)), ceil(round(high / step, 6))
    if first == last:
        first, last = first - 1, last + 1
    ticks = tuple(round(step * i, 12) for i in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], start, end, ticks)


def tick_words(ticks: Sequence[float], *, with_sign: bool = False) -> list[str]:
    """The ticks with as many digits as tell them apart: 0, .05, .10."""
    unit, letter = next(((u, name) for u, name in _UNITS if ticks[-1] >= 5 * u), (1.0, ""))
    scaled = [tick / unit for tick in ticks]
    places, say = digits(scaled), signed if with_sign else number
    return ["0" if tick == 0 else say(tick, places) + letter for tick in scaled]


def digits(ticks: Sequence[float]) -> int:
    """How many digits behind the point tell the ticks apart."""
    step = ticks[1] - ticks[0]
    return next(d for d in range(13) if abs(round(step, d) - step) < step * 1e-6)


def _step(least: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that is no less."""
    power = 10.0 ** floor(log10(least))
    return float(next(s for s in _STEPS if s * power >= least * (1 - 1e-9)) * power)
