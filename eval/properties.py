"""Free-text answers with conditions: who is aligned with whom, and how well they agree.

A property is one way to answer an ambiguous question: the condition, the answer under it, and the
passages that say so (CondAmbigQA's word, its `properties`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import DEFAULT_BRANCH, Branch, Question
from branchwise.eval.text_f1 import counts_f1, token_counts

# Small enough never to outweigh a difference between two sums of answer F1 that matters.
_CONDITION_WEIGHT = 1e-4


@dataclass(frozen=True)
class Property:
    """A condition (empty: none), its answer in every wording that counts, ids of passages cited."""

    condition: str
    answers: tuple[str, ...]
    citations: frozenset[str]


@dataclass(frozen=True)
class AlignedPair:
    """Indices of a predicted and a gold property that stand for each other, and their token F1."""

    predicted: int
    gold: int
    answer_f1: float
    condition_f1: float


def gold_properties(question: Question) -> tuple[Property, ...]:
    """The gold properties. Several answers of one branch are parts of one text.

    Their order in the file decides nothing, not even between equal alignments.
    """
    found = [
        Property(
            "" if branch.name == DEFAULT_BRANCH else branch.name,
            _wordings(branch),
            frozenset(branch.citations),
        )
        for branch in question.branches
    ]
    return tuple(sorted(found, key=lambda p: (p.condition, p.answers, sorted(p.citations))))


def _wordings(branch: Branch) -> tuple[str, ...]:
    if len(branch.answers) == 1:
        return branch.answers[0].forms
    return (" ".join(answer.text for answer in branch.answers),)


def predicted_properties(prediction: Prediction) -> tuple[Property, ...]:
    """The predicted properties, in order of condition; those without an answer are none.

    The texts under one condition are parts of one answer. Those under `default` are answers of
    their own without a condition: that is how an answer in the shorthand form reads.
    """
    found: list[Property] = []
    for condition, texts in sorted(prediction.answers.items()):
        answers = [text for text in texts if text.strip()]
        citations = frozenset(prediction.citations.get(condition, ()))
        if condition == DEFAULT_BRANCH:
            found += [Property("", (text,), citations) for text in sorted(answers)]
        elif answers:
            found.append(Property(condition, (" ".join(answers),), citations))
    return tuple(found)


def align_properties(
    predicted: Sequence[Property], gold: Sequence[Property]
) -> tuple[AlignedPair, ...]:
    """The one-to-one alignment with the greatest sum of answer F1.

    Between equal sums the condition F1 decides. A pair that has neither in common is none.
    """
    if not predicted or not gold:
        return ()
    from scipy.optimize import linear_sum_assignment

    pairs = _pairs(predicted, gold)
    gain = [[p.answer_f1 + _CONDITION_WEIGHT * p.condition_f1 for p in row] for row in pairs]
    rows, columns = linear_sum_assignment(gain, maximize=True)
    chosen = [pairs[i][j] for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
    return tuple(pair for pair in chosen if pair.answer_f1 or pair.condition_f1)


def _pairs(predicted: Sequence[Property], gold: Sequence[Property]) -> list[list[AlignedPair]]:
    predicted_counts = [(token_counts(p.answers[0]), token_counts(p.condition)) for p in predicted]
    gold_counts = [([*map(token_counts, g.answers)], token_counts(g.condition)) for g in gold]
    return [
        [
            AlignedPair(
                i,
                j,
                max((counts_f1(answer, wording) for wording in wordings), default=0.0),
                counts_f1(condition, gold_condition),
            )
            for j, (wordings, gold_condition) in enumerate(gold_counts)
        ]
        for i, (answer, condition) in enumerate(predicted_counts)
    ]
