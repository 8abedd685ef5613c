"""Putting scored rows in order: best first, ties by passage id."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple


class Scored(NamedTuple):
    """A row of the corpus and its score."""

    row: int
    score: float


def ranked(scored: Sequence[Scored], k: int, id_of: Callable[[int], str]) -> list[Scored]:
    """The best `k`, ties broken by id; ids are asked for only where scores tie.

    `scored` must hold every row that ties with the k-th, or the border would be arbitrary.
    """
    best: list[Scored] = []
    for _, group in groupby(sorted(scored, key=lambda s: -s.score), key=lambda s: s.score):
        if len(best) >= k:
            break
        tied = list(group)
        best += tied if len(tied) == 1 else sorted(tied, key=lambda s: id_of(s.row))
    return best[:k]
