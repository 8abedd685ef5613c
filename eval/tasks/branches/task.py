"""The task `branches`: find every reading of a question and every entity of its answer set."""

from dataclasses import replace

from branchwise.eval.alignment import MATCHER
from branchwise.eval.branch_scores import align_answers, gold_branches, pooled_score, strict_score
from branchwise.eval.items import DEPTHS, AnsweredItem, support_recall
from branchwise.eval.tasks.branches.format import BranchesFormat
from branchwise.eval.tasks.task import Column, Metrics, Role, Task
from branchwise.graphs.flows import Flow

BRANCHES = Flow(
    name="branches",
    format=BranchesFormat(),
    prompts={"search": "answer_with_tools", "direct": "answer_directly"},
    readings="readings",
)

_SETS, _MORE = "answer sets", "answered and retrieval"
_STRICT_NOTE = "strict: an entity is right under a branch of the same reading only"
_POOLED_NOTE = "pooled: branches are ignored"
_EM_NOTE = "EM: nothing wrong and nothing missing"
_ANSWERED_NOTE = "answered: over questions that got an answer; everything else is over all"
_SUPPORT_NOTE = "support @k: share of the passages that state gold answers in the first k shown"

_MEASURES: tuple[tuple[str, str, Role], ...] = (
    ("precision", "P", "precision"),
    ("recall", "R", "recall"),
    ("em", "EM", "exact"),
)
_NOTES = {"strict_precision": _STRICT_NOTE, "strict_em": _EM_NOTE, "pooled_precision": _POOLED_NOTE}


def _column(way: str, measure: str, short: str, role: Role) -> Column:
    key, words = f"{way}_{measure}", f"{way} {short if role == 'exact' else measure}"
    column = Column(key, f"{way}\n{short}", _SETS, note=_NOTES.get(key, ""), short=short)
    return replace(column, role=role, words=words) if way == "strict" else column


def _support_column(k: int | None) -> Column:
    note = _SUPPORT_NOTE if k == DEPTHS[0] else ""
    key, heading = f"support_recall_{k or 'all'}", f"support\n@{k}" if k else "support\nall"
    return Column(key, heading, _MORE, note=note, needs_evidence=True)


_SUPPORT = {k: _support_column(k) for k in DEPTHS}


class BranchesTask(Task):
    """Entities under branch names, scored as sets."""

    name = "branches"
    version = 3
    flow = BRANCHES
    matcher = MATCHER
    is_attributable = True
    columns: tuple[Column, ...] = (
        *(_column(way, *measure) for way in ("strict", "pooled") for measure in _MEASURES),
        Column("precision_answered", "answered\nstrict P", _MORE, note=_ANSWERED_NOTE),
        *_SUPPORT.values(),
    )

    def score(self, item: AnsweredItem) -> Metrics:
        """Strict and pooled set scores, and support recall. All set scores are None for a question
        without gold entities."""
        gold, answers = gold_branches(item.question.branches), item.prediction.answers
        alignment = item.matched.alignment if item.matched else align_answers(gold, answers)
        ways = {
            "strict": strict_score(gold, answers, alignment),
            "pooled": pooled_score(gold, answers),
        }
        metrics: dict[str, float | None] = {
            f"{way}_{measure}": getattr(score, measure)
            for way, score in ways.items()
            for measure, _, _ in _MEASURES
        }
        is_answered = ways["strict"].predicted > 0
        metrics["precision_answered"] = metrics["strict_precision"] if is_answered else None
        if not ways["pooled"].gold:
            metrics = dict.fromkeys(metrics)
        for k, column in _SUPPORT.items():
            recall = support_recall(item.question.support, item.evidence.passages, k)
            metrics[column.key] = recall
        return metrics
