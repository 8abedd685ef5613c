"""Columns of precision, recall and F1 by common text (`option_scores.py`), in three ways.

The paper's way with the longest common substring, the same with the longest common subsequence,
and that of CAmbigNQ's published code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.eval.tasks.cambignq.option_scores import (
    CommonText,
    Forms,
    OptionSums,
    micro_f1,
    micro_precision,
    micro_recall,
    option_pairs,
    option_sums,
    ratios,
)
from branchwise.eval.tasks.cambignq.option_scores_published import published_sums
from branchwise.eval.tasks.column import Column, Metrics, Total
from branchwise.eval.tasks.task import PUBLISHED as PUBLISHED_CODE
from branchwise.eval.tasks.task import Beside


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
        """A question's addends."""
        if self.common is None:
            return published_sums(predicted, gold)
        return option_sums(predicted, gold, self.common)


SUBSTRING = OptionsWay(
    "substring",
    "longest common substring",
    "by the longest common substring, one-to-one, over all questions together",
    "substring",
)
SUBSEQUENCE = OptionsWay(
    "subsequence",
    "longest common subsequence",
    "by the longest common subsequence, one-to-one, over all questions together",
    "subsequence",
)
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
    found = []
    for place, own in enumerate(gold):
        p = pairs.get(place)
        shares = None if p is None else ratios((texts[p],), wanted[place])
        scores = [("P", shares.precision), ("R", shares.recall)] if shares else []
        found.append(Beside(own, None if p is None else said[p], scores))
    taken = set(pairs.values())
    return found + [Beside(None, one) for p, one in enumerate(said) if p not in taken]


def _names(of: str) -> tuple[str, ...]:
    return tuple(f"{of}_{part}" for part in ("right_said", "said", "right_gold", "gold"))
