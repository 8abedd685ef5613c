"""Free-text answers with conditions: who is aligned with whom, and how well they agree.

A property is one way to answer an ambiguous question: the condition, the answer under it, and the
passages that say so (CondAmbigQA's word, its `properties`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from branchwise.agents.prediction import Prediction
from branchwise.base.normalise import tokens
from branchwise.corpora.questions import DEFAULT_BRANCH, Branch, Question


def text_f1(predicted: str, gold: str) -> float:
    """Harmonic mean of token precision and recall over multisets, 0 to 1.

    F1 = 2 |P and G| / (|P| + |G|) with P, G the tokens after normalisation (Rajpurkar et al. 2016,
    section 6.1). 0 where either text has no token.
    """
    return counts_f1(token_counts(predicted), token_counts(gold))


def token_counts(text: str) -> Counter[str]:
    """The multiset of a text's tokens."""
    return Counter(tokens(text))


def counts_f1(predicted: Counter[str], gold: Counter[str]) -> float:
    """`text_f1` of texts already counted."""
    if not predicted or not gold:
        return 0.0
    return 2 * (predicted & gold).total() / (predicted.total() + gold.total())


_NO_CONDITION = re.compile(rf"{DEFAULT_BRANCH}( \(\d+\))?")
"""What answers without a condition are called: the second of them has a number."""
# Small enough never to outweigh a difference between two sums of answer F1 that matters.
_CONDITION_WEIGHT = 1e-4


@dataclass(frozen=True)
class ConditionalAnswer:
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


def gold_properties(question: Question) -> tuple[ConditionalAnswer, ...]:
    """The gold properties. Several answers of one branch are parts of one text.

    Their order in the file decides nothing, not even between equal alignments.
    """
    found = [
        ConditionalAnswer(
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


def predicted_properties(prediction: Prediction) -> tuple[ConditionalAnswer, ...]:
    """The predicted properties, in order of condition; those without an answer are none.

    The texts under one condition are parts of one answer. Those under `default` are answers of
    their own without a condition: that is how an answer in the shorthand form reads.
    """
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
    predicted: Sequence[ConditionalAnswer], gold: Sequence[ConditionalAnswer]
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


def _pairs(
    predicted: Sequence[ConditionalAnswer], gold: Sequence[ConditionalAnswer]
) -> list[list[AlignedPair]]:
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


class Aligned(Protocol):
    """A pair of properties that stand for each other, by their places."""

    @property
    def predicted(self) -> int: ...

    @property
    def gold(self) -> int: ...


@dataclass(frozen=True)
class CitationScore:
    """All 0 to 1; None where gold cites nothing, so that nothing could be found.

    `of_question`: the share of all passages that gold cites which any property cites (formula 4 of
    the paper of CondAmbigQA, read literally).
    """

    precision: float | None
    recall: float | None
    of_question: float | None = None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
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
    CondAmbigQA scores recall, |A and G| / |G|, its published code precision, |A and G| / |A|; both
    average over aligned pairs only. Here a question's precision is the mean over all predicted
    properties (0 for one that is unaligned or cites nothing), its recall the mean over all gold
    properties (0 for one that was missed). A gold property without citations is left out of both,
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
        frozenset().union(*(one.citations for one in these)) for these in (predicted, gold)
    )
    return CitationScore(
        precision / judged if judged else 0.0, recall / citing, len(cites & wanted) / len(wanted)
    )


def cite_everything(
    predicted: Sequence[ConditionalAnswer], shown: Iterable[str]
) -> tuple[ConditionalAnswer, ...]:
    """The same answers, each citing every passage that the agent was shown.

    The baseline to read citation scores against: it has the highest recall that these answers
    can have, and the precision of not choosing.
    """
    everything = frozenset(shown)
    return tuple(replace(property, citations=everything) for property in predicted)
