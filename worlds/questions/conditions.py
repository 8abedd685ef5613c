"""Conditions for filters: whether a value meets one, and those that may divide a set."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from branchwise.kg.schema import Relation
from branchwise.worlds.questions.drafts import Neighbours
from branchwise.worlds.questions.plans import Amount, Condition, Holds, Years


def meets(condition: Condition, value: str) -> bool:
    """Whether one value does; bounds belong to what they bound.

    A date has the year that its text begins with, which may be before Christ ("-0044-03-15").
    """
    if isinstance(condition, Years):
        return _between(condition.first, year(value), condition.last)
    if isinstance(condition, Amount):
        return _between(condition.least, float(value), condition.most)
    return value == condition.value


def year(date: str) -> int:
    """The year of a date or of the part of it that is known."""
    sign, digits = (-1, date[1:]) if date.startswith("-") else (1, date)
    return sign * int(digits.partition("-")[0])


def _between(least: float | None, value: float, most: float | None) -> bool:
    return (least is None or least <= value) and (most is None or value <= most)


_ROUND_YEARS = ((80, 10), (16, 5))
"""Where years range so widely, bounds are multiples of the second number."""

_BETWEEN = 0.2
"""The share of date conditions with two bounds."""


def conditions(relation: Relation, values: Neighbours, rng: Random) -> Iterator[Condition]:
    """Conditions that may divide the members, likely ones first; few, and perhaps none.

    `values`: of each member that has any.
    """
    if relation.date is not None:
        yield from _years(sorted(year(v) for found in values.values() for v in found), rng)
    elif relation.number is not None:
        yield from _amounts(sorted(float(v) for found in values.values() for v in found), rng)
    else:
        yield from _holds(values, rng)


def satisfying(condition: Condition, values: Neighbours) -> frozenset[str]:
    """The members with a value that meets the condition."""
    return frozenset(m for m, found in values.items() if any(meets(condition, v) for v in found))


def _years(years: Sequence[int], rng: Random) -> Iterator[Condition]:
    if len(set(years)) < 2:
        return
    spread = years[-1] - years[0]
    unit = next((unit for width, unit in _ROUND_YEARS if spread >= width), 1)
    for _ in range(3):
        cut = -(-_inner(years, rng) // unit) * unit
        if rng.random() < _BETWEEN and cut + 2 * unit < years[-1]:
            last = max(cut + 2 * unit, cut + (years[-1] - cut) // 2 // unit * unit)
            yield Years(first=cut, last=last)
        elif rng.random() < 0.5:
            yield Years(first=cut)
        else:
            yield Years(last=cut - 1)


def _amounts(numbers: Sequence[float], rng: Random) -> Iterator[Condition]:
    if len(set(numbers)) < 2:
        return
    for _ in range(3):
        cut = _rounded(_inner(numbers, rng), numbers)
        yield Amount(least=cut) if rng.random() < 0.5 else Amount(most=cut)


def _inner(values: Sequence[float], rng: Random) -> int:
    """A value from the middle of sorted ones, above the smallest."""
    above = [value for value in values if value > values[0]]
    middle = values[len(values) // 4 : max(len(values) * 3 // 4, len(values) // 4 + 1)]
    chosen = [value for value in middle if value > values[0]] or above[:1]
    return int(rng.choice(chosen))


def _rounded(value: int, numbers: Sequence[float]) -> float:
    """The value with as few digits as still divide the numbers."""
    for digits in range(len(str(value)) - 1, -1, -1):
        cut = round(value / 10**digits) * 10**digits
        if numbers[0] < cut < numbers[-1]:
            return float(cut)
    return float(value)


def _holds(values: Neighbours, rng: Random) -> Iterator[Condition]:
    common = Counter(v for found in values.values() for v in dict.fromkeys(found))
    dividing = sorted(v for v, count in common.items() if count < len(values)) or sorted(common)
    for _ in range(min(3, len(dividing))):
        weights = [common[v] for v in dividing]
        yield Holds(value=rng.choices(dividing, weights)[0])
