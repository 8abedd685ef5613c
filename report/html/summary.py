"""The report in words: what each change does, what it costs, and what still goes wrong."""

from dataclasses import dataclass
from typing import Literal

from branchwise.base.numbers import interval, number
from branchwise.base.text import counted
from branchwise.eval.comparison import SIGNIFICANT, ScoreDifference, summary_line
from branchwise.eval.tasks import Column
from branchwise.report.figures.cost import ratio_words, spending
from branchwise.report.figures.losses import absent_gold, losses
from branchwise.report.html.tables import MAX_NAME, shares, short
from branchwise.report.study_report import StudyReport, SystemReport

ChangeVerdict = Literal["better", "worse", "unclear", "same", "none"]
VERDICTS: dict[ChangeVerdict, tuple[str, str]] = {
    "better": ("▲", "better, by more than chance"),
    "worse": ("▼", "worse, by more than chance"),
    "unclear": ("≈", "may be chance"),
    "same": ("=", "the same on every question"),
    "none": ("·", "nothing to compare"),
}


@dataclass(frozen=True)
class Finding:
    """A system against its base: the main difference, the others, and what must be kept in mind."""

    system: str
    verdict: ChangeVerdict
    headline: str
    others: tuple[tuple[ChangeVerdict, str], ...]
    cautions: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        return VERDICTS[self.verdict][0]

    @property
    def meaning(self) -> str:
        return VERDICTS[self.verdict][1]


def findings(report: StudyReport) -> list[Finding]:
    """One for each system that is compared with a base."""
    return [_finding(report, one) for one in report.systems if one.name in report.comparisons]


def told(report: StudyReport) -> list[Column]:
    """The headline metrics, recall first."""
    return sorted(report.task.headline, key=lambda column: column.role != "recall")


def verdict(difference: ScoreDifference) -> ChangeVerdict:
    """Better or worse where the corrected p-value is below .05."""
    if difference.difference is None:
        return "none"
    if not difference.higher + difference.lower:
        return "same"
    p = difference.corrected_p
    if p is None or p >= SIGNIFICANT:
        return "unclear"
    return "better" if difference.difference > 0 else "worse"


def base_words(report: StudyReport, base: SystemReport) -> list[str]:
    """Where a base stands: its main metrics on each subset."""
    lines = []
    for subset in report.parts:
        found = [(column, base.mean(column.key, subset)) for column in told(report)]
        means = ", ".join(
            f"{column.name} {number(one.mean)} {interval(one.low, one.high)}".strip()
            for column, one in found
        )
        n = base.scores.questions(subset)
        lines.append(f"{means} on {report.task.counted_questions(n, subset)}")
    return lines


def base_cautions(base: SystemReport) -> list[str]:
    """What of a base did nothing."""
    return [short(one.words) for one in base.run.inert.values()]


def still_wrong(report: StudyReport) -> list[tuple[str, str]]:
    """System and sentence: how many gold answers it lost, and where."""
    told = []
    found = losses(report, "all")
    for bar in found.bars if found else ():
        lost = bar.gold - bar.counts[0]
        where = f": {shares(bar.lost, lost)}" if lost else ""
        sentence = (
            f"{lost:,} of {bar.gold:,} gold answers are missing{where}. {bar.caution}".strip()
        )
        told.append((short(bar.name, MAX_NAME), sentence))
    return told


def warnings(report: StudyReport) -> list[str]:
    """What limits the numbers: gold that the corpus lacks, failed and unfinished items, unequal
    question sets."""
    told = [f"{short(name, MAX_NAME)}: {said}." for name, said in absent_gold(report)]
    for system in report.systems:
        counts, name = system.scores.counts, short(system.name, MAX_NAME)
        if counts.pending:
            told.append(f"{name}: {counts.pending:,} items have not ended and are not counted.")
        if counts.failed:
            told.append(
                f"{name}: {counts.failed:,} of {counted(counts.items, 'item')} failed; each is 0."
            )
    asked = {frozenset(item.id for item in system.scores.items) for system in report.systems}
    if len(asked) > 1:
        told.append(
            "The systems did not answer the same questions: differences are taken over those that "
            "both have, means over those of each."
        )
    return told


def _finding(report: StudyReport, system: SystemReport) -> Finding:
    compared = report.comparisons[system.name]
    main, subset = report.task.main, report.subsets[0]
    headline = compared.find(main.key, subset)
    ratio = ratio_words(report, system)
    line = _line(report, headline, main) + (f", {ratio}" if ratio else "")
    if ratio is None and spending(report) is None:
        line += ", cost unknown"
    others = _others(report, main, subset)
    named = [(column, compared.find(column.key, on)) for column, on in others]
    lines = [(verdict(one), _line(report, one, column)) for column, one in named if one.n]
    cautions = tuple(short(caution) for caution in compared.cautions)
    return Finding(short(system.name, MAX_NAME), verdict(headline), line, tuple(lines), cautions)


def _others(report: StudyReport, main: Column, subset: str) -> list[tuple[Column, str]]:
    """Metric and subset of what is said below the main difference."""
    first = [(main, one) for one in report.parts if one != subset]
    more = [
        (column, "all" if column.role == "exact" else subset)
        for column in told(report)
        if column is not main
    ]
    return [*first, *more]


def _line(report: StudyReport, difference: ScoreDifference, column: Column) -> str:
    questions = report.task.questions_words(difference.subset)
    return summary_line(difference, name=column.name, questions=questions)
