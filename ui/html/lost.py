"""Where the gold answers of a system are: right, or lost at one place of the way."""

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.eval.errors.labels import Label
from branchwise.eval.reporting.fates import MISSING_KINDS, right_answers
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.ui.html.systems import system_name
from branchwise.ui.html.tables import Row, Table, text_row
from branchwise.ui.html.text import percent

RIGHT = "right"
PLACES = tuple(kind.words for kind in MISSING_KINDS)
"""Where a gold answer can be lost, the last place of its way first."""

LABELS = {
    Label.INCOMPLETE_EXTRACTION: "an answer was never retrieved",
    Label.MISSING_BRANCH: "nothing of a branch was retrieved",
    Label.INCORRECT_REASONING: "an answer was retrieved, but not given",
    Label.WRONG_BRANCH: "a right answer under the wrong branch",
    Label.UNSUPPORTED_ANSWER: "a wrong answer that no evidence mentions",
    Label.WRONG_TOOL_CALL: "a tool call brought nothing",
    Label.FORMAT_ERROR: "the answer could not be read",
    Label.BUDGET_SPENT: "the budget was spent",
}
"""Error labels in a few words; `Label.definition` has them whole."""


@dataclass(frozen=True)
class Losses:
    """Gold answers of a system, all branches and items together; `lost` as `PLACES`."""

    gold: int
    right: int
    lost: tuple[int, ...]

    @property
    def parts(self) -> list[tuple[int, str]]:
        """Count and place of what is lost."""
        return list(zip(self.lost, PLACES, strict=True))


def losses(system: SystemReport) -> Losses | None:
    """None for tasks whose answers are sentences, and without gold."""
    analysis = system.run.analysis
    if analysis is None:
        return None
    found, right = analysis.errors.subsets["all"], right_answers(analysis, "all")
    if not right + found.missing:
        return None
    lost = tuple(kind.count(found) for kind in MISSING_KINDS)
    return Losses(right + found.missing, right, lost)


def lost_table(report: StudyReport) -> Table:
    """Systems beside each other, places below."""
    named = [(system_name(system), losses(system)) for system in report.systems]
    known = [(name, found) for name, found in named if found]
    rows = [text_row("gold answers", [f"{found.gold:,}" for _, found in known])]
    rows.append(_share_row(RIGHT, [(found.right, found.gold) for _, found in known]))
    for index, place in enumerate(PLACES):
        counts = [(found.lost[index], found.gold) for _, found in known]
        if any(count for count, _ in counts):
            rows.append(_share_row(place, counts))
    return Table("Gold answers", ("", *(name for name, _ in known)), tuple(rows))


def label_table(report: StudyReport) -> Table:
    """Items of each system that have an error label."""
    known = [(system_name(one), one.run.analysis) for one in report.systems if one.run.analysis]
    totals = [analysis.errors.subsets["all"] for _, analysis in known]
    rows = [text_row("items", [f"{found.items:,}" for found in totals])]
    for label, words in LABELS.items():
        counts = [(found.labels[label].items, found.items) for found in totals]
        rows.append(_share_row(words, counts))
    return Table(
        "Items with an error of each kind",
        ("", *(name for name, _ in known)),
        tuple(rows),
        notes=("An item may have several kinds. A kind is counted once for an item.",),
    )


def _share_row(words: str, counts: Sequence[tuple[int, int]]) -> Row:
    return text_row(words, [f"{count:,} ({percent(count, whole)})" for count, whole in counts])
