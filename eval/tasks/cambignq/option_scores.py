"""Options that a clarification question offers, against gold ones, by shared text (CAmbigNQ).

With L(p, r) the length of the longest common text of a predicted and a gold option, and f the
one-to-one mapping between the two sides with the greatest sum of L:

    precision = sum L(p, f(p)) / |p| over the number of predicted options,
    recall    = sum L(p, f(p)) / |f(p)| over the number of gold options,

all of them sums over the whole question set; an option without a partner adds 0. F1 is their
harmonic mean. (Lee et al. 2023, "Asking Clarification Questions to Handle Ambiguity in Open-Domain
QA", whose mapping maximises a similarity that is not symmetric.) A gold option may have several
forms: L is the best one's, and for either ratio the form counts that makes it greatest.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Literal, NamedTuple

from branchwise.eval.common_text import compared, longest_subsequence, longest_substring

CommonText = Literal["substring", "subsequence"]
"""A shared piece / shared characters in the same order, whatever stands between them."""
_LENGTHS: Mapping[CommonText, Callable[[str, str], int]] = MappingProxyType(
    {"substring": longest_substring, "subsequence": longest_subsequence}
)

Forms = Sequence[str]
"""All that counts as one option; at least one text."""


class OptionSums(NamedTuple):
    """What a question adds to the sums of precision and recall, and to what they are divided by."""

    precision: float
    predicted: float
    recall: float
    gold: float


def option_sums(
    predicted: Sequence[str], gold: Sequence[Forms], common: CommonText = "substring"
) -> OptionSums:
    """A question's addends. Nothing depends on the order of options or of forms.

    Of mappings with equal sums the one is taken that comes of the options sorted by text. Where a
    gold option has one form, swapping the sides swaps precision and recall.
    """
    pairs = option_pairs(predicted, gold, common)
    found = [ratios((predicted[p],), gold[r], common) for p, r in pairs]
    return OptionSums(
        sum(one.precision for one in found),
        float(len(predicted)),
        sum(one.recall for one in found),
        float(len(gold)),
    )


def option_pairs(
    predicted: Sequence[str], gold: Sequence[Forms], common: CommonText = "substring"
) -> list[tuple[int, int]]:
    """The mapping that a question is scored by, as places (predicted, gold)."""
    said = sorted(((text,), place) for place, text in enumerate(predicted))
    wanted = sorted((tuple(sorted(set(forms))), place) for place, forms in enumerate(gold))
    sides = [one for one, _ in said], [one for one, _ in wanted]
    return [(said[p][1], wanted[r][1]) for p, r in option_mapping(*sides, common)]


def option_mapping(
    predicted: Sequence[Forms], gold: Sequence[Forms], common: CommonText = "substring"
) -> list[tuple[int, int]]:
    """Pairs of places (predicted, gold), each used once, with the greatest sum of common text."""
    if not predicted or not gold:
        return []
    # Equal sums must not be told apart by which side is called predicted.
    if list(gold) < list(predicted):
        return [(p, r) for r, p in option_mapping(gold, predicted, common)]
    from scipy.optimize import linear_sum_assignment

    lengths = [[_common(one, other, common) for other in gold] for one in predicted]
    rows, columns = linear_sum_assignment(lengths, maximize=True)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]


def micro_precision(precision: float, predicted: float) -> float | None:
    """Of sums over questions; None where nothing was predicted."""
    return precision / predicted if predicted else None


def micro_recall(recall: float, gold: float) -> float | None:
    """Of sums over questions; None where there is no gold."""
    return recall / gold if gold else None


def micro_f1(precision: float, predicted: float, recall: float, gold: float) -> float | None:
    """The harmonic mean of both, 0 where one of them is 0 or undefined; None without either."""
    if not predicted and not gold:
        return None
    p, r = micro_precision(precision, predicted) or 0.0, micro_recall(recall, gold) or 0.0
    return 2 * p * r / (p + r) if p and r else 0.0


def common_length(one: str, other: str, common: CommonText = "substring") -> int:
    """Characters that two texts share; of each, no more than `compared` counts."""
    return _LENGTHS[common](compared(one), compared(other))


class OptionRatios(NamedTuple):
    """How much of a predicted option, and of its gold one, is common text: 0 to 1."""

    precision: float
    recall: float


def _common(one: Forms, other: Forms, common: CommonText) -> int:
    return max(common_length(a, b, common) for a, b in product(one, other))


def ratios(predicted: Forms, gold: Forms, common: CommonText = "substring") -> OptionRatios:
    """Of a pair, each by the form that makes it greatest."""
    found = [(common_length(p, r, common), p, r) for p, r in product(predicted, gold)]
    return OptionRatios(
        max(_share(length, p) for length, p, _ in found),
        max(_share(length, r) for length, _, r in found),
    )


def _share(length: int, text: str) -> float:
    return length / len(compared(text)) if text else 0.0
