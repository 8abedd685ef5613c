"""The entities of a world, and the names that several of them share."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from branchwise.base.errors import InputError
from branchwise.kg.dials import EASY, Dials
from branchwise.kg.schema import Schema
from branchwise.worlds.draws import Ints, below, shuffled
from branchwise.worlds.naming import UNIVERSAL, NameMaker

SIZES = range(2, 15)
_WEIGHTS = (1000, 570, 325, 190, 115, 70, 45, 28, 18, 12, 8, 5, 3)
"""How often a shared name has so many bearers: 3.5 on average (DeepAmbigQA's questions 3.3)."""

MEAN_SIZE = sum(s * w for s, w in zip(SIZES, _WEIGHTS, strict=True)) / sum(_WEIGHTS)
MAX_AMBIGUITY = 0.7


@dataclass(frozen=True)
class Groups:
    """Entities that share a name; those of group g are `members[starts[g]:starts[g + 1]]`."""

    members: Ints
    starts: Ints
    position: Ints  # of each entity within its group; 0 for entities in none
    shared: NDArray[np.bool_]  # whether an entity is in one

    def __len__(self) -> int:
        return len(self.starts) - 1


def share_names(
    schema: Schema,
    types: tuple[str, ...],
    starts: tuple[int, ...],
    years: Ints,
    seed: int,
    ambiguity: float,
    namesakes: int,
) -> tuple[NameMaker, Ints, Groups]:
    """The names, the number of each entity's name, and which entities share one: 2 to 14 bear each
    of the share `ambiguity` of names, `namesakes` per cent of these names across kinds. Same-named
    entities get different years, in place."""
    resolved = [schema.resolved(name) for name in types]
    kinds = (*dict.fromkeys(k for t in resolved for k in (t.name, t.shares) if k), UNIVERSAL)
    type_of = np.repeat(np.arange(len(types)), np.diff(starts))
    kind_of = np.array([kinds.index(t.name) for t in resolved])[type_of]
    index = np.zeros(len(type_of), dtype=np.int64)
    counts = dict.fromkeys(kinds, 0)
    wanted = ambiguity * len(type_of) / (1 + ambiguity * (MEAN_SIZE - 1))
    pools = _pools(schema, types, starts)
    eligible = sum(len(pool) for pool, _ in pools.values())
    bearers = _across_kinds(seed, pools, round(wanted * namesakes / 100))
    across = np.zeros(len(type_of), dtype=np.bool_)
    for number, members in enumerate(bearers):
        across[members] = True
        kind_of[members], index[members] = kinds.index(UNIVERSAL), number
    counts[UNIVERSAL] = len(bearers)
    wanted -= len(bearers)
    for kind, (pool, most) in pools.items():
        free = pool[~across[pool]]
        sizes = _sizes(seed, kind, round(wanted * len(pool) / eligible), len(free), most)
        members = shuffled(seed, f"shared/{kind}", free)[: sizes.sum()]
        kind_of[members] = kinds.index(kind)
        index[members] = np.repeat(np.arange(len(sizes)), sizes)
        counts[kind] = len(sizes)
        bearers += np.split(members, np.cumsum(sizes)[:-1]) if len(sizes) else []
    groups = _groups(bearers, years)
    for number, kind in enumerate(kinds):
        others = np.flatnonzero(~groups.shared & (kind_of == number))
        index[others] = counts[kind] + np.arange(len(others))
        counts[kind] += len(others)
    names = NameMaker(counts, seed)
    offsets = np.array([names.offsets[kind] for kind in kinds], dtype=np.int64)
    return names, offsets[kind_of] + index, groups


def _pools(
    schema: Schema, types: tuple[str, ...], starts: tuple[int, ...]
) -> dict[str, tuple[Ints, int]]:
    """By kind of name, the entities that may share one, and the most bearers of one. Those that are
    there for another type (capitals) keep their own; cities, told apart by country, are as many."""
    reserved: dict[str, int] = {}
    for relation in schema.relations.values():
        if relation.cover:
            index = types.index(schema.objects(relation)[0])
            for name in schema.subjects(relation):
                reserved.setdefault(name, starts[index + 1] - starts[index])
    pools: dict[str, list[Ints]] = {}
    most: dict[str, int] = {}
    for index, name in enumerate(types):
        if kind := schema.resolved(name).shares:
            first = starts[index] + reserved.get(name, 0)
            pools.setdefault(kind, []).append(np.arange(first, max(first, starts[index + 1])))
            largest = SIZES.stop - 1
            most[kind] = min(most.get(kind, largest), reserved.get(name, 0) or largest)
    return {kind: (np.concatenate(parts), most[kind]) for kind, parts in pools.items()}


def _sizes(seed: int, kind: str, count: int, available: int, most: int) -> Ints:
    thresholds = np.cumsum(_WEIGHTS)
    draws = below(seed, f"sizes/{kind}", int(thresholds[-1]), count)
    sizes = np.minimum(SIZES.start + np.searchsorted(thresholds, draws, side="right"), most)
    return sizes[np.cumsum(sizes) <= available]


def _across_kinds(seed: int, pools: Mapping[str, tuple[Ints, int]], count: int) -> list[Ints]:
    """The bearers of about `count` names, of two kinds at least each. No kind gives more than half
    of those it has."""
    sizes = _sizes(seed, UNIVERSAL, count, 2**31, SIZES.stop - 1)
    name = np.repeat(np.arange(len(sizes)), sizes)
    kinds = list(pools)
    most = np.array([pools[kind][1] for kind in kinds])
    free = [shuffled(seed, f"across/{k}", pools[k][0])[: len(pools[k][0]) // 2] for k in kinds]
    weights = np.minimum([len(members) for members in free], len(name) // 2)
    if np.count_nonzero(weights) < 2:
        return []

    def drawn(stream: str, weights: Ints, size: int) -> Ints:
        draws = below(seed, stream, int(weights.sum()), size)
        return np.searchsorted(np.cumsum(weights), draws, side="right")

    kind_of = drawn("across", weights, len(name))
    seconds = np.cumsum(sizes) - sizes + 1
    firsts = kind_of[seconds - 1].copy()
    for number, kind in enumerate(kinds):
        alike = seconds[(firsts == number) & (kind_of[seconds] == number)]
        others = np.where(np.arange(len(kinds)) == number, 0, weights)
        kind_of[alike] = drawn(f"across/other than {kind}", others, len(alike))
    member = np.full(len(name), -1, dtype=np.int64)
    for number, members in enumerate(free):
        rows = np.flatnonzero(kind_of == number)
        nth = np.arange(len(rows)) - np.searchsorted(name[rows], name[rows])
        rows = rows[nth < most[number]][: len(members)]
        member[rows] = members[: len(rows)]
    # Those of which the fewest can be told apart come first: their places in a group tell them.
    order = np.lexsort((most[kind_of], name))
    order = order[member[order] >= 0]
    parts = np.searchsorted(name[order], np.arange(1, len(sizes)))
    both = zip(np.split(member[order], parts), np.split(kind_of[order], parts), strict=True)
    return [members for members, of_kinds in both if len(set(of_kinds.tolist())) > 1]


def _groups(shared_by: list[Ints], years: Ints) -> Groups:
    position, is_shared = np.zeros_like(years), np.zeros(len(years), dtype=np.bool_)
    for members in shared_by:
        position[members] = np.arange(len(members))
        is_shared[members] = True
        used: set[int] = set()
        for entity in members.tolist():
            while int(years[entity]) in used:
                years[entity] -= 1
            used.add(int(years[entity]))
    starts = np.cumsum([0, *(len(members) for members in shared_by)])
    joined = np.concatenate(shared_by) if shared_by else np.zeros(0, dtype=np.int64)
    return Groups(joined, starts, position, is_shared)


NOW = 2024
"""The year in which every world is written."""

FIRST_NUMBER = 2_000_000_001
"""Above Wikidata's own entity numbers (137 million in 2025), below its software's limit, 2**31."""

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
    dials: Dials = EASY

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


def populate(
    schema: Schema, entities: int, seed: int, ambiguity: float, dials: Dials = EASY
) -> Population:
    """Draw a world's entities. `ambiguity`: share of names borne by several. Raises InputError if
    there are too few for every type."""
    types = tuple(sorted(schema.concrete, key=lambda name: schema.is_a(name, "person")))
    counts = dict(zip(types, _counts(schema, types, entities), strict=True))
    starts = tuple(int(n) for n in np.cumsum([0, *counts.values()]))
    years = np.concatenate([_years(schema, n, count, seed) for n, count in counts.items()])
    second = np.concatenate([_second(schema, types, n, count, seed) for n, count in counts.items()])
    names, numbers, groups = share_names(
        schema, types, starts, years, seed, ambiguity, dials.namesakes
    )
    return Population(schema, seed, types, starts, years, second, numbers, names, groups, dials)


def _counts(schema: Schema, types: tuple[str, ...], entities: int) -> list[int]:
    declared = [schema.types[name] for name in types]
    least = sum(kind.at_least for kind in declared)
    if entities < least:
        remedy = f"ask for at least {least}, or for fewer domains"
        raise InputError(f"{entities} entities are too few for {len(types)} types", remedy=remedy)
    total = sum(kind.share for kind in declared)
    shares = [int(entities * kind.share / total) for kind in declared]
    counts = [min(k.at_most, max(k.at_least, n)) for k, n in zip(declared, shares, strict=True)]
    largest = cycle(sorted(range(len(types)), key=lambda n: (-declared[n].share, n)))
    while missing := entities - sum(counts):
        place = next(largest)
        kind = declared[place]
        step = missing if abs(missing) < len(types) else missing * kind.share / total
        away_from_zero = int(step) or (1 if step > 0 else -1)
        counts[place] = min(kind.at_most, max(kind.at_least, counts[place] + away_from_zero))
    return counts


def _years(schema: Schema, type_name: str, count: int, seed: int) -> Ints:
    low, high = schema.types[type_name].years
    span = high - low + 1
    first = below(seed, f"year/{type_name}", span, count)
    other = below(seed, f"year again/{type_name}", span, count)
    return low + np.maximum(first, other)


def _second(schema: Schema, types: tuple[str, ...], type_name: str, count: int, seed: int) -> Ints:
    draws = below(seed, f"second/{type_name}", 100, count)
    second = np.full(count, NO_SECOND, dtype=np.int64)
    low = 0
    for other, percent in schema.types[type_name].second.items():
        second[(draws >= low) & (draws < low + percent)] = types.index(other)
        low += percent
    return second
