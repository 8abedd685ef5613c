"""The task `ambigqa`: the task `branches`, and beside its scores those of AmbigQA's evaluation.

Each of these is the best over all gold sets (annotators), whichever the other columns are scored
against. Over ambiguous questions they are what AmbigQA calls "multi only".
"""

from collections.abc import Iterator

from branchwise.corpora.questions import DEFAULT_BRANCH, GoldSet
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks.ambigqa.scores import answer_f1, bleu4, edit_f1, rewrite_f1
from branchwise.eval.tasks.branches.task import BranchesTask
from branchwise.eval.tasks.task import Column, Metrics

_TABLE = "AmbigQA's evaluation"
_F1_NOTE = (
    "F1 answers: of all answers, readings ignored, by AmbigQA's own rules; of ambiguous questions "
    'its "multi only"'
)
_EDIT_NOTE = (
    "EDIT-F1, BLEU-4: of right answers, how well the branch's name rewrites the question "
    "(added and deleted words); ambiguous questions alone"
)
_MEASURES = {"edit_f1": edit_f1, "rewrite_bleu4": bleu4}


class AmbigQATask(BranchesTask):
    """Entities under branch names, and question-answer pairs as AmbigQA scores them."""

    name = "ambigqa"
    version = 2
    columns: tuple[Column, ...] = (
        *BranchesTask.columns,
        Column(
            "ambigqa_f1",
            "F1\nanswers",
            _TABLE,
            note=_F1_NOTE,
            role="headline",
            short="F1",
            words="F1 of answers",
        ),
        Column("edit_f1", "EDIT-F1", _TABLE, note=_EDIT_NOTE),
        Column("rewrite_bleu4", "F1\nBLEU-4", _TABLE),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """The scores of `branches`, F1 of answers, and of questions with several readings those of
        rewrites; None without gold."""
        question, predicted = item.question, list(_predicted(item))
        metrics = {**super().score(item), **dict.fromkeys(("ambigqa_f1", *_MEASURES))}
        if not question.has_gold("answers"):
            return metrics
        gold_sets = [list(_pairs(branches, question.question)) for branches in question.gold_sets]
        answers = [answer for _, answer in predicted]
        metrics["ambigqa_f1"] = max(answer_f1([f for _, f in gold], answers) for gold in gold_sets)
        for key, measure in _MEASURES.items() if question.ambiguous else ():
            scores = (rewrite_f1(question.question, gold, predicted, measure) for gold in gold_sets)
            metrics[key] = max(scores)
        return metrics


def _pairs(branches: GoldSet, asked: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for branch in branches:
        yield from ((_rewritten(branch.name, asked), answer.forms) for answer in branch.answers)


def _predicted(item: AnsweredItem) -> Iterator[tuple[str, str]]:
    for name, texts in item.prediction.answers.items():
        rewritten = _rewritten(name, item.question.question)
        yield from ((rewritten, text) for text in texts if text.strip())


def _rewritten(name: str, asked: str) -> str:
    """A reading as a question: `default` is the one that was asked."""
    return asked if name == DEFAULT_BRANCH else name
