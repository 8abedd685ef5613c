"""How CondAmbigQA's published code pairs graded properties and adds up their grades.

The paper defines the scores of a pair, but not which predicted property stands for which gold one;
the code pairs greedily (github.com/innovation64/CondAmbigQA, `experiment_code/core`, commit
5dde701).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from branchwise.eval.properties import ConditionalAnswer, Grades, PropertyPair
from branchwise.graphs.asking import DEFAULT_PROTOCOL


class _Weights(NamedTuple):
    condition: float
    answer: float
    citation: float


_GREEDY: Mapping[str, _Weights] = MappingProxyType(
    {
        DEFAULT_PROTOCOL: _Weights(0.3, 0.5, 0.2),
        "standard": _Weights(0.0, 0.7, 0.3),
        "guided": _Weights(0.0, 0.6, 0.4),
        "closed": _Weights(0.0, 1.0, 0.0),
    }
)
"""How the published code weighs the grades of a pair, by protocol."""
_SURPLUS_COUNTS: frozenset[str] = frozenset({"guided", "closed"})
"""Protocols in which it scores a prediction 0 that is left when all gold properties are taken; in
the others it leaves it out."""


@dataclass(frozen=True)
class GreedySums:
    """A question's sums over its scored predictions, `scored` of them; means are taken over all
    questions' predictions together. `condition` is 0 in protocols that ask for none."""

    condition: float = 0.0
    answer: float = 0.0
    citation: float = 0.0
    scored: int = 0


def greedy_sums(
    grades: Grades,
    predicted: Sequence[ConditionalAnswer],
    gold: Sequence[ConditionalAnswer],
    protocol: str,
) -> GreedySums:
    """What the published code adds up of one question.

    Each predicted property, in the model's order, takes the free gold property with the greatest
    weighted sum of grades and citation precision, however small, the first of equal ones.
    """
    weights, free = _GREEDY[protocol], list(range(len(gold)))
    found = []
    for p, property in enumerate(predicted):
        if not free:
            break
        graded = {g: _graded(grades, PropertyPair(p, g), property, gold[g]) for g in free}
        best = max(graded, key=lambda g: _weighed(graded[g], weights))
        free.remove(best)
        found.append(graded[best])
    scored = len(predicted) if protocol in _SURPLUS_COUNTS else len(found)
    return GreedySums(
        sum(one.condition for one in found) if weights.condition else 0.0,
        sum(one.answer for one in found),
        sum(one.citation for one in found),
        scored,
    )


class _Graded(NamedTuple):
    condition: float
    answer: float
    citation: float


def _graded(
    grades: Grades, pair: PropertyPair, predicted: ConditionalAnswer, gold: ConditionalAnswer
) -> _Graded:
    condition, answer = grades.get(pair, (0.0, 0.0))
    cited = predicted.citations
    return _Graded(condition, answer, len(cited & gold.citations) / len(cited) if cited else 0.0)


def _weighed(graded: _Graded, weights: _Weights) -> float:
    return sum(value * weight for value, weight in zip(graded, weights, strict=True))
