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
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product
from types import MappingProxyType
from typing import Literal, NamedTuple

from branchwise.eval.common_text import compared, longest_subsequence, longest_substring
from branchwise.eval.tasks.task import PUBLISHED as PUBLISHED_CODE
from branchwise.eval.tasks.task import Beside, Column, Metrics, Total

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
    """A question's addends. Nothing depends on the order of options or of forms. Of mappings with
    equal sums the one is taken that comes of the options sorted by text. Where a gold option has
    one form, swapping the sides swaps precision and recall."""
    pairs = option_pairs(predicted, gold, common)
    shares = [ratios((predicted[p],), gold[r], common) for p, r in pairs]
    precision, recall = (sum(share[part] for share in shares) for part in (0, 1))
    return OptionSums(precision, float(len(predicted)), recall, float(len(gold)))


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


INVALID_FORM = "invalid form"
"""Category and only option of a text without a colon."""
_AUTOJUNK = 200
"""In a second text of fewer characters difflib leaves none out: what it finds is the longest common
substring, which is there at a tenth of the cost."""


def published_parse(text: str) -> tuple[str, tuple[str, ...]]:
    """Category and options as the published code reads them: it separates at every comma, and never
    at a bare "or"."""
    category, colon, written = text.partition(":")
    if not colon:
        return INVALID_FORM, (INVALID_FORM,)
    parts = (part for piece in written.split(", or") for part in piece.split(","))
    return category, tuple(part.strip(" ?") for part in parts)


def published_sums(predicted: Sequence[str], gold: Sequence[Forms]) -> OptionSums:
    """A question's addends as CAmbigNQ's published code adds them up. Other than in the paper,
    precision and recall have mappings of their own; the common text is difflib's, which leaves out
    what is frequent in texts of 200 and more characters; a question without options on either side
    counts as right; and no number that is divided by is below 1."""
    counts = float(max(len(predicted), 1)), float(max(len(gold), 1))
    if not predicted or not gold:
        right = 0.0 if predicted or gold else 1.0
        return OptionSums(right, counts[0], right, counts[1])
    cells = [[_published_ratios(one, forms) for one in predicted] for forms in gold]
    precision, recall = (
        _greatest_sum([[cell[part] for cell in row] for row in cells]) for part in (0, 1)
    )
    return OptionSums(precision, counts[0], recall, counts[1])


def _published_ratios(predicted: str, forms: Forms) -> OptionRatios:
    """Of the first form with the longest common text."""
    text, lengths = compared(predicted), []
    for form in map(compared, forms):
        if len(text) < _AUTOJUNK:
            lengths.append(longest_substring(form, text))
        else:
            matcher = SequenceMatcher(None, form, text)
            lengths.append(matcher.find_longest_match(0, len(form), 0, len(text)).size)
    longest = max(lengths)
    if not longest:
        return OptionRatios(0.0, 0.0)
    form = forms[lengths.index(longest)]
    return OptionRatios(longest / len(text), longest / len(compared(form)))


def _greatest_sum(values: Sequence[Sequence[float]]) -> float:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(values, maximize=True)
    return sum(values[int(row)][int(column)] for row, column in zip(rows, columns, strict=True))


@dataclass(frozen=True)
class OptionsWay:
    """How options and answers are compared. `variant` names it; `common` None is published code."""

    variant: str
    matcher: str
    note: str
    common: CommonText | None

    @property
    def as_published(self) -> bool:
        """Whether everything is as in the published code, its parser included."""
        return self.common is None

    def sums(self, predicted: Sequence[str], gold: Sequence[Forms]) -> OptionSums:
        if self.common is None:
            return published_sums(predicted, gold)
        return option_sums(predicted, gold, self.common)


def _by_common(common: CommonText) -> OptionsWay:
    matcher = f"longest common {common}"
    note = f"by the {matcher}, one-to-one, over all questions together"
    return OptionsWay(common, matcher, note, common)


SUBSTRING, SUBSEQUENCE = _by_common("substring"), _by_common("subsequence")
PUBLISHED = OptionsWay(
    PUBLISHED_CODE,
    "published code",
    "as CAmbigNQ's published code: pairs for P and R apart, difflib's common text, its parser",
    None,
)
WAYS = (SUBSTRING, SUBSEQUENCE, PUBLISHED)


def option_columns(of: str, table: str, way: OptionsWay) -> tuple[Column, ...]:
    """Precision, recall and F1 of what is called `of` in their keys."""
    precision, recall = _names(of)[:2], _names(of)[2:]
    note = f"P, R, F1 of {of}s: {way.note}"
    p_total, r_total = Total(precision, micro_precision), Total(recall, micro_recall)
    return (
        Column(f"{of}_precision", "P", table, note=note, role="precision", total=p_total),
        Column(f"{of}_recall", "R", table, role="recall", words="recall", total=r_total),
        Column(f"{of}_f1", "F1", table, role="headline", total=Total(_names(of), micro_f1)),
    )


def option_metrics(of: str, sums: OptionSums | None) -> Metrics:
    """Values of these columns and of their sums; None for a question that is not scored."""
    names = [*_names(of), f"{of}_precision", f"{of}_recall", f"{of}_f1"]
    if sums is None:
        return dict.fromkeys(names)
    scores = micro_precision(*sums[:2]), micro_recall(*sums[2:]), micro_f1(*sums)
    return dict(zip(names, (*sums, *scores), strict=True))


def options_beside(
    gold: Sequence[tuple[str, Sequence[str]]],
    wanted: Sequence[Forms],
    said: Sequence[tuple[str, Sequence[str]]],
    texts: Sequence[str],
) -> list[Beside]:
    """Gold options and predicted ones by their mapping; `wanted` and `texts` are what is compared
    of each. Gold in its order, then what stands for none of it."""
    pairs = {r: p for p, r in option_pairs(texts, wanted)}
    beside = []
    for place, option in enumerate(gold):
        if (p := pairs.get(place)) is None:
            beside.append(Beside(option, None))
            continue
        shares = ratios((texts[p],), wanted[place])
        beside.append(Beside(option, said[p], [("P", shares.precision), ("R", shares.recall)]))
    taken = set(pairs.values())
    return beside + [Beside(None, one) for p, one in enumerate(said) if p not in taken]


def _names(of: str) -> tuple[str, ...]:
    return tuple(f"{of}_{part}" for part in ("right_said", "said", "right_gold", "gold"))
