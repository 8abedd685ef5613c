"""What each system changes against its base."""

from collections.abc import Iterator
from dataclasses import replace

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.comparison import ScoreDifference
from branchwise.report.figures.changes import total_notes
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.table import (
    OF_INTERVALS,
    CellValue,
    Table,
    TableColumn,
    subset_column,
    system_column,
)

DIFFERENCE_NOTES = (
    "A difference is the system's mean less the base's, over the questions that both have.",
    f"{OF_INTERVALS}: Student's paired 95% interval.",
    "p: exact McNemar test for EM, else a permutation test of the mean difference.",
)
_HOLM = "p is corrected by Holm's method over the systems that are compared with the base."
_HOLM_OF_ALL = "p is corrected by Holm's method over the comparisons of all models together."


def change_tables(report: StudyReport) -> Iterator[Table]:
    """The main metrics, then everything; nothing without a comparison."""
    if report.comparisons:
        yield changes_table(report)
        yield differences_table(report)


def changes_table(report: StudyReport) -> Table:
    """The main metrics side by side: difference with its interval, then p after Holm."""
    metrics = report.compared
    columns = [system_column(), subset_column(), TableColumn("n", "n", "count")]
    for metric in metrics:
        columns.append(TableColumn(metric.key, metric.title, "change", metric.digits))
        columns.append(TableColumn(f"{metric.key}_p_holm", "p", "p", 3))
    rows: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for name, comparison in report.comparisons.items():
            found = [comparison.find(metric.key, subset) for metric in metrics]
            cells = [cell for one in found for cell in (difference_cell(one), one.corrected_p)]
            rows.append((name, report.called(subset), max(one.n for one in found), *cells))
    title = f"Changes against {report.base_words}"
    table = Table("changes", title, tuple(columns), tuple(rows), _notes(report), section="changes")
    return _with_words(report, table)


def differences_table(report: StudyReport) -> Table:
    """Every metric, one difference a row, with all its details."""
    columns = (
        system_column(),
        subset_column(),
        TableColumn("metric", "metric", "text"),
        TableColumn("base", "base", "value"),
        TableColumn("other", "system's", "value"),
        TableColumn("difference", "difference", "change"),
        TableColumn("p", "p", "p", 3),
        TableColumn("p_holm", "p after Holm", "p", 3),
        TableColumn("family", "tests corrected for", "count"),
        TableColumn("test", "test", "text"),
        TableColumn("higher", "questions higher", "count"),
        TableColumn("lower", "lower", "count"),
        TableColumn("same", "the same", "count"),
        TableColumn("left_out", "left out", "count"),
    )
    rows = tuple(
        _difference_row(name, report.called(found.subset), found)
        for name, comparison in report.comparisons.items()
        for found in comparison.differences
    )
    title = f"All differences to {report.base_words}"
    table = Table("differences", title, columns, rows, _notes(report), printed=False, section=None)
    return _with_words(report, table)


def _with_words(report: StudyReport, table: Table) -> Table:
    """For programs, what must be kept in mind of each row, which readers find in the notes; and
    what its system is compared with, where that is not the same for all."""
    said = {name: "; ".join(found.cautions) for name, found in report.comparisons.items()}
    columns = [TableColumn("cautions", "to be kept in mind", "text", printed=False)]
    words = {name: [cautions or None] for name, cautions in said.items()}
    if len(report.bases) > 1:
        columns.append(TableColumn("against", "compared with", "text", printed=False))
        words = {one.name: [*words.get(one.name, ()), one.base] for one in report.systems}
    rows = tuple((*row, *words[str(row[0])]) for row in table.rows)
    return replace(table, columns=(*table.columns, *columns), rows=rows)


def difference_cell(found: ScoreDifference) -> Aggregate:
    """A difference with its interval."""
    return Aggregate(found.difference, found.n, found.low, found.high)


def _difference_row(name: str, subset: str, found: ScoreDifference) -> tuple[CellValue, ...]:
    return (
        name,
        subset,
        found.metric,
        found.base,
        found.other,
        difference_cell(found),
        found.p,
        found.p_holm,
        found.family,
        found.test,
        found.higher,
        found.lower,
        found.same,
        found.left_out.total,
    )


def _notes(report: StudyReport) -> tuple[str, ...]:
    over = _HOLM if len(report.bases) == 1 else _HOLM_OF_ALL
    holm = (over,) if len(report.comparisons) > 1 else ()
    return (*DIFFERENCE_NOTES, *total_notes(report), *holm, *report.cautions)
