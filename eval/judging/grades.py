"""A judge's grades of a run's items: which pairs are asked about, and what came of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from branchwise.agents.prediction import Prediction
from branchwise.eval.bounds import JudgePairs
from branchwise.eval.items import AnsweredItem, Graded
from branchwise.eval.judging.consultant import (
    Ended,
    ModelReport,
    ReportedItem,
    RequestProgress,
)
from branchwise.eval.judging.grading import Announce, Grade, Grader, GradeRequest
from branchwise.eval.properties import (
    ConditionalAnswer,
    align_properties,
    gold_properties,
    predicted_properties,
)
from branchwise.eval.property_grades import PropertyGrade, PropertyPair


@dataclass(frozen=True, kw_only=True)
class GradeReport(ModelReport):
    """What the judge did. Items are questions by epoch; a request may serve several.

    `pairs`: which were to be graded. `sampled`: grades that are means of several replies, where the
    server gave no probabilities. `ungraded`: items that lack grades, which leaves them unscored.
    """

    pairs: JudgePairs
    sampled: int
    ungraded: tuple[ReportedItem, ...]

    @property
    def own(self) -> Mapping[str, Any]:
        return {
            "pairs": self.pairs,
            "sampled": self.sampled,
            "ungraded": [item.to_json() for item in self.ungraded],
        }


class _PairRequests(NamedTuple):
    pair: PropertyPair
    condition: GradeRequest
    answer: GradeRequest

    @property
    def both(self) -> tuple[GradeRequest, GradeRequest]:
        return self.condition, self.answer


async def grade_items(
    items: Sequence[AnsweredItem],
    grader: Grader,
    *,
    pairs: JudgePairs = "all",
    concurrency: int = 8,
    announce: Announce | None = None,
    progress: RequestProgress | None = None,
) -> tuple[list[AnsweredItem], GradeReport]:
    """The items with their grades. A request that fails alone leaves its item without.

    Raises:
        ModelError: no request can be answered (a refused key, a spent quota, an unknown model).
        InputError: the model cannot be asked, and not everything is kept.
    """
    wanted = [list(_pairs_of(item, pairs)) for item in items]
    requests = [request for each in wanted for one in each for request in one.both]
    found = await grader.grade_each(
        requests, concurrency=concurrency, announce=announce, progress=progress
    )
    graded = [
        replace(item, graded=_graded(each, found)) for item, each in zip(items, wanted, strict=True)
    ]
    asked = {request: grade for request, grade in found.items() if not request.is_decided}
    report = GradeReport(
        model=grader.model,
        pairs=pairs,
        asked=sum(map(bool, wanted)),
        ended=Ended.of(asked.values()),
        sampled=sum(bool(grade.samples) for grade in asked.values()),
        ungraded=tuple(_ungraded(graded)),
        consulted=grader.consulted,
    )
    return graded, report


def property_requests(
    items: Iterable[AnsweredItem], pairs: JudgePairs = "all"
) -> tuple[GradeRequest, ...]:
    """The different requests that grading the items' properties takes, without what is decided."""
    every = (one for item in items for pair in _pairs_of(item, pairs) for one in pair.both)
    return tuple(dict.fromkeys(one for one in every if not one.is_decided))


def _pairs_of(item: AnsweredItem, pairs: JudgePairs) -> Iterator[_PairRequests]:
    # A failed item is scored as an empty prediction.
    prediction = Prediction() if item.error is not None else item.prediction
    predicted, gold = predicted_properties(prediction), gold_properties(item.question)
    question = item.question.question
    for p, g in _chosen(predicted, gold, pairs):
        given, wanted = predicted[p], gold[g]
        yield _PairRequests(
            PropertyPair(p, g),
            GradeRequest("grade_condition", question, wanted.condition, given.condition),
            GradeRequest("grade_answer", question, wanted.answers[0], given.answers[0]),
        )


def _chosen(
    predicted: Sequence[ConditionalAnswer], gold: Sequence[ConditionalAnswer], pairs: JudgePairs
) -> Iterator[tuple[int, int]]:
    if pairs == "aligned":
        yield from ((one.predicted, one.gold) for one in align_properties(predicted, gold))
    else:
        yield from ((p, g) for p in range(len(predicted)) for g in range(len(gold)))


def _graded(wanted: Sequence[_PairRequests], found: Mapping[GradeRequest, Grade]) -> Graded:
    grades, problems = {}, []
    for pair, condition, answer in wanted:
        both = found[condition], found[answer]
        problems += [one.problem or "no grade" for one in both if one.value is None]
        values = [one.value for one in both if one.value is not None]
        if len(values) == len(both):
            grades[pair] = PropertyGrade(*values)
    return Graded(grades, len(problems), problems[0] if problems else None)


def _ungraded(items: Sequence[AnsweredItem]) -> Iterator[ReportedItem]:
    for item in items:
        if item.graded and item.graded.missing:
            why = f"{item.graded.missing} without a grade: {item.graded.problem}"
            yield ReportedItem(item.question.id, item.epoch, why)
