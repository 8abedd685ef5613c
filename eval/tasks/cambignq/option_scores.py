"""Options that a clarification question offers, against gold ones, by shared text (CAmbigNQ).

With LCS the longest common text, sim(x, y) = len(LCS(x, y)) / len(x), and f the one-to-one mapping
of predicted to gold options with the greatest sum of sim(p, f(p)):

    precision = sum sim(p, f(p)) / |P| over the number of predicted options,
    recall    = sum sim(f(p), p) / |R| over the number of gold options,

all of them sums over the whole question set; an option without a partner adds 0. F1 is their
harmonic mean. (Lee et al. 2023, "Asking Clarification Questions to Handle Ambiguity in Open-Domain
QA", section 3.2 and appendix A.) A gold option may have several forms: for either ratio the form
counts that makes it greatest.

Several mappings may have the greatest sum, which leaves recall open: the one with the greatest
recall counts, and the lowest recall is told beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Literal, NamedTuple

from branchwise.eval.common_text import compared, longest_subsequence, longest_substring
from branchwise.eval.properties import greatest_sum
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
    """What a question adds to the sums of precision and recall, and to what they are divided by.
    `lowest`: to recall by the worst of equally good mappings; None: none leaves it open."""

    precision: float
    predicted: float
    recall: float
    gold: float
    lowest: float | None


class OptionRatios(NamedTuple):
    """How much of a predicted option, and of its gold one, is common text: 0 to 1."""

    precision: float
    recall: float


_Ratios = Sequence[Sequence[OptionRatios]]
"""A row for each predicted option, in it a pair of ratios for each gold one."""


def option_sums(
    predicted: Sequence[str], gold: Sequence[Forms], common: CommonText = "substring"
) -> OptionSums:
    """A question's addends. Nothing depends on the order of options or of forms."""
    # Sorted, so that sums of the same ratios are the same to the last digit.
    ratios = _all_ratios(sorted(predicted), sorted(sorted(forms) for forms in gold), common)
    precision, recall = (sum(ratios[p][r][part] for p, r in _mapping(ratios)) for part in (0, 1))
    lowest = sum(ratios[p][r].recall for p, r in _mapping(ratios, ties="lowest"))
    return OptionSums(precision, float(len(predicted)), recall, float(len(gold)), lowest)


_TIE = 1e-7
"""Sums of similarity count as equal where they differ by less than this times a sum of recall."""


def _mapping(
    ratios: _Ratios, ties: Literal["highest", "lowest"] = "highest"
) -> list[tuple[int, int]]:
    """Pairs of places (predicted, gold), each used once, with the greatest sum of precision; of
    several mappings with that sum the one with the highest or lowest recall."""
    tie = _TIE if ties == "highest" else -_TIE
    return greatest_sum([[cell.precision + tie * cell.recall for cell in row] for row in ratios])


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


def common_length(text: str, other: str, common: CommonText = "substring") -> int:
    """Characters that two texts share; of each, no more than `compared` counts."""
    return _LENGTHS[common](compared(text), compared(other))


def _all_ratios(
    predicted: Sequence[str], gold: Sequence[Forms], common: CommonText = "substring"
) -> _Ratios:

    def ratios(text: str, forms: Forms) -> OptionRatios:
        lengths = [(common_length(text, form, common), form) for form in forms]
        return OptionRatios(
            max(_share(length, text) for length, _ in lengths),
            max(_share(length, form) for length, form in lengths),
        )

    return [[ratios(text, forms) for forms in gold] for text in predicted]


def _share(length: int, text: str) -> float:
    return length / len(compared(text)) if text else 0.0


INVALID_FORM = "invalid form"
"""Category and only option of a text without a colon."""
_AUTOJUNK = 200
"""In a second text of fewer characters difflib finds the longest common substring, at ten times the
cost."""


def published_parse(text: str) -> tuple[str, tuple[str, ...]]:
    """Category and options as the published code reads them: it separates at every comma, and never
    at a bare "or"."""
    category, colon, written = text.partition(":")
    if not colon:
        return INVALID_FORM, (INVALID_FORM,)
    parts = (part for piece in written.split(", or") for part in piece.split(","))
    return category, tuple(part.strip(" ?") for part in parts)


def published_sums(predicted: Sequence[str], gold: Sequence[Forms]) -> OptionSums:
    """A question's addends by CAmbigNQ's published code: precision and recall have mappings of
    their own; the common text is difflib's, which leaves out what is frequent in texts of 200 and
    more characters; a question without options on either side is right; no divisor is below 1."""
    counts = float(max(len(predicted), 1)), float(max(len(gold), 1))
    if not predicted or not gold:
        right = 0.0 if predicted or gold else 1.0
        return OptionSums(right, counts[0], right, counts[1], None)
    cells = [[_published_ratios(text, forms) for text in predicted] for forms in gold]
    sums = []
    for part in (0, 1):
        shares = [[cell[part] for cell in row] for row in cells]
        sums.append(sum(shares[r][p] for r, p in greatest_sum(shares)))
    return OptionSums(sums[0], counts[0], sums[1], counts[1], None)


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

_LOWEST_NOTE = (
    "lowest: where several mappings are equally good, by the one with the lowest recall; R and F1 "
    "are by the one with the highest"
)


def option_columns(of: str, table: str, way: OptionsWay) -> tuple[Column, ...]:
    """Precision, recall and F1 of what is called `of` in their keys."""
    precision, recall = _names(of)[:2], _names(of)[2:4]
    lowest = f"{of}_lowest", f"{of}_gold"
    ties, note = f"{of}s: what ties leave open", f"P, R, F1 of {of}s: {way.note}"
    p_total, r_total = Total(precision, micro_precision), Total(recall, micro_recall)
    low_r, low_f1 = Total(lowest, micro_recall), Total((*precision, *lowest), micro_f1)
    return (
        Column(f"{of}_precision", "P", table, note=note, role="precision", total=p_total),
        Column(f"{of}_recall", "R", table, role="recall", words="recall", total=r_total),
        Column(f"{of}_f1", "F1", table, role="headline", total=Total(_names(of)[:4], micro_f1)),
        Column(f"{of}_lowest_recall", "lowest\nR", ties, note=_LOWEST_NOTE, total=low_r),
        Column(f"{of}_lowest_f1", "lowest\nF1", ties, total=low_f1),
    )


def option_metrics(of: str, sums: OptionSums | None) -> Metrics:
    """Values of these columns and of their sums; None for a question that is not scored."""
    scored = ("precision", "recall", "f1", "lowest_recall", "lowest_f1")
    names = [*_names(of), *(f"{of}_{score}" for score in scored)]
    if sums is None:
        return dict.fromkeys(names)
    precision, predicted, recall, gold, lowest = sums
    scores = [micro_precision(precision, predicted)]
    for part in (recall, lowest):
        if part is None:
            scores += [None, None]
        else:
            scores += [micro_recall(part, gold), micro_f1(precision, predicted, part, gold)]
    return dict(zip(names, (*sums, *scores), strict=True))


def options_beside(
    gold: Sequence[tuple[str, Sequence[str]]],
    wanted: Sequence[Forms],
    predicted: Sequence[tuple[str, Sequence[str]]],
    texts: Sequence[str],
) -> list[Beside]:
    """Gold options and predicted ones by their mapping; `wanted` and `texts` are what is compared
    of each. Gold in its order, then what stands for none of it."""
    ratios = _all_ratios(texts, wanted)
    pairs = {r: p for p, r in _mapping(ratios)}
    beside = []
    for index, option in enumerate(gold):
        p = pairs.get(index)
        scores = [] if p is None else [*zip("PR", ratios[p][index], strict=True)]
        beside.append(Beside(option, None if p is None else predicted[p], scores))
    taken = set(pairs.values())
    return beside + [Beside(None, own) for p, own in enumerate(predicted) if p not in taken]


def _names(of: str) -> tuple[str, ...]:
    return tuple(f"{of}_{part}" for part in ("right_said", "said", "right_gold", "gold", "lowest"))
