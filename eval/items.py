"""One item of a run as scorers read it, and the gold set that it is scored against.

That is the one of its question that suits its answer best, which is decided here alone. Scores,
errors, ceilings and whatever shows an item read the branches that the question then has.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import orjson

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.alignment import Alignment
from branchwise.eval.properties import Grades
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL

if TYPE_CHECKING:
    from branchwise.eval.tasks import Column, Metrics, Task

GoldKey = tuple[str, int]
"""A question's id and one of its gold sets by number: what numbers of gold pairs belong to."""


@dataclass(frozen=True)
class Evidence:
    """Passage ids in the order first shown to the agent: those given, then those retrieved."""

    passages: tuple[str, ...] = ()


DEPTHS: tuple[int | None, ...] = (5, 10, 20, None)
"""The k of support recall@k; None counts all passages shown."""


def support_recall(support: AbstractSet[str], shown: Sequence[str], k: int | None) -> float | None:
    """|support among the first k passages shown| / |support|. `shown` holds passage ids in the
    order first shown. 1 means that every supporting passage was among the first k, 0 that none was;
    None where gold names no support."""
    if not support:
        return None
    first = list(dict.fromkeys(shown))[:k]
    return len(support & set(first)) / len(support)


@dataclass(frozen=True)
class Matched:
    """How the branches of an item were aligned where names alone did not decide. `by`: `llm`, or
    `lexical` if the model's replies were unusable, for the reason in `problem`. `alignment`: to
    indices of `GoldBranches.names`. `repaired`: by the model's second reply."""

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
    """A judge's grades of an item's pairs, and how many it lacks, for the reason in `problem`."""

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
    in its own order, its branches are by now (`best_gold_sets`); None where it has but one, or
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
    def has_texts(self) -> bool:
        answers = self.prediction.answers.values()
        return any(text.strip() for texts in answers for text in texts)

    @property
    def gold_key(self) -> GoldKey:
        """Of the gold set that the item is scored against."""
        return self.question.id, self.gold_set or 0

    @property
    def as_scored(self) -> "AnsweredItem":
        """The item with an empty prediction where it failed, whatever its record holds."""
        return self if self.error is None else replace(self, prediction=Prediction())


def each_gold_set(items: Iterable[AnsweredItem]) -> list[AnsweredItem]:
    """The items, in place of an undecided one the same item by each gold set of its question, for
    models that settle something before the scores are known."""
    by_sets: list[AnsweredItem] = []
    for item in items:
        question = item.question
        if item.gold_set is not None or not question.alternatives:
            by_sets.append(item)
            continue
        for number in range(len(question.gold_sets)):
            by_sets.append(replace(item, question=question.by_gold_set(number), gold_set=number))
    return by_sets


def best_gold_sets(task: "Task", items: Iterable[AnsweredItem]) -> list[AnsweredItem]:
    """One item for each question and epoch: of those that stand for it, the one that scores best.
    Best is the greatest value of the task's main metric, of equal ones that of its other headline
    metrics in their order. What still is equal (an item without an answer) falls to the gold set
    with the most branches, the most answers, then the first by its text: the order of gold sets
    changes nothing. Undecided items are tried by every gold set."""
    # One set for all metrics: no error could explain the best of each by itself.
    grouped: list[list[AnsweredItem]] = []
    for item in each_gold_set(items):
        if grouped and _is_by_next_set(grouped[-1][-1], item):
            grouped[-1].append(item)
        else:
            grouped.append([item])
    return [_best(task, candidates) for candidates in grouped]


def by_best_gold_set(task: "Task", item: AnsweredItem) -> AnsweredItem:
    """The same for one item; one that was decided stays."""
    return best_gold_sets(task, [item])[0]


def gold_set_note(task: "Task", several: int, of: int) -> str:
    """A line for a report in which `several` of its questions have more than one gold set."""
    order = ", then ".join(column.name for column in _preferred(task))
    return (
        f"{several:,} of {of:,} questions {'has' if several == 1 else 'have'} alternative gold "
        f"answers; each item is scored against those that give it the best {order}"
    )


def _is_by_next_set(item: AnsweredItem, other: AnsweredItem) -> bool:
    """Whether the other is the same item by a later gold set."""
    if item.gold_set is None or other.gold_set is None or item.gold_set >= other.gold_set:
        return False
    return (item.question.id, item.epoch) == (other.question.id, other.epoch)


def _best(task: "Task", candidates: Sequence[AnsweredItem]) -> AnsweredItem:
    if len(candidates) == 1:
        return candidates[0]

    def worth(item: AnsweredItem) -> tuple[list[float], int, int]:
        metrics, branches = task.score(item.as_scored), item.question.branches
        values = [_value(column, metrics) for column in _preferred(task)]
        return values, len(branches), sum(len(branch.answers) for branch in branches)

    # `max` takes the first of equal ones.
    ordered = sorted(candidates, key=lambda item: sorted(map(orjson.dumps, item.question.branches)))
    return max(ordered, key=worth)


def _preferred(task: "Task") -> list["Column"]:
    return list(dict.fromkeys((task.main, *task.headline)))


def _value(column: "Column", metrics: "Metrics") -> float:
    """An item's own value; one that is unscored is below all others."""
    value = metrics.get(column.key)
    if value is None and column.total and (vector := column.total.vector(metrics)):
        value = column.total.of(*vector)
    return float("-inf") if value is None else value
