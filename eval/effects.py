"""Main effects and interactions of the factors of a study, each a contrast within every question.

The paired linear model: the score of question q by system s is a level of the question plus the
effects of the factors' levels in s (a randomised complete block design, the question being the
block). Where every question has a score by every system, its least-squares effects are the means
over questions of one contrast of a question's scores, whose weights are a row of the design's
pseudo-inverse; so an interval and a test of these contrasts are exactly paired, and need no
assumption that scores vary alike in all systems.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from branchwise.eval.paired_tests import (
    check_same_questions,
    flip_tests,
    holm,
    question_columns,
    students_intervals,
)
from branchwise.eval.scores import Scores, of_subset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_FACTORS = 3
"""Of an interaction: those of more factors are left to the differences between questions."""
ChangeNames = tuple[str, ...]
"""The levels that an effect is of, at most one of each factor."""


class Cell(NamedTuple):
    """A system of a factorial study: its level of each factor that is not at the base's."""

    levels: Mapping[str, str]
    scores: Scores


@dataclass(frozen=True)
class Effect:
    """An effect on a metric over the `n` questions that all systems of the `group` have scored.

    Of one level: how far it lies above the base's level of its factor, averaged over the levels of
    the other factors. Of two (an interaction): how much larger the effect of the one is at the
    level of the other than at the base's: the whole difference of differences, not half of it. Of
    three: how much larger that is again. `low` to `high`: 95% interval; `p_holm`: `p` corrected for
    the `family` of all effects on this metric and subset. `left_out`: questions that only some
    systems have. `difference` is None for n = 0, what is behind it also for n = 1.
    """

    group: str
    changes: ChangeNames
    metric: str
    subset: str
    n: int
    left_out: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    family: int = 0

    @property
    def name(self) -> str:
        return " × ".join(self.changes)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "changes": list(self.changes)}


def is_factorial(cells: Sequence[Cell]) -> bool:
    """Whether factors are combined: otherwise effects are what each system changes."""
    return any(len(cell.levels) > 1 for cell in cells)


def effects(
    groups: Mapping[str, Sequence[Cell]], metrics: Sequence[str], subsets: Sequence[str]
) -> tuple[Effect, ...]:
    """By subset the effects in each group of systems (of one model), main effects first, in the
    order of the factors. Raises InputError where questions differ under one id."""
    for cells in groups.values():
        for cell in cells[1:]:
            check_same_questions(cells[0].scores, cell.scores)
    weights = {group: contrasts([cell.levels for cell in own]) for group, own in groups.items()}
    found = [
        effect
        for subset in subsets
        for group, cells in groups.items()
        for effect in _estimates(group, cells, weights[group], metrics, subset)
    ]
    families: dict[tuple[str, str], list[int]] = {}
    for index, effect in enumerate(found):
        if effect.p is not None:
            families.setdefault((effect.metric, effect.subset), []).append(index)
    for indexes in families.values():
        for index, p in zip(indexes, holm([found[i].p for i in indexes]), strict=True):
            found[index] = replace(found[index], p_holm=p, family=len(indexes))
    return tuple(found)


def contrasts(levels: Sequence[Mapping[str, str]]) -> "dict[ChangeNames, NDArray[np.float64]]":
    """The weights of systems, float64 [systems], of each effect that they can tell from the others.

    A level's code is 1 in its systems and 0 in others, less 1 / (number of the factor's levels): of
    two levels ± 1/2. An interaction's code is the product of its levels' codes. Codes of different
    factors are orthogonal where all combinations are there, so that an effect is an average over
    the other factors whatever else is in the model (Montgomery, Design and Analysis of Experiments,
    sections 5.3 and 6.2, whose interactions of two levels are half of these)."""
    import numpy as np

    columns: dict[ChangeNames, NDArray[np.float64]] = {(): np.ones(len(levels))}
    for changes, code in _codes(levels):
        matrix = np.array([*columns.values(), code])
        if np.linalg.matrix_rank(matrix) == len(matrix):
            columns[changes] = code
    weights = np.linalg.pinv(np.array([*columns.values()]).T)
    return {changes: row for changes, row in zip(columns, weights, strict=True) if changes}


def unknown_effects(levels: Sequence[Mapping[str, str]]) -> list[ChangeNames]:
    """Those that the systems cannot tell from the others, since combinations are left out."""
    known = contrasts(levels)
    return [changes for changes, _ in _codes(levels) if changes not in known]


def factors_of(levels: Sequence[Mapping[str, str]]) -> dict[str, dict[str, None]]:
    """The factors, in the order of the system that has most, and the levels of each, the base's
    aside, in that of the systems."""
    factors: dict[str, dict[str, None]] = {
        factor: {} for own in sorted(levels, key=len, reverse=True) for factor in own
    }
    for system in levels:
        for factor, level in system.items():
            factors[factor][level] = None
    return factors


def _codes(
    levels: Sequence[Mapping[str, str]],
) -> "Iterator[tuple[ChangeNames, NDArray[np.float64]]]":
    import numpy as np

    factors = factors_of(levels)
    for order in range(1, MOST_FACTORS + 1):
        for chosen in combinations(factors, order):
            for changes in product(*(factors[factor] for factor in chosen)):
                codes = [
                    np.array([own.get(factor) == level for own in levels])
                    - 1 / (1 + len(factors[factor]))
                    for factor, level in zip(chosen, changes, strict=True)
                ]
                yield changes, prod(codes[1:], start=codes[0])


def _estimates(
    group: str,
    cells: Sequence[Cell],
    weights: "Mapping[ChangeNames, NDArray[np.float64]]",
    metrics: Sequence[str],
    subset: str,
) -> Iterator[Effect]:
    import numpy as np

    rows = [of_subset(cell.scores.items, subset) for cell in cells]
    ids = [{row.id for row in own} for own in rows]
    common = set.intersection(*ids)
    asked = len(set.union(*ids))
    scores = np.array([question_columns(own, common, metrics) for own in rows])
    for index, metric in enumerate(metrics):
        own = scores[:, index]
        own = own[:, ~np.isnan(own).any(axis=0)]
        # Rounded: a contrast of equal scores is 0, whatever the order of its sums.
        values = np.round(np.array([*weights.values()]) @ own, 12)
        intervals, tests = students_intervals(values), flip_tests(values)
        n = values.shape[1]
        for changes, row, ends, test in zip(weights, values, intervals, tests, strict=True):
            effect = Effect(group, changes, metric, subset, n, asked - n)
            if n:
                low, high = ends or (None, None)
                mean, p = float(row.mean()), test.p if test else None
                effect = replace(effect, difference=mean, low=low, high=high, p=p)
            yield effect
