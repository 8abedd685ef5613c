"""Scores by a property of the question, and recall against what was spent."""

from collections.abc import Iterator

from branchwise.eval.ceilings.breakdowns import GROUPINGS
from branchwise.eval.ceilings.curves import Effort
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.losses import analysed
from branchwise.eval.reporting.tables.table import Cell, Column, Table, system_column

_CEILINGS = (("ceiling_retrieved", "retrieved"), ("ceiling_shown", "shown"))
_EFFORTS: tuple[tuple[Effort, str], ...] = (("calls", "tool calls"), ("tokens", "tokens"))


def breakdown_tables(report: StudyReport) -> Iterator[Table]:
    """A table for each property that questions have: branches, steps, operations, domain ..."""
    metrics = (*((column.key, column.title) for column in report.task.headline), *_CEILINGS)
    for name, grouping in GROUPINGS.items():
        found = [(system, analysis.breakdown(name)) for system, analysis in analysed(report)]
        if not any(breakdown.bins for _, breakdown in found):
            continue
        columns = (
            system_column(),
            Column(name, grouping.words, "text"),
            Column("questions", "n", "count"),
            Column("items", "items", "count", printed=False),
            *(Column(key, title) for key, title in metrics),
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (system, one.label, one.questions, one.items, *(one.aggregates[k] for k, _ in metrics))
            for system, breakdown in found
            for one in breakdown.bins
        )
        note = "Retrieved, shown: recall of a perfect reader of what was."
        printed = len({row[1] for row in rows}) > 1  # else it repeats the main results
        yield Table(f"by-{name}", f"By {grouping.words}", columns, rows, (note,), printed)


def curve_tables(report: StudyReport) -> Iterator[Table]:
    """Recall of a perfect reader over what was retrieved so far; for files only."""
    for by, words in _EFFORTS:
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (system, point.effort, point.recall, point.searching)
            for system, analysis in analysed(report)
            for point in analysis.curve(by).points
        )
        if not rows:
            continue
        columns = (
            system_column(),
            Column(by, words, "count"),
            Column("recall", "recall"),
            Column("searching", "items still searching", "count"),
        )
        note = "Recall of a perfect reader over what was retrieved so far, all questions."
        title = f"Retrieved against {words}"
        yield Table(f"retrieved-by-{by}", title, columns, rows, (note,), printed=False)
