"""The report in words: what each change does, what it costs, and what still goes wrong."""

from dataclasses import dataclass
from typing import Literal

from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.statistics import Difference, summary_line
from branchwise.eval.tasks import get_task
from branchwise.ui.cells import number
from branchwise.ui.html.lost import losses
from branchwise.ui.html.spending import ratio_words, spending
from branchwise.ui.html.systems import aggregate, main_subset, subsets, system_name
from branchwise.ui.html.tables import interval, subset_words
from branchwise.ui.html.text import shares, short

Verdict = Literal["better", "worse", "unclear", "same", "none"]
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "better": ("▲", "better, by more than chance"),
    "worse": ("▼", "worse, by more than chance"),
    "unclear": ("≈", "may be chance"),
    "same": ("=", "the same on every question"),
    "none": ("·", "nothing to compare"),
}
_LEVEL = 0.05
_NAMES = {"strict_recall": "recall", "strict_precision": "precision", "strict_em": "EM"}


@dataclass(frozen=True)
class Finding:
    """A system against the base: the main difference, the others, and what must be kept in mind."""

    system: str
    verdict: Verdict
    headline: str
    others: tuple[tuple[Verdict, str], ...]
    cautions: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        return VERDICTS[self.verdict][0]

    @property
    def meaning(self) -> str:
        return VERDICTS[self.verdict][1]


def findings(report: StudyReport) -> list[Finding]:
    """One for each system but the base."""
    return [_finding(report, system) for system in report.systems[1:]]


def main_metric(report: StudyReport) -> str:
    """The metric that the report turns on: strict recall, or the first that its task has."""
    if report.task == "branches":
        return "strict_recall"
    return get_task(report.task).columns[0].key


def metric_name(metric: str) -> str | None:
    """What a metric is called where it is clear that scores are strict; None for its own words."""
    return _NAMES.get(metric)


def verdict(difference: Difference) -> Verdict:
    """Better or worse where the corrected p-value is below .05."""
    if difference.difference is None:
        return "none"
    if not difference.higher + difference.lower:
        return "same"
    p = difference.p if difference.p_holm is None else difference.p_holm
    if p is None or p >= _LEVEL:
        return "unclear"
    return "better" if difference.difference > 0 else "worse"


def base_words(report: StudyReport) -> list[str]:
    """Where the base stands: its main metrics on each subset."""
    metrics = list(_NAMES) if report.task == "branches" else [main_metric(report)]
    lines = []
    for subset in reversed(subsets(report)):
        found = [(metric, aggregate(report.base, metric, subset)) for metric in metrics]
        told = ", ".join(
            f"{_called(metric)} {number(one.mean)} {interval(one.low, one.high)}".strip()
            for metric, one in found
        )
        n = report.base.scores.questions(subset)
        lines.append(f"{told} on {n:,} {subset_words(subset)} questions")
    return lines


def still_wrong(report: StudyReport) -> list[tuple[str, str]]:
    """System and sentence: how many gold answers it lost, and where."""
    told = []
    for system in report.systems:
        if found := losses(system):
            lost = found.gold - found.right
            where = f": {shares(found.parts, lost)}" if lost else ""
            sentence = f"{lost:,} of {found.gold:,} gold answers are missing{where}."
            told.append((system_name(system), sentence))
    return told


def warnings(report: StudyReport) -> list[str]:
    """What makes the numbers less than they seem: failed and unfinished items, unequal sets."""
    told = []
    for system in report.systems:
        counts, name = system.scores.counts, system_name(system)
        if counts.pending:
            told.append(f"{name}: {counts.pending:,} items have not ended and are not counted.")
        if counts.failed:
            told.append(f"{name}: {counts.failed:,} of {counts.items:,} items failed; each is 0.")
    asked = {frozenset(item.id for item in system.scores.items) for system in report.systems}
    if len(asked) > 1:
        told.append(
            "The systems did not answer the same questions: differences are taken over those that "
            "both have, means over those of each."
        )
    return told


def _finding(report: StudyReport, system: SystemReport) -> Finding:
    compared = report.comparisons[system.name]
    metric, subset = main_metric(report), main_subset(report)
    headline = compared.find(metric, subset)
    ratio = ratio_words(report, system)
    line = _line(headline) + (f", {ratio}" if ratio else "")
    if ratio is None and spending(report) is None:
        line += ", cost unknown"
    found = [compared.find(*other) for other in _others(report, metric, subset)]
    others = [(verdict(one), _line(one)) for one in found if one.n]
    cautions = tuple(short(caution) for caution in compared.cautions)
    return Finding(system_name(system), verdict(headline), line, tuple(others), cautions)


def _others(report: StudyReport, metric: str, subset: str) -> list[tuple[str, str]]:
    """Metric and subset of what is said below the main difference."""
    first = [(metric, "unambiguous")] if subset != "all" else []
    more = [("strict_precision", subset), ("strict_em", "all")]
    return [*first, *more] if report.task == "branches" else first


def _line(difference: Difference) -> str:
    line = summary_line(difference, name=metric_name(difference.metric))
    return line.replace(" on unambiguous questions", " on non-ambiguous questions", 1)


def _called(metric: str) -> str:
    return metric_name(metric) or metric.replace("_", " ")
