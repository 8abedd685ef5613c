"""Which entities share a name, and with whom."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from branchwise.kg.schema import Schema
from branchwise.worlds.draws import Ints, below, shuffled

SIZES = range(2, 15)
_WEIGHTS = (1000, 570, 325, 190, 115, 70, 45, 28, 18, 12, 8, 5, 3)
"""How often a shared name has so many bearers: each size less often than the one before, 3.5 on
average (DeepAmbigQA's questions have 3.3 branches, up to 14)."""

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


@dataclass(frozen=True)
class Naming:
    """The name of each entity as a kind (a number in `kinds`) and an index within it."""

    kinds: tuple[str, ...]
    counts: dict[str, int]
    kind_of: Ints
    index: Ints
    groups: Groups


def share_names(
    schema: Schema,
    types: tuple[str, ...],
    starts: tuple[int, ...],
    years: Ints,
    seed: int,
    ambiguity: float,
) -> Naming:
    """Give every entity a name of its own, but the share `ambiguity` of names to 2 to 14 entities.

    Years of same-named entities are made distinct in place: titles need it.
    """
    resolved = [schema.resolved(name) for name in types]
    kinds = tuple(dict.fromkeys(k for t in resolved for k in (t.name, t.shares) if k))
    type_of = np.repeat(np.arange(len(types)), np.diff(starts))
    kind_of = np.array([kinds.index(t.name) for t in resolved])[type_of]
    index = np.zeros(len(type_of), dtype=np.int64)
    counts = dict.fromkeys(kinds, 0)
    wanted = ambiguity * len(type_of) / (1 + ambiguity * (MEAN_SIZE - 1))
    pools = _pools(schema, types, starts)
    eligible = sum(len(pool) for pool in pools.values())
    found: list[Ints] = []
    for kind, pool in pools.items():
        most = _most(schema, types, starts, kind)
        sizes = _sizes(seed, kind, round(wanted * len(pool) / eligible), len(pool), most)
        members = shuffled(seed, f"shared/{kind}", pool)[: sizes.sum()]
        kind_of[members] = kinds.index(kind)
        index[members] = np.repeat(np.arange(len(sizes)), sizes)
        counts[kind] = len(sizes)
        found += np.split(members, np.cumsum(sizes)[:-1]) if len(sizes) else []
    groups = _groups(found, years)
    for number, kind in enumerate(kinds):
        others = np.flatnonzero(~groups.shared & (kind_of == number))
        index[others] = counts[kind] + np.arange(len(others))
        counts[kind] += len(others)
    return Naming(kinds, counts, kind_of, index, groups)


def _pools(schema: Schema, types: tuple[str, ...], starts: tuple[int, ...]) -> dict[str, Ints]:
    """The entities that may bear a shared name of each kind."""
    pools: dict[str, list[Ints]] = {}
    for place, name in enumerate(types):
        if kind := _shared(schema, name):
            first = starts[place] + _reserved(schema, types, starts, name)
            pools.setdefault(kind, []).append(np.arange(first, max(first, starts[place + 1])))
    return {kind: np.concatenate(parts) for kind, parts in pools.items()}


def _reserved(schema: Schema, types: tuple[str, ...], starts: tuple[int, ...], name: str) -> int:
    """How many first entities of a type exist for another type (a capital for each country).

    They keep their own names.
    """
    for relation in schema.relations.values():
        if relation.cover and name in schema.subjects(relation):
            place = types.index(schema.objects(relation)[0])
            return starts[place + 1] - starts[place]
    return 0


def _most(schema: Schema, types: tuple[str, ...], starts: tuple[int, ...], kind: str) -> int:
    """The most bearers of one name: cities are told apart by country, so as many as countries."""
    reserved = [_reserved(schema, types, starts, t) for t in types if _shared(schema, t) == kind]
    return min([SIZES.stop - 1, *filter(None, reserved)])


def _shared(schema: Schema, name: str) -> str:
    return schema.resolved(name).shares


def _sizes(seed: int, kind: str, count: int, available: int, most: int) -> Ints:
    """Sizes of `count` groups, as many as the available entities allow."""
    thresholds = np.cumsum(_WEIGHTS)
    draws = below(seed, f"sizes/{kind}", int(thresholds[-1]), count)
    sizes = SIZES.start + np.searchsorted(thresholds, draws, side="right")
    sizes = np.minimum(sizes, most)
    return sizes[np.cumsum(sizes) <= available]


def _groups(found: list[Ints], years: Ints) -> Groups:
    position, shared = np.zeros_like(years), np.zeros(len(years), dtype=np.bool_)
    for members in found:
        position[members] = np.arange(len(members))
        shared[members] = True
        used: set[int] = set()
        for entity in members.tolist():
            while int(years[entity]) in used:
                years[entity] -= 1
            used.add(int(years[entity]))
    starts = np.cumsum([0, *(len(members) for members in found)])
    joined = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
    return Groups(joined, starts, position, shared)
