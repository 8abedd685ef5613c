"""Ranking scored rows, best first with ties by passage id, and reciprocal rank fusion."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from branchwise.corpora.retrieval import MAX_K


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


FUSION_K = 60
DEPTH = 2 * MAX_K


def fused(
    rankings: Sequence[Sequence[Scored]], k: int, id_of: Callable[[int], str]
) -> list[Scored]:
    """The best `k` rows by reciprocal rank fusion, ties broken by id.

    score(p) = sum over rankings of 1 / (60 + rank(p)), ranks from 1 (Cormack, Clarke and Buettcher,
    SIGIR 2009). Each ranking is read to the same fixed depth, independent of k, so that the best 3
    are the first 3 of the best 50.
    """
    # Exact sums: equal sums of floats in another order could differ in the last bit and hide ties.
    totals: dict[int, Fraction] = {}
    for ranking in rankings:
        for rank, (row, _) in enumerate(ranking, start=1):
            totals[row] = totals.get(row, Fraction(0)) + Fraction(1, FUSION_K + rank)
    return ranked([Scored(row, float(total)) for row, total in totals.items()], k, id_of)
