"""The report in words: what each change does, what it costs, and what still goes wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.base.numbers import interval, number, p_value, signed
from branchwise.base.text import counted
from branchwise.eval.comparison import SIGNIFICANT, ScoreDifference, summary_line
from branchwise.eval.tasks import Column
from branchwise.report.figures.cost import ratio_words, spending
from branchwise.report.figures.losses import absent_gold, losses
from branchwise.report.html.tables import MAX_NAME, short
from branchwise.report.study_report import StudyReport, SystemReport

_VERDICTS = {
    "better": ("▲", "better, by more than chance"),
    "worse": ("▼", "worse, by more than chance"),
    "unclear": ("≈", "may be chance"),
    "same": ("=", "the same on every question"),
    "none": ("·", "nothing to compare"),
}


@dataclass(frozen=True)
class Finding:
    """A system against its base: its main difference, then the others, each with a verdict."""

    system: str
    verdict: str
    headline: str
    others: tuple[tuple[str, str], ...]
    cautions: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        return _VERDICTS[self.verdict][0]

    @property
    def meaning(self) -> str:
        return _VERDICTS[self.verdict][1]


def verdict(difference: ScoreDifference) -> str:
    """A key of `_VERDICTS`: better or worse where the corrected p-value is below .05."""
    if difference.difference is None:
        return "none"
    if not difference.higher + difference.lower:
        return "same"
    p = difference.corrected_p
    if p is None or p >= SIGNIFICANT:
        return "unclear"
    return "better" if difference.difference > 0 else "worse"


def findings(report: StudyReport) -> list[Finding]:
    def line(difference: ScoreDifference, column: Column) -> str:
        questions = report.task.questions_words(difference.subset)
        return summary_line(difference, name=column.name, questions=questions)

    main, subset = report.task.main, report.subsets[0]
    others = [(main, part) for part in report.parts if part != subset]
    # Of a factorial study what the factors are worth says more, and stands first.
    others += [
        (column, "all" if column.role == "exact" else subset)
        for column in _recall_first(report)
        if column is not main and not report.effects
    ]
    made = []
    for system in report.systems:
        if compared := report.comparisons.get(system.name):
            headline = compared.find(main.key, subset)
            spent = ratio_words(report, system)
            if spent is None and spending(report) is None:
                spent = "cost unknown"
            words = line(headline, main) + (f", {spent}" if spent else "")
            named = [(column, compared.find(column.key, part)) for column, part in others]
            lines = tuple((verdict(own), line(own, column)) for column, own in named if own.n)
            cautions = tuple(map(short, compared.cautions))
            name = short(system.name, MAX_NAME)
            made.append(Finding(name, verdict(headline), words, lines, cautions))
    return made


def main_effects(report: StudyReport) -> list[Finding]:
    """What each level of a factor is worth over the levels of the others, on the main questions."""
    columns = {column.key: column for column in _recall_first(report)}
    lines: dict[str, dict[str, tuple[str, str]]] = {}
    for effect in report.effects:
        if len(effect.changes) > 1 or effect.subset != report.subsets[0]:
            continue
        if effect.difference is None or effect.metric not in columns:
            continue
        questions = report.task.questions_words(effect.subset)
        ends = interval(effect.low, effect.high)
        p = "no test" if effect.p_holm is None else f"{p_value(effect.p_holm)} after Holm"
        change = f"{signed(effect.difference)} {ends}".strip()
        words = f"{columns[effect.metric].name} on {questions} {change} ({p}, n = {effect.n})"
        is_same = effect.difference == 0 and effect.low == effect.high
        sure = effect.p_holm is not None and effect.p_holm < SIGNIFICANT
        sign = "better" if effect.difference > 0 else "worse"
        kind = "same" if is_same else sign if sure else "unclear"
        name = f"{effect.group}: {effect.name}" if effect.group else effect.name
        lines.setdefault(name, {})[effect.metric] = (kind, words)
    made = []
    for name, own in lines.items():
        first, *others = (own[key] for key in columns if key in own)
        made.append(Finding(short(name, MAX_NAME), *first, tuple(others)))
    return made


def _recall_first(report: StudyReport) -> list[Column]:
    """The main metrics, of those that are the same for every question one."""
    ordered = sorted(report.task.headline, key=lambda column: column.role != "recall")
    groups = {column.key: own for own in report.alike for column in own}
    firsts = {groups.get(column.key): column for column in reversed(ordered)}
    return [column for column in ordered if firsts[groups.get(column.key)] is column]


def shared_cautions(made: Sequence[Finding], inert: Sequence[Sequence[str]]) -> list[str]:
    """What must be kept in mind of every system alike, to be said once."""
    every = [set(finding.cautions) for finding in made]
    first = made[0].cautions if len(made) > 1 else ()
    return [caution for caution in first if all(caution in own for own in (*every, *inert))]


def base_words(report: StudyReport, base: SystemReport) -> list[str]:
    """Where a base stands: its main metrics on each subset."""
    lines = []
    for subset in report.parts:
        means = [(column, base.mean(column.key, subset)) for column in _recall_first(report)]
        words = ", ".join(
            f"{column.name} {number(mean.mean)} {interval(mean.low, mean.high)}".strip()
            for column, mean in means
        )
        n = base.scores.questions(subset)
        lines.append(f"{words} on {report.task.counted_questions(n, subset)}")
    return lines


def still_wrong(report: StudyReport) -> tuple[list[tuple[str, str]], str]:
    """System and sentence: how many gold answers it lost, and where; then what limits that."""
    lost = losses(report, "all")
    sentences = []
    for bar in lost.bars if lost else ():
        counts = f"{bar.lost:,} of {bar.gold:,} gold answers are missing{bar.where_lost}."
        sentences.append((short(bar.name, MAX_NAME), counts))
    return sentences, lost.caution if lost else ""


def warnings(report: StudyReport) -> list[str]:
    """What limits the numbers: gold that the corpus lacks, unscored items, unequal questions."""
    lines = [f"{short(name, MAX_NAME)}: {words}." for name, words in absent_gold(report)]
    for system in report.systems:
        counts, name = system.scores.counts, short(system.name, MAX_NAME)
        if counts.pending:
            lines.append(f"{name}: {counts.pending:,} items have not ended and are not counted.")
        if counts.failed:
            of = counted(counts.items, "item")
            lines.append(f"{name}: {counts.failed:,} of {of} failed; each is 0.")
    asked = {frozenset(item.id for item in system.scores.items) for system in report.systems}
    if len(asked) > 1:
        lines.append(
            "The systems did not answer the same questions: differences are taken over those that "
            "both have, means over those of each."
        )
    return lines
