"""The questions of a study, with what every system answered and where it lost answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from branchwise.corpora.questions import Question
from branchwise.eval.branch_scores import GoldBranches, align_answers, branch_matches, gold_branches
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks import Metrics

Branches = Mapping[str, tuple[str, ...]]
"""Branch name to its texts."""


@dataclass(frozen=True)
class SystemAnswer:
    """What a system answered in one epoch.

    `aligned`: predicted branch to the gold branch that it stands for, or None. `right`: predicted
    branch to those of its texts that count as right. `errors` is None for tasks whose answers are
    sentences.
    """

    system: str
    epoch: int
    answers: Branches
    aligned: Mapping[str, str | None]
    right: Branches
    metrics: Metrics
    errors: ItemErrors | None = None
    error: str | None = None
    gold_set: int | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        record = {
            **vars(self),
            "answers": dict(self.answers),
            "aligned": dict(self.aligned),
            "right": dict(self.right),
            "metrics": dict(self.metrics),
            "errors": self.errors.to_json() if self.errors else None,
        }
        if self.gold_set is None:
            del record["gold_set"]
        return record


@dataclass(frozen=True)
class QuestionReport:
    """A question with its gold branches and the systems' answers, in the systems' order.

    `alternatives`: further gold sets; `SystemAnswer.gold_set` says which one an answer was scored
    against (0: `gold`).
    """

    id: str
    question: str
    ambiguous: bool
    gold: Branches
    meta: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[SystemAnswer, ...] = ()
    alternatives: tuple[Branches, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        record = {
            **vars(self),
            "gold": _plain(self.gold),
            "meta": dict(self.meta),
            "answers": [one.to_json() for one in self.answers],
        }
        if self.alternatives:
            record["alternatives"] = [_plain(gold) for gold in self.alternatives]
        else:
            del record["alternatives"]
        return record


def _plain(gold: Branches) -> dict[str, list[str]]:
    return {name: list(texts) for name, texts in gold.items()}


def question_report(question: Question, answers: Sequence[SystemAnswer]) -> QuestionReport:
    """A question beside the answers to it."""
    gold, *alternatives = (
        {branch.name: tuple(answer.text for answer in branch.answers) for branch in branches}
        for branches in question.gold_sets
    )
    return QuestionReport(
        question.id,
        question.question,
        question.ambiguous,
        gold,
        question.meta,
        tuple(answers),
        tuple(alternatives),
    )


def analysed_answer(
    system: str, item: AnsweredItem, metrics: Metrics, errors: ItemErrors
) -> SystemAnswer:
    """The answer of an item whose trace was analysed."""
    gold = gold_branches(item.question.branches)
    answers = {} if item.error else item.prediction.answers
    alignment = item.matched.alignment if item.matched else align_answers(gold, answers)
    right: dict[str, tuple[str, ...]] = {}
    for found in branch_matches(gold, answers, alignment).right:
        right[found.branch] = (*right.get(found.branch, ()), found.text)
    return SystemAnswer(
        system,
        item.epoch,
        answers,
        {name: _name(gold, alignment[name]) for name in answers},
        right,
        metrics,
        errors,
        item.error,
        item.gold_set,
    )


def _name(gold: GoldBranches, index: int | None) -> str | None:
    return None if index is None else gold.names[index]
