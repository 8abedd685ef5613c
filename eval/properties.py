"""Free-text answers with conditions: who is aligned with whom, and how well they agree.

A property is one way to answer an ambiguous question: the condition, the answer under it, and the
passages that say so (CondAmbigQA's word, its `properties`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.common_text import counts_f1, token_counts

_NO_CONDITION = re.compile(rf"{DEFAULT_BRANCH}( \(\d+\))?")
"""What answers without a condition are called: the second of them has a number."""
# Small enough never to outweigh a difference that matters between two sums of F1, or grades.
_F1_TIE_WEIGHT, _GRADE_TIE_WEIGHT = 1e-4, 1e-6


@dataclass(frozen=True)
class ConditionalAnswer:
    """A condition (empty: none), its answer in every wording that counts, ids of passages cited."""

    condition: str
    answers: tuple[str, ...]
    citations: frozenset[str]


NOTHING = ConditionalAnswer("", ("",), frozenset())
"""What a surplus prediction is compared with where pairs are made by position."""


@dataclass(frozen=True)
class AlignedPair:
    """Indices of a predicted and a gold property that stand for each other, and their token F1."""

    predicted: int
    gold: int
    answer_f1: float
    condition_f1: float


class PropertyGrade(NamedTuple):
    """How well a predicted property stands for a gold one by a judge, both 0 to 1."""

    condition: float
    answer: float


class PropertyPair(NamedTuple):
    """Indices of a predicted and a gold property that stand for each other."""

    predicted: int
    gold: int


Aligned = AlignedPair | PropertyPair
Grades = Mapping[PropertyPair, PropertyGrade]
"""The grades of pairs; a pair without one stands for nothing."""


def gold_properties(question: Question) -> tuple[ConditionalAnswer, ...]:
    """The gold properties, in an order of their own: the file's decides nothing. Several answers of
    one branch are parts of one text."""
    properties = gold_as_given(question)
    return tuple(sorted(properties, key=lambda p: (p.condition, p.answers, sorted(p.citations))))


def gold_as_given(question: Question) -> tuple[ConditionalAnswer, ...]:
    """The same properties in the order of the question file."""
    properties = []
    for branch in question.branches:
        name, answers = branch.name, branch.answers
        whole = (" ".join(answer.text for answer in answers),)
        wordings = answers[0].forms if len(answers) == 1 else whole
        condition = "" if name == DEFAULT_BRANCH else name
        properties.append(ConditionalAnswer(condition, wordings, frozenset(branch.citations)))
    return tuple(properties)


def predicted_properties(prediction: Prediction) -> tuple[ConditionalAnswer, ...]:
    """The predicted properties, in order of condition; those without an answer are none. The texts
    under one condition are parts of one answer, those under `default`, as in the shorthand form,
    answers of their own without a condition."""
    return tuple(_predicted(sorted(prediction.answers.items()), prediction))


def properties_as_given(prediction: Prediction) -> tuple[ConditionalAnswer, ...]:
    """The same properties in the model's order."""
    return tuple(_predicted(prediction.answers.items(), prediction))


def _predicted(
    answered: Iterable[tuple[str, Sequence[str]]], prediction: Prediction
) -> Iterator[ConditionalAnswer]:
    for condition, texts in answered:
        answers = [text for text in texts if text.strip()]
        citations = frozenset(prediction.citations.get(condition, ()))
        if _NO_CONDITION.fullmatch(condition):
            yield from (ConditionalAnswer("", (text,), citations) for text in sorted(answers))
        elif answers:
            yield ConditionalAnswer(condition, (" ".join(answers),), citations)


def align_properties(
    predicted: Sequence[ConditionalAnswer],
    gold: Sequence[ConditionalAnswer],
    *,
    by_condition: bool = False,
) -> tuple[AlignedPair, ...]:
    """The one-to-one alignment with the greatest sum of answer F1, or `by_condition`, where these
    are given, of condition F1. Between equal sums the other F1 decides. A pair that has neither in
    common is none."""
    given = [(token_counts(p.answers[0]), token_counts(p.condition)) for p in predicted]
    wanted = [([*map(token_counts, g.answers)], token_counts(g.condition)) for g in gold]

    def pair(i: int, j: int) -> AlignedPair:
        (answer, condition), (wordings, gold_condition) = given[i], wanted[j]
        answer_f1 = max((counts_f1(answer, wording) for wording in wordings), default=0.0)
        return AlignedPair(i, j, answer_f1, counts_f1(condition, gold_condition))

    pairs = [[pair(i, j) for j in range(len(gold))] for i in range(len(predicted))]
    gains = [
        [_gain(p.answer_f1, p.condition_f1, _F1_TIE_WEIGHT, by_condition) for p in row]
        for row in pairs
    ]
    chosen = [pairs[i][j] for i, j in greatest_sum(gains)]
    return tuple(pair for pair in chosen if pair.answer_f1 or pair.condition_f1)


def align_by_grades(grades: Grades, *, by_condition: bool = False) -> tuple[PropertyPair, ...]:
    """The one-to-one alignment with the greatest sum of answer grades, or `by_condition` of
    condition grades; in order of prediction. Between equal sums the other grades decide. A pair
    graded 0 in both is none."""
    kept = {pair: grade for pair, grade in grades.items() if any(grade)}
    width = max((pair.gold for pair in kept), default=-1) + 1
    gains = [[0.0] * width for _ in range(max((pair.predicted for pair in kept), default=-1) + 1)]
    for (predicted, gold), grade in kept.items():
        gains[predicted][gold] = _gain(
            grade.answer, grade.condition, _GRADE_TIE_WEIGHT, by_condition
        )
    pairs = (PropertyPair(i, j) for i, j in greatest_sum(gains))
    return tuple(pair for pair in pairs if pair in kept)


def _gain(answer: float, condition: float, tie_weight: float, by_condition: bool) -> float:
    if by_condition:
        answer, condition = condition, answer
    return answer + tie_weight * condition


def greatest_sum(gains: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The one-to-one pairs of row and column with the greatest sum, in order of row."""
    if not gains or not gains[0]:
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(gains, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


@dataclass(frozen=True)
class CitationScore:
    """All 0 to 1; None where gold cites nothing. `of_question`: the share of all passages that gold
    cites which any property cites (formula 4 of CondAmbigQA's paper, read literally)."""

    precision: float | None
    recall: float | None
    of_question: float | None = None

    @property
    def f1(self) -> float | None:
        if self.precision is None or self.recall is None:
            return None
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def score_citations(
    predicted: Sequence[ConditionalAnswer],
    gold: Sequence[ConditionalAnswer],
    pairs: Iterable[Aligned],
) -> CitationScore:
    """Mean citation precision and recall of one question; 0 for an empty prediction.

    For each aligned pair, the passages cited A are compared with the gold citations G. The paper of
    CondAmbigQA and the code behind its tables score recall, |A and G| / |G|, the later rewrite of
    that code precision, |A and G| / |A|; neither counts what was missed. Here a question's
    precision is the mean over all predicted properties (0 for one that is unaligned or cites
    nothing), its recall the mean over all gold properties (0 for one that was missed). A gold
    property without citations is left out of both,
    together with the prediction aligned with it: there is nothing to compare.
    """
    citing = sum(1 for property in gold if property.citations)
    if not citing:
        return CitationScore(None, None)
    judged, precision, recall = len(predicted), 0.0, 0.0
    for pair in pairs:
        cited, expected = predicted[pair.predicted].citations, gold[pair.gold].citations
        if not expected:
            judged -= 1
        elif cited:
            precision += len(cited & expected) / len(cited)
            recall += len(cited & expected) / len(expected)
    cites, wanted = (
        frozenset().union(*(own.citations for own in properties))
        for properties in (predicted, gold)
    )
    of_question = len(cites & wanted) / len(wanted)
    return CitationScore(precision / judged if judged else 0.0, recall / citing, of_question)


def cite_everything(
    predicted: Sequence[ConditionalAnswer], shown: Iterable[str]
) -> tuple[ConditionalAnswer, ...]:
    """The same answers, each citing every passage that the agent was shown: the baseline with the
    highest recall, and the precision of not choosing."""
    everything = frozenset(shown)
    return tuple(replace(property, citations=everything) for property in predicted)


@dataclass(frozen=True)
class GradedScore:
    """Sums of the grades of aligned pairs over all gold properties, 0 to 1: one that was missed
    counts 0. `surplus`: predicted properties that stand for none."""

    condition: float
    answer: float
    surplus: int


def graded_score(
    grades: Grades, predicted: int, gold: int, *, by_condition: bool = False
) -> GradedScore:
    pairs = align_by_grades(grades, by_condition=by_condition)
    return GradedScore(
        sum(grades[pair].condition for pair in pairs) / gold,
        sum(grades[pair].answer for pair in pairs) / gold,
        predicted - len(pairs),
    )
