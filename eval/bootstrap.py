"""Means, and functions of sums, with bootstrap intervals: questions are what is drawn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Intervals = Literal["below", "beside", "columns", "none"]
"""Where tables for LaTeX have the interval of a mean."""
RESAMPLES = 2_000
_LOW, _HIGH = 2.5, 97.5
# Draws are made in blocks so that memory does not grow with resamples x questions.
_BLOCK_DRAWS = 1_000_000


@dataclass(frozen=True)
class Aggregate:
    """A mean over n questions, or a function of sums over them, and its 95% interval from `low` to
    `high`; None without any scored question, the interval also for one."""

    mean: float | None
    n: int
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Summed:
    """A score that is a function `of` sums over questions; None where it is undefined. `values`: a
    question's addends, all of one length, None where it is unscored."""

    values: Sequence[Sequence[float] | None]
    of: Callable[..., float | None]


def aggregate(
    values: Mapping[str, Sequence[float | None]], *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Aggregate]:
    """Mean and percentile bootstrap interval of every metric over the same questions. `values` maps
    a metric to one value a question, all in the same order; None is unscored and stays out.
    Questions are drawn with replacement, `resamples` times; a question's epochs must already be
    averaged, which makes it a cluster (Efron and Tibshirani 1993, chapter 13). All metrics share
    the draws, so that what is added to a table changes no other number in it."""
    import numpy as np

    if not values:
        return {}
    table = np.array([[np.nan if v is None else v for v in column] for column in values.values()])
    scored = ~np.isnan(table)
    counts = scored.sum(axis=1)
    sums = np.where(scored, table, 0.0).sum(axis=1)
    means = _resampled_means(table, scored, seed, resamples) if table.shape[1] > 1 else None
    aggregates: dict[str, Aggregate] = {}
    for row, metric in enumerate(values):
        n = int(counts[row])
        mean = float(sums[row] / n) if n else None
        low = high = None
        if means is not None and n > 1:
            low, high = (float(x) for x in np.nanpercentile(means[:, row], [_LOW, _HIGH]))
        aggregates[metric] = Aggregate(mean, n, low, high)
    return aggregates


def aggregate_sums(summed: Summed, *, seed: int = 0, resamples: int = RESAMPLES) -> Aggregate:
    return aggregate_all_sums({"": summed}, seed=seed, resamples=resamples)[""]


def aggregate_all_sums(
    summed: Mapping[str, Summed], *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Aggregate]:
    """Each score of the same questions, in one order, and its percentile bootstrap interval over
    the same draws. A resample for which the score is undefined is left out."""
    wholes = {name: _whole(own) for name, own in summed.items()}
    tables = {
        name: _table(own)
        for name, own in summed.items()
        if wholes[name].n > 1 and wholes[name].mean is not None
    }
    resampled: dict[str, list[float]] = {name: [] for name in summed}
    questions = max((len(own.values) for own in summed.values()), default=0)
    for drawn in _draws(questions, seed, resamples) if tables else ():
        for name, table in tables.items():
            of = summed[name].of
            scores = (of(*sums) for *sums, scored in (drawn @ table).tolist() if scored)
            resampled[name] += [score for score in scores if score is not None]
    return {name: _around(own.mean, own.n, resampled[name]) for name, own in wholes.items()}


def _whole(summed: Summed) -> Aggregate:
    scored = [vector for vector in summed.values if vector is not None]
    score = summed.of(*map(sum, zip(*scored, strict=True))) if scored else None
    return Aggregate(score, len(scored), None, None)


def _table(summed: Summed) -> "NDArray[np.float64]":
    """float64 [questions, addends + 1]: the addends, and last which questions are scored."""
    import numpy as np

    width = len(next(vector for vector in summed.values if vector is not None))
    return np.array([(0.0,) * (width + 1) if v is None else (*v, 1.0) for v in summed.values])


def aggregate_drawn(
    score: "Callable[[NDArray[np.float64]], float | None]",
    questions: int,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Aggregate:
    """Any score of all questions, and its percentile bootstrap interval over the same draws.
    `score` gets how often each question was drawn: float64 [questions]. A resample for which it is
    undefined is left out."""
    import numpy as np

    whole = score(np.ones(questions)) if questions else None
    if questions < 2 or whole is None:
        return Aggregate(whole, questions, None, None)
    drawn = (times for block in _draws(questions, seed, resamples) for times in block)
    scores = [value for times in drawn if (value := score(times)) is not None]
    return _around(whole, questions, scores)


def _around(score: float | None, n: int, resampled: Sequence[float]) -> Aggregate:
    """The score with the interval of those of resamples; none where these are undefined."""
    import numpy as np

    if not resampled:
        return Aggregate(score, n, None, None)
    low, high = (float(x) for x in np.percentile(resampled, [_LOW, _HIGH]))
    return Aggregate(score, n, low, high)


def _resampled_means(
    table: "NDArray[np.float64]", scored: "NDArray[np.bool_]", seed: int, resamples: int
) -> "NDArray[np.float64]":
    """float64 [resamples, metrics], NaN where a resample drew nothing scored."""
    import numpy as np

    filled, weights = np.where(scored, table, 0.0).T, scored.astype(np.float64).T
    means = []
    for drawn in _draws(table.shape[1], seed, resamples):
        with np.errstate(invalid="ignore"):
            means.append((drawn @ filled) / (drawn @ weights))
    return np.concatenate(means)


def _draws(questions: int, seed: int, resamples: int) -> "Iterator[NDArray[np.float64]]":
    """Blocks of resamples: float64 [some, questions], how often each question was drawn."""
    import numpy as np

    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_DRAWS // questions)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        draws = generator.integers(questions, size=(rows, questions))
        draws += np.arange(rows)[:, None] * questions
        times = np.bincount(draws.ravel(), minlength=rows * questions).reshape(rows, questions)
        yield times.astype(np.float64)
