"""One item of a run as scorers read it: a question, what was predicted, what was seen."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Literal

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.alignment import Alignment
from branchwise.eval.property_grades import Grades
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL

GoldKey = tuple[str, int]
"""A question's id and one of its gold sets by number: what numbers of gold pairs belong to."""


@dataclass(frozen=True)
class Evidence:
    """Passage ids in the order first shown to the agent: those given, then those retrieved."""

    passages: tuple[str, ...] = ()


DEPTHS: tuple[int | None, ...] = (5, 10, 20, None)
"""The k of support recall@k; None counts all passages shown."""


def support_recall(support: AbstractSet[str], shown: Sequence[str], k: int | None) -> float | None:
    """|support among the first k passages shown| / |support|.

    `shown` holds passage ids in the order first shown. 1 means that every supporting passage was
    among the first k, 0 that none was; None where gold names no support.
    """
    if not support:
        return None
    first = list(dict.fromkeys(shown))[:k]
    return len(support & set(first)) / len(support)


@dataclass(frozen=True)
class Matched:
    """How the branches of an item were aligned where names alone did not decide.

    `by`: `llm`, or `lexical` if the model's replies were unusable, for the reason in `problem`.
    `alignment` maps each predicted branch name to the index of its gold branch in
    `GoldBranches.names`, or to None. `repaired`: only the model's second reply was such a mapping.
    """

    by: Literal["llm", "lexical"]
    alignment: Alignment
    problem: str | None = None
    repaired: bool = False


@dataclass(frozen=True)
class Accepted:
    """A predicted text that a judge accepted as a gold answer (under a gold branch's name)."""

    branch: str
    gold: str
    predicted: str


@dataclass(frozen=True)
class Graded:
    """What a judge said of an item's properties: the grades of its pairs, and how many it lacks,
    for the reason in `problem`."""

    grades: Grades
    missing: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class AnsweredItem:
    """An item that ended, well or badly.

    A failed item (`error` set) has an empty prediction and counts 0 in every mean: no question
    vanishes. `how` says how the answer was read: strict, tolerant, repaired or failed. `item` is
    its number in the run's store. `matched` is there where a model was asked to align the branches
    (None: names decide), `accepted` holds what a judge settled: the question's answers then have
    the accepted texts among their aliases. `graded` is there where a judge graded free text;
    `protocol` is how such a question was put. `gold_set`: which of the question's gold sets, from 0
    in its own order, its branches are by now (`eval.gold_sets`); None where it has but one, or
    nothing was decided yet. `cut`: a reply of its agent met the token limit.
    """

    question: Question
    prediction: Prediction
    epoch: int = 0
    evidence: Evidence = field(default_factory=Evidence)
    how: str = "strict"
    error: str | None = None
    item: int | None = None
    matched: Matched | None = None
    accepted: tuple[Accepted, ...] = ()
    graded: Graded | None = None
    protocol: str = DEFAULT_PROTOCOL
    gold_set: int | None = None
    cut: bool = False

    @property
    def is_interrupted(self) -> bool:
        """Whether it failed since its server broke replies off."""
        return (self.error or "").startswith("interrupted: ")

    @property
    def gold_key(self) -> GoldKey:
        """Of the gold set that the item is scored against."""
        return self.question.id, self.gold_set or 0

    @property
    def as_scored(self) -> "AnsweredItem":
        """The item with an empty prediction where it failed, whatever its record holds."""
        return self if self.error is None else replace(self, prediction=Prediction())
