"""Where the gold answers are: right, or lost at one place of their way."""

from dataclasses import dataclass

from branchwise.base.numbers import percent
from branchwise.report.loss_kinds import MISSING_KINDS, PERHAPS
from branchwise.report.study_report import StudyReport

PLACES = ("right", *(kind.words for kind in MISSING_KINDS))
"""Where a gold answer can be: right, or lost, the last place of its way first."""


@dataclass(frozen=True)
class Bar:
    """A system's number in the report, its name, and its gold answers in each of `PLACES`."""

    index: int
    name: str
    counts: tuple[int, ...]

    @property
    def gold(self) -> int:
        """All of them."""
        return sum(self.counts)

    @property
    def lost(self) -> list[tuple[int, str]]:
        """Count and place of what is not right."""
        return list(zip(self.counts[1:], PLACES[1:], strict=True))

    @property
    def caution(self) -> str:
        """What limits these numbers, in a sentence; empty where nothing does."""
        return PERHAPS.caution if self.counts[1 + MISSING_KINDS.index(PERHAPS)] else ""


@dataclass(frozen=True)
class Losses:
    """The gold answers of a subset's items, all of their branches."""

    subset: str
    bars: tuple[Bar, ...]

    @property
    def used(self) -> list[int]:
        """The numbers of the places where any system has an answer."""
        return [n for n in range(len(PLACES)) if any(bar.counts[n] for bar in self.bars)]


def losses(report: StudyReport, subset: str) -> Losses | None:
    """None for tasks whose answers are sentences, and without gold."""
    bars = []
    for index, name, analysis in report.analysed:
        found = analysis.errors.subsets[subset]
        lost = (kind.count(found) for kind in MISSING_KINDS)
        bars.append(Bar(index, name, (analysis.right[subset], *lost)))
    return Losses(subset, tuple(bars)) if any(bar.gold for bar in bars) else None


def absent_gold(report: StudyReport) -> list[tuple[str, str]]:
    """System and sentence, for those whose corpus lacks gold answers: how many. No search brings
    them, so it is said before all that depends on it."""
    return [
        (name, f"{percent(share, 1)} of gold is nowhere in this corpus (mean over questions)")
        for _, name, analysis in report.analysed
        if (share := analysis.absent)
    ]
