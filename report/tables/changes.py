"""What each system changes against its base, and models by settings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from branchwise.base.numbers import number
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.comparison import SIGNIFICANT, Comparison, ScoreDifference
from branchwise.eval.tasks import Column as Metric
from branchwise.report.figures.changes import ModelGrid, change_grid, system_grid, total_notes
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import (
    METRIC,
    OF_INTERVALS,
    P_HOLM,
    CellValue,
    ChangeCell,
    Table,
    TableColumn,
    count_columns,
    subset_column,
    system_column,
)
from branchwise.runs.studies.names import slugs

T = TypeVar("T")
DIFFERENCE_NOTES = (
    "A difference is the system's mean less the base's, over the questions that both have.",
    f"{OF_INTERVALS}: Student's paired 95% interval.",
    "p: exact McNemar test for EM, else a permutation test of the mean difference.",
)
HOLM = "p is corrected by Holm's method over the systems that are compared with the base."
_HOLM_OF_ALL = "p is corrected by Holm's method over the comparisons of all models together."


def change_tables(report: StudyReport) -> Iterator[Table]:
    """The main metrics, then everything; nothing without a comparison."""
    if report.comparisons:
        yield changes_table(report)
        yield _differences_table(report)


def changes_table(report: StudyReport) -> Table:
    """The main metrics side by side: difference with its interval, then p after Holm."""
    columns = (
        system_column(),
        subset_column(),
        TableColumn("n", "n", "count"),
        *change_columns(report.compared),
    )
    rows: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for name, comparison in report.comparisons.items():
            differences = [comparison.find(metric.key, subset) for metric in report.compared]
            rows.append((name, report.called(subset), *change_cells(differences)))
    title = f"Changes against {report.base_words}"
    table = Table("changes", title, columns, tuple(rows), _notes(report), section="changes")
    return _with_words(report, table)


def change_columns(metrics: Sequence[Metric]) -> Iterator[TableColumn]:
    for metric in metrics:
        yield TableColumn(metric.key, metric.title, "change", metric.digits)
        yield TableColumn(f"{metric.key}{P_HOLM}", "p", "p", 3)


def change_cells(differences: Sequence[ScoreDifference]) -> Iterator[CellValue]:
    """The largest n, then the cells of `change_columns`."""
    yield max(difference.n for difference in differences)
    for difference in differences:
        yield Aggregate(difference.difference, difference.n, difference.low, difference.high)
        yield difference.corrected_p


def _differences_table(report: StudyReport) -> Table:
    """Every metric, one difference a row, with all its details."""
    after = (
        TableColumn("p", "p", "p", 3),
        TableColumn("p_holm", "p after Holm", "p", 3),
        TableColumn("family", "tests corrected for", "count"),
        TableColumn("test", "test", "text"),
        *count_columns(higher="questions higher", lower="lower", same="the same"),
    )
    columns = (
        system_column(),
        subset_column(),
        TableColumn(METRIC, "metric", "text"),
        TableColumn("base", "base", "value"),
        TableColumn("other", "system's", "value"),
        TableColumn("difference", "difference", "change"),
        *after,
        TableColumn("left_out", "left out", "count"),
    )
    rows: list[tuple[CellValue, ...]] = []
    for name, comparison in report.comparisons.items():
        for test in comparison.differences:
            difference = Aggregate(test.difference, test.n, test.low, test.high)
            means = (test.metric, test.base, test.other, difference)
            details = [getattr(test, column.key) for column in after]
            rows.append((name, report.called(test.subset), *means, *details, test.left_out.total))
    title, notes = f"All differences to {report.base_words}", _notes(report)
    table = Table("differences", title, columns, tuple(rows), notes, printed=False, section=None)
    return _with_words(report, table)


def _with_words(report: StudyReport, table: Table) -> Table:
    """For programs, what must be kept in mind of each row, and what it is compared with."""
    columns = [TableColumn("cautions", "to be kept in mind", "text", printed=False)]
    words: dict[str, list[CellValue]] = {
        name: ["; ".join(comparison.cautions) or None]
        for name, comparison in report.comparisons.items()
    }
    if len(report.bases) > 1:
        columns.append(TableColumn("against", "compared with", "text", printed=False))
        words = {
            system.name: [*words.get(system.name, ()), system.base] for system in report.systems
        }
    rows = tuple((*row, *words[str(row[0])]) for row in table.rows)
    return replace(table, columns=(*table.columns, *columns), rows=rows)


def _notes(report: StudyReport) -> tuple[str, ...]:
    over = HOLM if len(report.bases) == 1 else _HOLM_OF_ALL
    holm = (over,) if len(report.comparisons) > 1 else ()
    return (*DIFFERENCE_NOTES, *total_notes(report), *holm, *report.cautions)


_MEANS = "Means over questions; their intervals are with the results."
_CHANGES = (
    "Differences to the base of the same model, over the questions that both have; their intervals "
    "are with the changes.",
    f"▲, ▼: p below {number(SIGNIFICANT)} after Holm's correction.",
)


def model_tables(report: StudyReport) -> Iterator[Table]:
    """Where there are several models: a row a model, a group of columns a setting."""

    def mean(system: SystemReport, metric: str, subset: str) -> float | None:
        return system.mean(metric, subset).mean

    if grid := system_grid(report):
        for table, metrics in _grid_tables(report, grid, mean):
            notes = (_MEANS, *(metric.note for metric in metrics if metric.note))
            title = f"Models and settings: {', '.join(metric.title for metric in metrics)}"
            name = f"models{table.name}"
            yield replace(table, name=name, title=title, notes=notes, section="scores")


def model_change_tables(report: StudyReport) -> Iterator[Table]:
    """The same as changes against the base of each model."""

    def change(comparison: Comparison, metric: str, subset: str) -> ChangeCell:
        difference = comparison.find(metric, subset)
        return ChangeCell(difference.difference, difference.corrected_p)

    if grid := change_grid(report):
        for table, metrics in _grid_tables(report, grid, change):
            keys, values = table.columns[:2], table.columns[2:]
            columns = (*keys, *(replace(value, unit="change") for value in values))
            notes = (*_CHANGES, *report.cautions)
            titles = ", ".join(metric.title for metric in metrics)
            title = f"Changes by model and setting: {titles}"
            name = f"model-changes{table.name}"
            table = replace(table, name=name, title=title, columns=columns, notes=notes)
            yield replace(table, section="changes")


def _grid_tables(
    report: StudyReport, grid: ModelGrid[T], value: Callable[[T, str, str], CellValue]
) -> Iterator[tuple[Table, Sequence[Metric]]]:
    """With the end of the table's name for its name, and the metrics in it."""
    headline = report.task.headline
    beside = [
        column
        for column in report.task.columns
        if column.table == headline[0].table and not column.role
    ]
    for end, metrics in (("", headline), ("-more", beside)):
        columns = [TableColumn("model", "model", "text", is_key=True), subset_column()]
        for slug, setting in zip(slugs(grid.settings), grid.settings, strict=True):
            for metric in metrics:
                key, title = f"{slug}_{metric.key}", metric.short or metric.title
                columns.append(TableColumn(key, title, metric.unit, metric.digits, group=setting))
        rows: list[tuple[CellValue, ...]] = []
        for subset in report.subsets:
            for model in grid.models:
                row: list[CellValue] = [model, report.called(subset)]
                for setting in grid.settings:
                    of = grid.cells.get((model, setting))
                    row += [
                        None if of is None else value(of, metric.key, subset) for metric in metrics
                    ]
                rows.append(tuple(row))
        if metrics:
            yield Table(end, "", tuple(columns), tuple(rows)), metrics
