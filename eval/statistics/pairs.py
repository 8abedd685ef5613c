"""The questions that two systems have in common, as aligned columns of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError
from branchwise.eval.question_scores import ItemScore, of_subset, question_means
from branchwise.eval.scores import Scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHOWN_OF_AN_ID = 80


@dataclass(frozen=True)
class LeftOutQuestions:
    """How many questions stay out of a pair of columns, each counted once, by reason.

    `only_base`, `only_other`: the other system has no ended item of them; `unscored_*`: both have
    one, but the metric is None there in every epoch.
    """

    only_base: int = 0
    only_other: int = 0
    unscored_base: int = 0
    unscored_other: int = 0
    unscored_both: int = 0

    @property
    def total(self) -> int:
        return sum(vars(self).values())

    def reasons(self) -> str:
        """As a person reads it: "2 only in the base, 1 unscored in both"; empty for none."""
        said = {
            "only in the base": self.only_base,
            "only in the other": self.only_other,
            "unscored in the base": self.unscored_base,
            "unscored in the other": self.unscored_other,
            "unscored in both": self.unscored_both,
        }
        return ", ".join(f"{count} {why}" for why, count in said.items() if count)

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Pairs:
    """Two systems' metrics over the same questions, these in order of their ids.

    `base`, `other`: float64 [metrics, questions], epochs of a question averaged; NaN is unscored,
    and so is a mean that is not finite.
    """

    metrics: tuple[str, ...]
    base: "NDArray[np.float64]"
    other: "NDArray[np.float64]"
    only_base: int
    only_other: int

    @cached_property
    def differences(self) -> "NDArray[np.float64]":
        """other - base, NaN where either is unscored.

        Rounded to 12 digits: an epoch mean of 1/3 and 2/3 must equal 1/2.
        """
        import numpy as np

        return np.round(self.other - self.base, 12)

    def left_out(self, row: int) -> LeftOutQuestions:
        """What stays out of the metric with this number."""
        import numpy as np

        base, other = np.isnan(self.base[row]), np.isnan(self.other[row])
        return LeftOutQuestions(
            self.only_base,
            self.only_other,
            int((base & ~other).sum()),
            int((other & ~base).sum()),
            int((base & other).sum()),
        )


def pair_questions(base: Scores, other: Scores, metrics: Sequence[str], subset: str) -> Pairs:
    """Pair two systems' questions of one subset (all, ambiguous, unambiguous) by id."""
    ours, theirs = of_subset(base.items, subset), of_subset(other.items, subset)
    in_base, in_other = {row.id for row in ours}, {row.id for row in theirs}
    common = in_base & in_other
    return Pairs(
        tuple(metrics),
        _columns(ours, common, metrics),
        _columns(theirs, common, metrics),
        len(in_base - common),
        len(in_other - common),
    )


def check_same_questions(base: Scores, other: Scores) -> None:
    """Raise InputError where a question is ambiguous for one system and not for the other.

    Then they answered different questions under one id, and no difference means anything.
    """
    ambiguous = {row.id: row.ambiguous for row in base.items}
    for row in other.items:
        if ambiguous.get(row.id, row.ambiguous) != row.ambiguous:
            raise InputError(
                f"question {row.id[:_SHOWN_OF_AN_ID]!r} is ambiguous in one run and not in the "
                "other",
                remedy="compare runs over the same questions",
            )


def _columns(
    rows: Sequence[ItemScore], common: set[str], metrics: Sequence[str]
) -> "NDArray[np.float64]":
    """float64 [metrics, questions], questions sorted by id so that no order changes a draw."""
    import numpy as np

    chosen = sorted((row for row in rows if row.id in common), key=lambda r: (r.id, r.epoch))
    columns = np.array([question_means(chosen, metric) for metric in metrics], dtype=np.float64)
    columns[~np.isfinite(columns)] = np.nan
    return columns.reshape(len(metrics), len(common))
