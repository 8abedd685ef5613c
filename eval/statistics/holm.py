"""Holm's correction for several tests of one family."""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the order given; None is a test that was not made and stays None.

    The k-th smallest of m values becomes (m - k + 1) times itself, at least what the one before
    became, at most 1 (Holm 1979). Written here because scipy corrects for the rate of false
    discoveries only (`false_discovery_control`), and statsmodels would bring pandas with it.
    """
    made = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(made):
        highest = max(highest, min(1.0, (len(made) - rank) * p))
        adjusted[place] = highest
    return adjusted
