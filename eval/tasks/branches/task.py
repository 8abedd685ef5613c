"""The task `branches`: find every reading of a question and every entity of its answer set."""

from branchwise.eval.alignment import MATCHER
from branchwise.eval.branch_scores import align_answers, gold_branches, pooled_score, strict_score
from branchwise.eval.items import DEPTHS, AnsweredItem, support_recall
from branchwise.eval.tasks.branches.format import BranchesFormat
from branchwise.eval.tasks.task import Column, Metrics, Task
from branchwise.graphs.flows import Flow

BRANCHES = Flow(
    name="branches",
    format=BranchesFormat(),
    prompts={"search": "answer_with_tools", "direct": "answer_directly"},
    readings="readings",
    reading="reading",
)


_SETS, _MORE = "answer sets", "answered and retrieval"
_STRICT_NOTE = "strict: an entity is right under a branch of the same reading only"
_POOLED_NOTE = "pooled: branches are ignored"
_EM_NOTE = "EM: nothing wrong and nothing missing"
_ANSWERED_NOTE = "answered: over questions that got an answer; everything else is over all"
_SUPPORT_NOTE = "support @k: share of the passages that state gold answers in the first k shown"


def _support_key(k: int | None) -> str:
    return f"support_recall_{k or 'all'}"


def _support_column(k: int | None) -> Column:
    note = _SUPPORT_NOTE if k == DEPTHS[0] else ""
    heading = f"support\n@{k}" if k else "support\nall"
    return Column(_support_key(k), heading, _MORE, note=note, needs_evidence=True)


_STRICT = (
    Column(
        "strict_precision",
        "strict\nP",
        _SETS,
        note=_STRICT_NOTE,
        role="precision",
        short="P",
        words="strict precision",
    ),
    Column("strict_recall", "strict\nR", _SETS, role="recall", short="R", words="strict recall"),
    Column(
        "strict_em",
        "strict\nEM",
        _SETS,
        note=_EM_NOTE,
        role="exact",
        short="EM",
        words="strict EM",
    ),
)
_POOLED = (
    Column("pooled_precision", "pooled\nP", _SETS, note=_POOLED_NOTE, short="P"),
    Column("pooled_recall", "pooled\nR", _SETS, short="R"),
    Column("pooled_em", "pooled\nEM", _SETS, short="EM"),
)


class BranchesTask(Task):
    """Entities under branch names, scored as sets."""

    name = "branches"
    version = 3
    flow = BRANCHES
    matcher = MATCHER
    is_attributable = True
    columns: tuple[Column, ...] = (
        *_STRICT,
        *_POOLED,
        Column("precision_answered", "answered\nstrict P", _MORE, note=_ANSWERED_NOTE),
        *map(_support_column, DEPTHS),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """Strict and pooled set scores, and support recall. All set scores are None for a question
        without gold entities."""
        gold, answers = gold_branches(item.question.branches), item.prediction.answers
        alignment = item.matched.alignment if item.matched else align_answers(gold, answers)
        strict = strict_score(gold, answers, alignment)
        pooled = pooled_score(gold, answers)
        metrics: dict[str, float | None] = {
            "strict_precision": strict.precision,
            "strict_recall": strict.recall,
            "strict_em": strict.em,
            "pooled_precision": pooled.precision,
            "pooled_recall": pooled.recall,
            "pooled_em": pooled.em,
            "precision_answered": strict.precision if strict.predicted else None,
        }
        if not pooled.gold:
            metrics = dict.fromkeys(metrics)
        for k in DEPTHS:
            recall = support_recall(item.question.support, item.evidence.passages, k)
            metrics[_support_key(k)] = recall
        return metrics
