"""Who and what is in a world: types, years, second occupations, names."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from branchwise.base.errors import InputError
from branchwise.kg.schema import Schema
from branchwise.worlds.draws import Ints, below
from branchwise.worlds.naming import NameMaker
from branchwise.worlds.sharing import Groups, share_names

NOW = 2024
"""The year in which every world is written."""

FIRST_NUMBER = 2_000_000_001
"""Entity numbers start here: Wikidata's own are far below (137 million in 2025), and its software
takes numbers up to 2**31 - 1."""

NO_SECOND = 255


@dataclass(frozen=True)
class Population:
    """The entities of a world, by index; those of one type stand together, persons last."""

    schema: Schema
    seed: int
    types: tuple[str, ...]
    starts: tuple[int, ...]  # the first index of each type, and the end of the last
    years: Ints  # of birth, release or founding
    second: Ints  # number in `types` of a second occupation, or NO_SECOND
    name_numbers: Ints
    names: NameMaker
    groups: Groups

    def __len__(self) -> int:
        return self.starts[-1]

    def range_of(self, type_name: str) -> tuple[int, int]:
        """First index, and the one after the last."""
        place = self.types.index(type_name)
        return self.starts[place], self.starts[place + 1]

    def members(self, type_name: str) -> Ints:
        """Indices of the entities that are of a type, or have it as second occupation."""
        primary = np.arange(*self.range_of(type_name))
        also = np.flatnonzero(self.second == self.types.index(type_name))
        return np.concatenate([primary, also])


def populate(schema: Schema, entities: int, seed: int, ambiguity: float) -> Population:
    """Draw the entities of a world. `ambiguity`: share of names that several entities bear.

    Raises InputError if there are too few for every type.
    """
    types = tuple(sorted(schema.concrete, key=lambda name: schema.is_a(name, "person")))
    counts = _counts(schema, types, entities)
    starts = tuple(int(n) for n in np.cumsum([0, *counts]))
    years = np.concatenate(
        [_years(schema, name, count, seed) for name, count in zip(types, counts, strict=True)]
    )
    second = np.concatenate(
        [_second(schema, types, n, count, seed) for n, count in zip(types, counts, strict=True)]
    )
    named = share_names(schema, types, starts, years, seed, ambiguity)
    names = NameMaker(named.counts, seed)
    offsets = np.array([names.offsets[kind] for kind in named.kinds], dtype=np.int64)
    numbers = offsets[named.kind_of] + named.index
    return Population(schema, seed, types, starts, years, second, numbers, names, named.groups)


def _counts(schema: Schema, types: tuple[str, ...], entities: int) -> list[int]:
    """How many entities of each type: in proportion, within each type's bounds."""
    declared = [schema.types[name] for name in types]
    least = sum(kind.at_least for kind in declared)
    if entities < least:
        raise InputError(
            f"{entities} entities are too few for {len(types)} types",
            remedy=f"ask for at least {least}, or for fewer domains",
        )
    total = sum(kind.share for kind in declared)
    counts = [
        min(kind.at_most, max(kind.at_least, int(entities * kind.share / total)))
        for kind in declared
    ]
    largest = sorted(range(len(types)), key=lambda n: (-declared[n].share, n))
    for place in _cycle(largest):
        missing = entities - sum(counts)
        if missing == 0:
            return counts
        bounds = (declared[place].at_least, declared[place].at_most)
        step = missing if abs(missing) < len(types) else missing * declared[place].share / total
        counts[place] = min(bounds[1], max(bounds[0], counts[place] + _away_from_zero(step)))
    raise AssertionError("unreachable")


def _cycle(places: list[int]) -> Iterator[int]:
    while True:
        yield from places


def _away_from_zero(step: float) -> int:
    return int(step) or (1 if step > 0 else -1)


def _years(schema: Schema, type_name: str, count: int, seed: int) -> Ints:
    """A year for each, later ones likelier."""
    low, high = schema.types[type_name].years
    span = high - low + 1
    first = below(seed, f"year/{type_name}", span, count)
    other = below(seed, f"year again/{type_name}", span, count)
    return low + np.maximum(first, other)


def _second(schema: Schema, types: tuple[str, ...], type_name: str, count: int, seed: int) -> Ints:
    chances = schema.types[type_name].second
    draws = below(seed, f"second/{type_name}", 100, count)
    result = np.full(count, NO_SECOND, dtype=np.int64)
    low = 0
    for other, percent in chances.items():
        result[(draws >= low) & (draws < low + percent)] = types.index(other)
        low += percent
    return result
