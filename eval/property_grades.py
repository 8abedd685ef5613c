"""Scores of properties whose pairs a judge graded: the one-to-one alignment of greatest sum."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class PropertyGrade(NamedTuple):
    """How well a predicted property stands for a gold one by a judge, both 0 to 1."""

    condition: float
    answer: float


class PropertyPair(NamedTuple):
    """Indices of a predicted and a gold property that stand for each other."""

    predicted: int
    gold: int


Grades = Mapping[PropertyPair, PropertyGrade]
"""The grades of pairs; a pair without one stands for nothing."""

# Small enough never to outweigh a difference between two sums of answer grades that matters.
_CONDITION_WEIGHT = 1e-6


def align_by_grades(grades: Grades) -> tuple[PropertyPair, ...]:
    """The one-to-one alignment with the greatest sum of answer grades, in order of prediction.

    Between equal sums the condition grades decide. A pair graded 0 in both is none.
    """
    kept = {pair: grade for pair, grade in grades.items() if any(grade)}
    if not kept:
        return ()
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    values = np.zeros((1 + max(p.predicted for p in kept), 1 + max(p.gold for p in kept)))
    for pair, grade in kept.items():
        values[pair] = grade.answer + _CONDITION_WEIGHT * grade.condition
    rows, columns = linear_sum_assignment(values, maximize=True)
    pairs = map(PropertyPair, rows.tolist(), columns.tolist())
    return tuple(pair for pair in pairs if pair in kept)


@dataclass(frozen=True)
class GradedScore:
    """Sums of the grades of aligned pairs over all gold properties, 0 to 1: one that was missed
    counts 0. `surplus`: predicted properties that stand for none."""

    condition: float
    answer: float
    surplus: int


def graded_score(grades: Grades, predicted: int, gold: int) -> GradedScore:
    """The score of a question with so many predicted and gold properties (at least one gold)."""
    pairs = align_by_grades(grades)
    return GradedScore(
        sum(grades[pair].condition for pair in pairs) / gold,
        sum(grades[pair].answer for pair in pairs) / gold,
        predicted - len(pairs),
    )
