"""An interval for a mean difference."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEVEL = 0.95


def students_intervals(
    differences: "NDArray[np.float64]",
) -> list[tuple[float, float] | None]:
    """95% interval of each metric's mean difference; None for fewer than two questions.

    `differences`: float64 [metrics, questions], NaN where left out. Student's paired interval,
    mean ± t(.975, n - 1) s / sqrt(n); a question counts once, whatever its epochs, which makes it
    the cluster. Bootstrap intervals were tried: on 60 questions of few different values the
    percentile and BCa ones cover too little, symmetric ones too much (docs/statistics.md).
    """
    from scipy.stats import t

    found: list[tuple[float, float] | None] = []
    for row in differences:
        values = row[row == row]  # NaN alone differs from itself
        n = len(values)
        if n < 2:
            found.append(None)
            continue
        mean = float(values.mean())
        half = float(t.ppf((1 + _LEVEL) / 2, n - 1) * values.std(ddof=1) / n**0.5)
        found.append((mean - half, mean + half))
    return found
