"""How far raters agree: Cohen's kappa by pairs, Krippendorff's alpha for all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

Ratings = Mapping[str, int]
"""What one rater gave, by item; items that they did not rate are absent."""


def cohen_kappa(pairs: Mapping[tuple[int, int], int]) -> float | None:
    """Cohen's kappa, -1 to 1, of how often two raters gave each pair of grades (Cohen 1960, A
    coefficient of agreement for nominal scales).

        kappa = (p_o - p_e) / (1 - p_e)

    p_o is the share of equal pairs, p_e the share expected of raters who give each grade as often,
    independently. None without pairs, and where both give one and the same grade throughout.
    """
    first, second = Counter[int](), Counter[int]()
    for (grade, other), count in pairs.items():
        first[grade] += count
        second[other] += count
    # In whole numbers, so that p_e = 1 is exact: everything times n squared.
    n = first.total()
    expected = sum(first[grade] * second[grade] for grade in first)
    if expected == n * n:
        return None
    equal = sum(count for (grade, other), count in pairs.items() if grade == other)
    return (equal * n - expected) / (n * n - expected)


def pairwise_kappa(raters: Sequence[Ratings]) -> float | None:
    """The mean of Cohen's kappa over all pairs of raters for which it is defined; else None."""
    kappas = [
        cohen_kappa(Counter((own[item], other[item]) for item in own.keys() & other.keys()))
        for own, other in combinations(raters, 2)
    ]
    defined = [kappa for kappa in kappas if kappa is not None]
    return sum(defined) / len(defined) if defined else None


def krippendorff_alpha(
    raters: Sequence[Ratings], level: Literal["nominal", "ordinal"]
) -> float | None:
    """Krippendorff's alpha, at most 1 (Krippendorff 2019, Content Analysis, chapter 12), by the
    package krippendorff. Items that a rater did not rate are missing values. None where no item
    has two ratings, or all ratings are equal."""
    # Imported here, as it loads numpy.
    import krippendorff

    items = sorted({item for ratings in raters for item in ratings})
    shared = [item for item in items if sum(item in ratings for ratings in raters) > 1]
    if len({ratings[item] for ratings in raters for item in shared if item in ratings}) < 2:
        return None
    table = [[ratings.get(item, float("nan")) for item in items] for ratings in raters]
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement=level))
