"""The task `fanoutqa`: answers under the names of things, and FanOutQA's accuracy beside sets.

A gold branch is a thing that is asked about, its name part of the answer.
"""

from collections.abc import Iterator

from branchwise.corpora.questions import DEFAULT_BRANCH, GoldSet
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.branches.task import BranchesTask
from branchwise.eval.tasks.column import Column, Metrics
from branchwise.eval.tasks.fanoutqa.flow import KEYED
from branchwise.eval.tasks.fanoutqa.loose_accuracy import found_strings

_TABLE = "FanOutQA's accuracy"
_LOOSE_NOTE = "loose: share of the gold keys and values that stand in the answer; not lemmatised"
_STRICT_NOTE = "all: share of questions in which all of them do (FanOutQA's strict accuracy)"
LOOSE, ALL_FOUND = "loose_accuracy", "strict_accuracy"


class FanOutQATask(BranchesTask):
    """Answers under branch names, and their strings in the answer as one text."""

    name = "fanoutqa"
    version = 2
    flow = KEYED
    columns: tuple[Column, ...] = (
        *BranchesTask.columns,
        Column(
            LOOSE,
            "accuracy\nloose",
            _TABLE,
            note=_LOOSE_NOTE,
            role="headline",
            short="loose",
            words="loose accuracy",
        ),
        Column(ALL_FOUND, "accuracy\nall", _TABLE, note=_STRICT_NOTE),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """The scores of `branches` and both accuracies; None without gold."""
        gold = list(_strings(item.question.branches))
        loose = found_strings(gold, "\n".join(_lines(item))) / len(gold) if gold else None
        whole = None if loose is None else float(loose == 1)
        return {**super().score(item), LOOSE: loose, ALL_FOUND: whole}


def _strings(branches: GoldSet) -> Iterator[tuple[str, ...]]:
    """Each name and each answer, in all its forms."""
    for branch in branches:
        if branch.name != DEFAULT_BRANCH:
            yield (branch.name,)
        yield from (answer.forms for answer in branch.answers)


def _lines(item: AnsweredItem) -> Iterator[str]:
    """The answer written out, a line a branch: "name - answer, answer"."""
    for name, texts in item.prediction.answers.items():
        listed = ", ".join(texts)
        yield listed if name == DEFAULT_BRANCH else f"{name} - {listed}"
