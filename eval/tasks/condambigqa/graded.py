"""CondAmbigQA's answers as a judge grades them: one-to-one, or as the authors' programs add up.

The paper defines the scores of a pair, but not which predicted property stands for which gold one.
Its authors published two programs (github.com/innovation64/CondAmbigQA), which decide it in two
ways; both are variants of the task:

`paper-code`: the program that made the paper's tables (`experiment/`, whose outputs they published
as well). It pairs by position and grades a surplus prediction against an empty text.

`rewrite-code`: its rewrite of August 2025 (`experiment_code/core`, commit 5dde701), which is newer
than the paper. It pairs greedily, and its citation score is precision.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from operator import mul
from types import MappingProxyType
from typing import NamedTuple

from branchwise.base.text import one_line
from branchwise.eval.items import AnsweredItem
from branchwise.eval.properties import (
    NOTHING,
    ConditionalAnswer,
    Grades,
    PropertyPair,
    align_by_grades,
    gold_as_given,
    gold_properties,
    graded_score,
    predicted_properties,
    properties_as_given,
)
from branchwise.eval.tasks.condambigqa.task import (
    ASKS_FOR_CONDITIONS,
    CITATIONS,
    CondAmbigQATask,
    citation_metrics,
)
from branchwise.eval.tasks.task import Column, GradedPair, Metrics, Total, shuffled, totals_of
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL

PAPER_CODE, REWRITE_CODE = "paper-code", "rewrite-code"


class PartScores(NamedTuple):
    """Of the parts of a pair, or their weights, or sums over pairs."""

    condition: float
    answer: float
    citation: float


_PARTS = PartScores._fields
_IN_TABLES = ("answer", "condition", "citation")
"""A report turns on the first, which every protocol has."""
_GREEDY: Mapping[str, PartScores] = MappingProxyType(
    {
        DEFAULT_PROTOCOL: PartScores(0.3, 0.5, 0.2),
        "standard": PartScores(0.0, 0.7, 0.3),
        "guided": PartScores(0.0, 0.6, 0.4),
        "closed": PartScores(0.0, 1.0, 0.0),
    }
)
"""How the rewrite weighs the grades of a pair, by protocol."""
_SURPLUS_COUNTS: frozenset[str] = frozenset({"guided", "closed"})
"""Protocols in which it scores a prediction 0 that is left when all gold properties are taken; in
the others it leaves it out."""


def greedy_sums(
    grades: Grades,
    predicted: Sequence[ConditionalAnswer],
    gold: Sequence[ConditionalAnswer],
    protocol: str,
) -> tuple[PartScores, int]:
    """What the rewrite adds up of one question, and over how many predictions. Each of these, in
    the model's order, takes the free gold property with the greatest weighted sum of grades and
    citation precision, the first of equal ones. Conditions that were not asked for add 0."""
    weights, free = _GREEDY[protocol], list(range(len(gold)))
    taken: list[PartScores] = []
    for p, property in enumerate(predicted[: len(gold)]):
        scores = {g: _scores(grades, PropertyPair(p, g), property, gold[g]) for g in free}
        best = max(scores, key=lambda g: sum(map(mul, scores[g], weights)))
        free.remove(best)
        taken.append(scores[best])
    sums = PartScores(*(sum(scores[part] for scores in taken) for part in range(len(_PARTS))))
    if not weights.condition:
        sums = sums._replace(condition=0.0)
    return sums, len(predicted) if protocol in _SURPLUS_COUNTS else len(taken)


def _scores(
    grades: Grades, pair: PropertyPair, predicted: ConditionalAnswer, gold: ConditionalAnswer
) -> PartScores:
    cited = predicted.citations
    citation = len(cited & gold.citations) / len(cited) if cited else 0.0
    return PartScores(*grades.get(pair, (0.0, 0.0)), citation)


_GRADED, _PROXIES = "graded answers", "shared tokens, a proxy"
_GRADED_NOTE = (
    "score: a judge's grades of best-aligned properties, 0 to 1; missed gold properties count 0"
)
_SURPLUS_NOTE = "surplus: predicted properties that stand for no gold one; they count in no score"
_GREEDY_NOTE = (
    "as the rewrite of CondAmbigQA's code: each prediction takes the free gold property of the "
    "best weighted sum; means over matched pairs of all questions together; missed gold properties "
    "are not counted; citation score is precision"
)
_PLACED_NOTE = (
    "as the code behind CondAmbigQA's tables: pairs by position, surplus predictions against an "
    "empty text; means and SDs over the predictions of all questions together; missed gold "
    "properties are not counted (protocol standard: over gold properties, missed ones 0, surplus "
    "left out); citation score is recall"
)


class GradedTask(CondAmbigQATask):
    """Scores of graded properties, aligned one-to-one by the judge's answer grades. An item that
    lacks a grade is unscored; token F1 and counts stand beside the grades."""

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
        by_condition = self.gives_conditions(item.protocol)
        sizes = len(predicted), len(gold)
        score = graded_score(graded.grades, *sizes, by_condition=by_condition)
        pairs = align_by_grades(graded.grades, by_condition=by_condition)
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


[_COUNT_DIFFERENCE] = (c for c in CondAmbigQATask.columns if c.key == "count_difference")


def _part_column(way: str, part: str, note: str, digits: int) -> Column:
    """The mean score of a part of the pairs; the first tells the way of scoring."""
    total = Total((f"{part}_sum", f"{part}_scored"), _ratio)
    note = note if part == _IN_TABLES[0] else ""
    key, heading = f"{way}_{part}", f"{part}\nscore"
    return Column(key, heading, _GRADED, digits, note, role="headline", total=total)


class RewriteCodeTask(CondAmbigQATask):
    """The same grades, paired and averaged as the rewrite of the authors' code does it."""

    matcher = "graded (rewrite code)"
    columns = (
        *(_part_column("rewrite", part, _GREEDY_NOTE, 2) for part in _IN_TABLES),
        _COUNT_DIFFERENCE,
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
        order = [predicted.index(property) for property in given]
        grades = {
            PropertyPair(p, g): graded.grades[PropertyPair(index, g)]
            for p, index in enumerate(order)
            for g in range(len(gold))
            if PropertyPair(index, g) in graded.grades
        }
        parts, count = greedy_sums(grades, given, gold, item.protocol)
        values, scored = parts._asdict(), dict.fromkeys(_PARTS, float(count))
        if item.protocol not in ASKS_FOR_CONDITIONS:
            scored["condition"] = 0.0
        if item.protocol == "closed":
            # There a question's mean is taken first, and is 0 where nothing was said.
            values = {part: _ratio(values[part], count) or 0.0 for part in _PARTS}
            scored |= {"answer": 1.0, "citation": 0.0}
        return {
            **{f"{part}_sum": values[part] for part in _PARTS},
            **{f"{part}_scored": scored[part] for part in _PARTS},
            **{f"rewrite_{part}": _ratio(values[part], scored[part]) for part in _PARTS},
            "count_difference": float(len(predicted) - len(gold)),
        }


def _sample_deviation(total: float, squares: float, count: float) -> float | None:
    """Of values with this sum and sum of squares: divided by their number less one."""
    if count <= 1:
        return None
    return sqrt(max(0.0, squares - total * total / count) / (count - 1))


class PaperCodeTask(CondAmbigQATask):
    """Grades of pairs by position, over all predictions, as the code behind the paper's tables."""

    matcher = "graded (paper code)"
    pairs_by_place = True
    tells_deviation = False  # its own are over predictions
    columns = (
        *(
            column
            for part in _IN_TABLES
            for column in (
                _part_column("paper", part, _PLACED_NOTE, 3),
                Column(
                    f"paper_{part}_sd",
                    "SD",
                    _GRADED,
                    digits=3,
                    words=f"{part} score's SD",
                    unit="value",
                    total=Total(
                        (f"{part}_sum", f"{part}_squares", f"{part}_scored"), _sample_deviation
                    ),
                ),
            )
        ),
        _COUNT_DIFFERENCE,
    )

    def graded_pairs(self, item: AnsweredItem, pairs: str) -> Iterator[GradedPair]:
        """Pairs by position: the model's order beside the file's, or that in which conditions were
        listed. Surplus predictions are beside `NOTHING`, or, without conditions, left out."""
        predicted, gold = properties_as_given(item.prediction), gold_as_given(item.question)
        if self.gives_conditions(item.protocol):
            listed = shuffled(item.question, (one_line(own.condition) for own in gold))
            gold = tuple(sorted(gold, key=lambda own: listed.index(one_line(own.condition))))
        if item.protocol == "standard":
            predicted = predicted[: len(gold)]
        for index, given in enumerate(predicted):
            wanted = gold[index] if index < len(gold) else NOTHING
            yield PropertyPair(index, index), given, wanted

    def score(self, item: AnsweredItem) -> Metrics:
        """The sums of a question and their functions; all None where a grade is missing."""
        gold, predicted = gold_properties(item.question), predicted_properties(item.prediction)
        graded = item.graded
        if not gold or graded is None or graded.missing:
            sums = [name for total in totals_of(self.columns).values() for name in total.sums]
            return dict.fromkeys([*(column.key for column in self.columns), *sums])
        scores = [
            PartScores(*graded.grades[pair], _recall(given, wanted))
            for pair, given, wanted in self.graded_pairs(item, "all")
        ]
        if item.protocol == "standard":
            # The bars of Figure 5 are means over gold properties.
            scores += [PartScores(0.0, 0.0, 0.0)] * (len(gold) - len(scores))
        asks = {
            "condition": item.protocol in ASKS_FOR_CONDITIONS,
            "answer": True,
            "citation": item.protocol != "closed",
        }
        metrics: dict[str, float | None] = {}
        for part, is_asked in asks.items():
            values = [getattr(own, part) for own in scores] if is_asked else []
            total, squares = sum(values), sum(value * value for value in values)
            metrics |= {
                f"{part}_sum": total,
                f"{part}_squares": squares,
                f"{part}_scored": float(len(values)),
                f"paper_{part}": _ratio(total, len(values)),
                f"paper_{part}_sd": _sample_deviation(total, squares, len(values)),
            }
        return metrics | {"count_difference": float(len(predicted) - len(gold))}


def _recall(predicted: ConditionalAnswer, gold: ConditionalAnswer) -> float:
    wanted = gold.citations
    return len(predicted.citations & wanted) / len(wanted) if wanted else 0.0
