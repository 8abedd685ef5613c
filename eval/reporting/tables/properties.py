"""Scores by a property of the question, and recall against what was spent."""

from collections.abc import Iterator

from branchwise.eval.ceilings.breakdowns import Breakdown, groupings_of
from branchwise.eval.ceilings.curves import Effort
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.table import (
    CellValue,
    PageSection,
    Table,
    TableColumn,
    system_column,
)

_CEILINGS = (("ceiling_retrieved", "retrieved", ""), ("ceiling_shown", "shown", ""))
_CEILINGS_SAY = "Retrieved, shown: recall of a perfect reader of what was."
_EFFORTS: tuple[tuple[Effort, str], ...] = (("calls", "tool calls"), ("tokens", "tokens"))


def breakdown_tables(report: StudyReport) -> Iterator[Table]:
    """A table for each property that questions have: branches, steps, operations, domain ..."""
    yield from (breakdown_table(report, name) for name in groupings_of(report.task))


def breakdown_table(report: StudyReport, name: str) -> Table:
    """The headline metrics in the bins of a property that the task is broken down by; without rows
    where no question has it."""
    grouping = groupings_of(report.task)[name]
    headline = ((one.key, one.title, one.heading) for one in report.task.headline)
    metrics = (*headline, *(_CEILINGS if report.analysed else ()))
    columns = (
        system_column(),
        TableColumn(name, grouping.words, "text", is_key=True),
        TableColumn("questions", "n", "count"),
        TableColumn("items", "items", "count", printed=False),
        *(TableColumn(key, title, heading=heading) for key, title, heading in metrics),
    )
    rows: tuple[tuple[CellValue, ...], ...] = tuple(
        (system, one.label, one.questions, one.items, *(one.aggregates[k] for k, _, _ in metrics))
        for system, found in _broken_down(report, name)
        for one in found.bins
    )
    notes = (_CEILINGS_SAY,) if report.analysed else ()
    printed = len({row[1] for row in rows}) > 1  # else it repeats the main results
    title = f"By {grouping.words}"
    section: PageSection | None = "more" if printed else None
    return Table(f"by-{name}", title, columns, rows, notes, printed, section)


def _broken_down(report: StudyReport, name: str) -> Iterator[tuple[str, Breakdown]]:
    """Name and breakdown of each system; of entities, where the items have traces."""
    for system in report.systems:
        has_any = system.run.analysis or not report.task.is_attributable
        if has_any and (found := system.run.breakdown(name)):
            yield system.name, found


def curve_tables(report: StudyReport) -> Iterator[Table]:
    """Recall of a perfect reader over what was retrieved so far; for files only."""
    for by, words in _EFFORTS:
        rows: tuple[tuple[CellValue, ...], ...] = tuple(
            (system, point.effort, point.recall, point.searching)
            for _, system, analysis in report.analysed
            for point in analysis.curve(by).points
        )
        columns = (
            system_column(),
            TableColumn(by, words, "count"),
            TableColumn("recall", "recall"),
            TableColumn("searching", "items still searching", "count"),
        )
        note = "Recall of a perfect reader over what was retrieved so far, all questions."
        title = f"Retrieved against {words}"
        yield Table(f"retrieved-by-{by}", title, columns, rows, (note,), False, None)
