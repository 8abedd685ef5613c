"""How far a judge's grades can be relied on: the same requests graded twice.

Again by the same judge, under sample numbers of their own, or by another one beside it.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.eval.bootstrap import Aggregate, Summed, aggregate_drawn, aggregate_sums
from branchwise.eval.bounds import JudgePairs
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.consultant import Consulted, RequestProgress
from branchwise.eval.judging.grading import Announce, Grader, GradeRequest, property_requests
from branchwise.eval.scoring_choice import CheckChoice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROLE = "judge check"
_SEED = 0


@dataclass(frozen=True)
class JudgeCheck:
    """Two grades of each request, and how far they agree.

    `spec`: the model of the second ones, which is the judge itself unless it stands `beside`
    another. `graded`: requests with two grades, `ungraded` those that lack one. `difference`: the
    mean absolute difference, 0 to 1; `rho`: Spearman's rank correlation, None where all grades of
    either are the same. Their intervals draw questions.
    """

    spec: str
    beside: bool
    items: int
    graded: int
    ungraded: int
    difference: Aggregate
    rho: Aggregate
    consulted: Consulted

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable; `calls` are those of the second grades."""
        return {
            "model": self.spec,
            "beside": self.beside,
            "items": self.items,
            "grades": self.graded,
            "without_two_grades": self.ungraded,
            "mean_absolute_difference": self.difference.to_json(),
            "spearman_rho": self.rho.to_json(),
            "calls": self.consulted.to_json(),
        }


async def check_judge(
    items: Sequence[AnsweredItem],
    first: Grader,
    second: Grader,
    choice: CheckChoice,
    *,
    pairs: JudgePairs = "all",
    concurrency: int = 8,
    announce: Announce | None = None,
    progress: RequestProgress | None = None,
) -> JudgeCheck:
    """Grades by `second` beside the kept ones of `first`.

    The items are drawn with a fixed seed among those with anything to grade; a greater number draws
    the same ones and more. Raises what `Grader.grade` raises.
    """
    drawn = draw_items([item for item in items if property_requests([item], pairs)], choice.items)
    # What several questions ask alike is graded once, and counts in the first of them.
    asked: dict[GradeRequest, str] = {}
    for item in drawn:
        for request in property_requests([item], pairs):
            asked.setdefault(request, item.question.id)
    again = await second.grade_each(
        asked, concurrency=concurrency, announce=announce, progress=progress
    )
    both = defaultdict[str, list[tuple[float, float]]](list)
    for request, question in asked.items():
        earlier_grade, other = first.known(request), again[request]
        if (
            earlier_grade is not None
            and earlier_grade.value is not None
            and other.value is not None
        ):
            both[question].append((earlier_grade.value, other.value))
    twice = list(both.values())
    graded = sum(map(len, twice))
    return JudgeCheck(
        second.spec,
        choice.beside is not None,
        len(drawn),
        graded,
        len(asked) - graded,
        mean_difference(twice),
        rank_correlation(twice),
        second.consulted,
    )


def draw_items(items: Sequence[AnsweredItem], n: int) -> list[AnsweredItem]:
    """The first `n` of the items in a seeded order, which their own order has no part in."""
    ordered = sorted(items, key=lambda item: (item.question.id, item.epoch))
    random.Random(_SEED).shuffle(ordered)
    return ordered[:n]


Twice = Sequence[tuple[float, float]]
"""Two grades of each of a question's requests."""


def mean_difference(questions: Sequence[Twice]) -> Aggregate:
    """The mean absolute difference of two grades, and its interval over questions."""
    sums = [(sum(abs(a - b) for a, b in twice), float(len(twice))) for twice in questions]
    return aggregate_sums(Summed(sums, lambda total, n: total / n))


def rank_correlation(questions: Sequence[Twice]) -> Aggregate:
    """Spearman's rho of the two grades (ties share their mean rank), and its interval."""
    import numpy as np

    grades = np.array([pair for twice in questions for pair in twice]).reshape(-1, 2)
    owner = np.repeat(np.arange(len(questions)), [len(twice) for twice in questions])
    return aggregate_drawn(
        lambda times: spearman(np.repeat(grades, times[owner].astype(int), axis=0)), len(questions)
    )


def spearman(grades: "NDArray[np.float64]") -> float | None:
    """The correlation of the columns' ranks, -1 to 1; None where a column is all the same.

    `grades`: float64 [n, 2].
    """
    import numpy as np
    from scipy.stats import rankdata

    if not len(grades) or np.ptp(grades, axis=0).min() == 0:
        return None
    ranks = rankdata(grades, axis=0)
    return float(np.asarray(np.corrcoef(ranks, rowvar=False))[0, 1])
