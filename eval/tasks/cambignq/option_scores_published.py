"""The options score and the parser as CAmbigNQ's published code has them, for comparison.

They differ from the paper's definition (`option_scores`): precision and recall have mappings of
their own; the common text is difflib's, which leaves out what is frequent in texts of 200 and more
characters; a question without options on either side counts as right; and no number of options that
is divided by is below 1. The parser separates at every comma and never at a bare "or".
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from branchwise.eval.common_text import compared, longest_substring
from branchwise.eval.tasks.cambignq.option_scores import Forms, OptionSums

INVALID_FORM = "invalid form"
"""Category and only option of a text without a colon."""
_AUTOJUNK = 200
"""In a second text of fewer characters difflib leaves none out: what it finds is the longest common
substring, which is there at a tenth of the cost."""


class PublishedQuestion(NamedTuple):
    """What the published parser reads; the category has its "Which"."""

    category: str
    options: tuple[str, ...]


def published_parse(text: str) -> PublishedQuestion:
    """Everything before the first colon, and what is between commas behind it."""
    category, colon, written = text.partition(":")
    if not colon:
        return PublishedQuestion(INVALID_FORM, (INVALID_FORM,))
    parts = (part for piece in written.split(", or") for part in piece.split(","))
    return PublishedQuestion(category, tuple(part.strip(" ?") for part in parts))


def published_sums(predicted: Sequence[str], gold: Sequence[Forms]) -> OptionSums:
    """A question's addends as the published code adds them up."""
    counts = float(max(len(predicted), 1)), float(max(len(gold), 1))
    if not predicted or not gold:
        right = 0.0 if predicted or gold else 1.0
        return OptionSums(right, counts[0], right, counts[1])
    found = [[_ratios(one, forms) for one in predicted] for forms in gold]
    return OptionSums(
        _greatest_sum([[cell.precision for cell in row] for row in found]),
        counts[0],
        _greatest_sum([[cell.recall for cell in row] for row in found]),
        counts[1],
    )


class _Ratios(NamedTuple):
    precision: float
    recall: float


def _ratios(predicted: str, forms: Forms) -> _Ratios:
    """Of the first form with the longest common text."""
    lengths = [_common(compared(form), compared(predicted)) for form in forms]
    longest = max(lengths)
    if not longest:
        return _Ratios(0.0, 0.0)
    form = forms[lengths.index(longest)]
    return _Ratios(longest / len(compared(predicted)), longest / len(compared(form)))


def _common(gold: str, predicted: str) -> int:
    if len(predicted) < _AUTOJUNK:
        return longest_substring(gold, predicted)
    matcher = SequenceMatcher(None, gold, predicted)
    return matcher.find_longest_match(0, len(gold), 0, len(predicted)).size


def _greatest_sum(values: Sequence[Sequence[float]]) -> float:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(values, maximize=True)
    return sum(values[int(row)][int(column)] for row, column in zip(rows, columns, strict=True))
