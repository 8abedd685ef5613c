"""A task with a score of the whole question set: F1 of all its answers together."""

from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks import DEFAULT, Column, Metrics, Total
from branchwise.eval.tasks.task import Task

SUMS = ("right", "predicted", "gold")


def f1(right: float, predicted: float, gold: float) -> float | None:
    return 2 * right / (predicted + gold) if predicted + gold else None


class CorpusTask(Task):
    """Answers of one branch, scored together over all questions."""

    name = "corpus"
    version = 1
    flow = DEFAULT.flow
    matcher = "names"
    columns = (
        Column("corpus_f1", "corpus\nF1", "answers", role="headline", total=Total(SUMS, f1)),
        Column("share", "share", "answers", role="headline"),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        gold = {answer.text for branch in item.question.branches for answer in branch.answers}
        said = {text for texts in item.prediction.answers.values() for text in texts}
        sums = len(gold & said), len(said), len(gold)
        share = sums[0] / sums[2] if gold else None
        return {**dict(zip(SUMS, map(float, sums), strict=True)), "corpus_f1": f1(*sums),
                "share": share}  # fmt: skip
