"""Reciprocal rank fusion: one ranking out of several.

score(p) = sum over rankings of 1 / (60 + rank(p)), ranks from 1 (Cormack, Clarke and Buettcher,
SIGIR 2009). Each ranking is read to the same fixed depth whatever k is asked for, so that the
best 3 are the first 3 of the best 50.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from branchwise.corpora.ranking import Scored, ranked
from branchwise.corpora.retrieval import MAX_K

FUSION_K = 60
DEPTH = 2 * MAX_K


def fused(
    rankings: Sequence[Sequence[Scored]], k: int, id_of: Callable[[int], str]
) -> list[Scored]:
    """The best `k` rows by reciprocal rank, ties broken by id."""
    # Exact sums: equal sums of floats in another order could differ in the last bit and hide ties.
    totals: dict[int, Fraction] = {}
    for ranking in rankings:
        for rank, (row, _) in enumerate(ranking, start=1):
            totals[row] = totals.get(row, Fraction(0)) + Fraction(1, FUSION_K + rank)
    return ranked([Scored(row, float(total)) for row, total in totals.items()], k, id_of)
