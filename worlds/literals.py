"""Dates and numbers of entities."""

from collections.abc import Mapping

import numpy as np

from branchwise.kg.schema import Relation
from branchwise.worlds.draws import Ints, below
from branchwise.worlds.links import Links
from branchwise.worlds.population import NOW, Population

_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def draw_literals(population: Population) -> dict[tuple[str, str], Ints]:
    """By relation and type, a value for each entity of the type; 0 where it has none.

    Dates are year * 10,000 + month * 100 + day.
    """
    values: dict[tuple[str, str], Ints] = {}
    for name, relation in population.schema.relations.items():
        if relation.date is None and relation.number is None:
            continue
        for kind in population.schema.subjects(relation):
            first, end = population.range_of(kind)
            stream = f"{name}/{kind}"
            if relation.number is not None:
                drawn = _numbers(stream, relation, relation.number, end - first, population.seed)
            else:
                drawn = _dates(stream, relation, population.years[first:end], population.seed)
            values[name, kind] = drawn.astype(np.int32)
    return values


def add_sums(
    population: Population, literals: dict[tuple[str, str], Ints], links: Mapping[str, Links]
) -> None:
    """Make numbers larger than what they are the whole of: a country has more than its cities.

    A third of the sum more at least, five times as much at most.
    """
    for name, relation in population.schema.relations.items():
        if not relation.more_than:
            continue
        part, number = relation.more_than
        (kind,) = population.schema.subjects(relation)
        (parts,) = population.schema.subjects(population.schema.relations[number])
        first, end = population.range_of(kind)
        sums = np.zeros(end - first, dtype=np.int64)
        places = links[part].subjects - population.range_of(parts)[0]
        np.add.at(sums, links[part].objects - first, literals[number, parts][places])
        percent = 133 + below(population.seed, f"more/{name}", 368, end - first)
        most = relation.number[1] if relation.number else 2**31 - 1
        literals[name, kind] = np.minimum(sums * percent // 100, most).astype(np.int32)


def _numbers(
    stream: str, relation: Relation, bounds: tuple[int, int], count: int, seed: int
) -> Ints:
    low, high = bounds
    drawn = below(seed, f"number/{stream}", high - low + 1, count)
    if not relation.skew:
        other = below(seed, f"number again/{stream}", high - low + 1, count)
        return low + (drawn + other) // 2  # likelier in the middle
    for again in range(3):  # a product of uniform draws: most small, few large
        drawn = drawn * below(seed, f"number {again}/{stream}", 2**16, count) >> 16
    return low + drawn


def _dates(stream: str, relation: Relation, years: Ints, seed: int) -> Ints:
    count = len(years)
    if isinstance(relation.date, tuple):
        low, high = relation.date
        years = years + low + below(seed, f"after/{stream}", high - low + 1, count)
    months = below(seed, f"month/{stream}", 12, count)
    days = 1 + below(seed, f"day/{stream}", _DAYS[months])
    dates = years * 10_000 + (months + 1) * 100 + days
    return np.where(years > NOW, 0, dates)


def iso_date(date: int) -> str:
    """19760314 as 1976-03-14."""
    return f"{date // 10_000:04d}-{date // 100 % 100:02d}-{date % 100:02d}"


def spoken_date(date: int) -> str:
    """19760314 as 14 March 1976."""
    return f"{date % 100} {MONTHS[date // 100 % 100 - 1]} {date // 10_000}"
