"""How evenly conditional questions are answered: what a set rewards without being read."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from branchwise.corpora.conditions.documents import QUESTION_KINDS, ConditionsSet, RelationKind
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.questions import Question

_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class AnswerBalance:
    """Shares of questions of a kind: `at_least_one` and `all_together` are answered with yes, the
    maximum is the number of documents (`maximum_is_all`). `yes_yes_all`, `best_constant`: the
    accuracy of always answering yes, yes and that number; of the best answer to each kind of
    question that never changes. Means of `words` and `conditions` of a document, and of `documents`
    of a question. None where there are no questions of a kind, or no documents."""

    at_least_one: float | None
    all_together: float | None
    maximum_is_all: float | None
    yes_yes_all: float | None
    best_constant: float | None
    relations: Mapping[RelationKind, int]
    words: float | None
    conditions: float | None
    documents: float | None


PUBLISHED_BALANCE = AnswerBalance(
    at_least_one=0.876,
    all_together=0.019,
    maximum_is_all=0.019,
    yes_yes_all=0.305,
    best_constant=0.871,
    relations={"conflicting": 597, "inclusive": 267, "equivalent": 25},
    words=262.9,
    conditions=6.5,
    documents=2.7,
)
"""Of the published scholarships (20 documents, every second of 517 scenarios), by `mdcr info`."""


def answer_balance(conditions: ConditionsSet, questions: Sequence[Question]) -> AnswerBalance:
    """`questions`: the set's own, as they are loaded."""
    answers: dict[str, list[str | int]] = {kind: [] for kind in QUESTION_KINDS}
    is_count: list[bool] = []
    sizes: list[int] = []
    for question in map(ConditionsQuestion.of, questions):
        answers[question.problem.kind].append(question.gold.short)
        sizes.append(len(question.problem.documents))
        if question.problem.kind == "q3":
            is_count.append(question.gold.short == sizes[-1])
    at_least_one, all_together, maximum_is_all = shares = (
        _mean([short == "yes" for short in answers["q1"]]),
        _mean([short == "yes" for short in answers["q2"]]),
        _mean(is_count),
    )
    asked = {kind: shorts for kind, shorts in answers.items() if shorts}
    constants = {kind: max(Counter(s).values()) / len(s) for kind, s in asked.items()}
    if "q3" in constants and maximum_is_all is not None:
        constants["q3"] = max(constants["q3"], maximum_is_all)
    documents = conditions.documents.values()
    texts = (" ".join(document.sentences.values()) for document in documents)
    return AnswerBalance(
        at_least_one,
        all_together,
        maximum_is_all,
        _mean([share for share in shares if share is not None]),
        _mean(list(constants.values())),
        dict(Counter(relation.kind for relation in conditions.relations)),
        _mean([len(_TAG.sub(" ", text).split()) for text in texts]),
        _mean([len(document.conditions) for document in documents]),
        _mean(sizes),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
