"""When a statement holds: points in time, starts, and spells one after another."""

import numpy as np

from branchwise.kg.schema import Relation
from branchwise.worlds.draws import Ints, RandomWords, scaled, words
from branchwise.worlds.population import NOW


def draw_times(
    name: str, relation: Relation, subjects: Ints, years: Ints, seed: int
) -> tuple[Ints, Ints]:
    """First and last year of each statement; 0 where it has none, -1 where it would be to come.

    `subjects` in order: spells of one subject follow each other without overlap.
    """
    none = np.zeros(len(subjects), dtype=np.int64)
    if relation.time is None:
        return none, none
    draws = words(seed, f"time/{name}", len(subjects))
    if relation.time_as == "spells":
        return _spells(relation.time, subjects, years, draws)
    low, high = relation.time
    base = np.full(len(subjects), NOW) if relation.at == "now" else years
    latest = np.minimum(high, NOW - base)
    begins = base + low + scaled(draws, np.maximum(latest - low + 1, 1))
    if relation.at == "now":  # not before the subject is there
        begins = np.maximum(begins, np.minimum(years + 1, NOW))
    return np.where(latest < low, -1, begins), none


def _spells(
    time: tuple[int, int], subjects: Ints, years: Ints, draws: RandomWords
) -> tuple[Ints, Ints]:
    """`time`: years from the subject's year to the first spell, and from one spell to the next."""
    first, slot = time
    new = np.concatenate([[True], subjects[1:] != subjects[:-1]]) if len(subjects) else subjects
    place = np.arange(len(subjects))
    rank = place - np.maximum.accumulate(np.where(new, place, 0))
    begins = years + first + slot * rank + scaled(draws, 2)
    ends = begins + 1 + scaled(draws << np.uint64(32), slot - 1)
    return np.where(begins > NOW, -1, begins), np.where(ends > NOW, 0, ends)
