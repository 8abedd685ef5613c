"""How CondAmbigQA's published code pairs graded properties and adds up their grades.

The paper defines the scores of a pair, but not which predicted property stands for which gold one;
the code pairs greedily (github.com/innovation64/CondAmbigQA, `experiment_code/core`, commit
5dde701).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from branchwise.eval.items import AnsweredItem
from branchwise.eval.properties import (
    ConditionalAnswer,
    gold_properties,
    predicted_properties,
    properties_as_given,
)
from branchwise.eval.property_grades import (
    Grades,
    PropertyPair,
    align_by_grades,
    graded_score,
)
from branchwise.eval.tasks.condambigqa.task import (
    ASKS_FOR_CONDITIONS,
    CITATIONS,
    CondAmbigQATask,
    citation_metrics,
)
from branchwise.eval.tasks.task import Column, Metrics, Total
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL


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


_GRADED, _PROXIES = "graded answers", "shared tokens, a proxy"
_GRADED_NOTE = (
    "score: a judge's grades of best-aligned properties, 0 to 1; missed gold properties count 0"
)
_SURPLUS_NOTE = "surplus: predicted properties that stand for no gold one; they count in no score"
_GREEDY_NOTE = (
    "as CondAmbigQA's published code: each prediction takes the free gold property of the best "
    "weighted sum; means over matched pairs of all questions together; missed gold properties are "
    "not counted"
)


class GradedTask(CondAmbigQATask):
    """Scores of graded properties, aligned one-to-one by the judge's answer grades.

    An item that lacks a grade is unscored; token F1 and counts stand beside the grades.
    """

    matcher = "graded"
    columns = (
        Column("answer_score", "answer\nscore", _GRADED, note=_GRADED_NOTE, role="headline"),
        Column("condition_score", "condition\nscore", _GRADED, role="headline"),
        Column("surplus", "surplus", _GRADED, note=_SURPLUS_NOTE, unit="value"),
        *(
            replace(column, role=None, table=_PROXIES)
            if column.key in ("answer_f1", "condition_f1")
            else column
            for column in CondAmbigQATask.columns
        ),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """The proxies, counts and grades; citations as the judge aligns. What needs a grade that is
        missing is None."""
        plain = super().score(item)
        gold, predicted = gold_properties(item.question), predicted_properties(item.prediction)
        graded = item.graded
        if not gold or graded is None or graded.missing:
            unscored = dict.fromkeys(column.key for column in self.columns)
            return unscored | {key: plain[key] for key in plain if key not in CITATIONS}
        score = graded_score(graded.grades, len(predicted), len(gold))
        pairs = align_by_grades(graded.grades)
        asks = item.protocol in ASKS_FOR_CONDITIONS
        return {
            **plain,
            **citation_metrics(item, pairs),
            "answer_score": score.answer,
            "condition_score": score.condition if asks else None,
            "surplus": float(score.surplus),
        }


def _ratio(total: float, scored: float) -> float | None:
    return total / scored if scored else None


_PARTS = ("condition", "answer", "citation")


class PublishedCodeTask(CondAmbigQATask):
    """The same grades, paired and averaged as the published code does it."""

    matcher = "graded (published code)"
    columns = (
        *(
            Column(
                f"published_{part}",
                f"{part}\nscore",
                _GRADED,
                note=_GREEDY_NOTE if part == "condition" else "",
                role="headline",
                total=Total((f"{part}_sum", f"{part}_scored"), _ratio),
            )
            for part in _PARTS
        ),
        *(column for column in CondAmbigQATask.columns if column.key == "count_difference"),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """The sums of a question and their ratios; all None where a grade is missing."""
        gold, predicted = gold_properties(item.question), predicted_properties(item.prediction)
        graded = item.graded
        sums = [f"{part}_{of}" for part in _PARTS for of in ("sum", "scored")]
        if not gold or graded is None or graded.missing:
            return dict.fromkeys([*(column.key for column in self.columns), *sums])
        # Grades are by place among the sorted properties; the code takes them as they were given.
        given = properties_as_given(item.prediction)
        places = [predicted.index(one) for one in given]
        grades = {
            PropertyPair(p, g): graded.grades[PropertyPair(place, g)]
            for p, place in enumerate(places)
            for g in range(len(gold))
            if PropertyPair(place, g) in graded.grades
        }
        found = greedy_sums(grades, given, gold, item.protocol)
        values = {part: getattr(found, part) for part in _PARTS}
        scored = dict.fromkeys(_PARTS, float(found.scored))
        if item.protocol not in ASKS_FOR_CONDITIONS:
            scored["condition"] = 0.0
        if item.protocol == "closed":
            # There a question's mean is taken first, and is 0 where nothing was said.
            values = {part: _ratio(values[part], found.scored) or 0.0 for part in _PARTS}
            scored |= {"answer": 1.0, "citation": 0.0}
        return {
            **{f"{part}_sum": values[part] for part in _PARTS},
            **{f"{part}_scored": scored[part] for part in _PARTS},
            **{f"published_{part}": _ratio(values[part], scored[part]) for part in _PARTS},
            "count_difference": float(len(predicted) - len(gold)),
        }
