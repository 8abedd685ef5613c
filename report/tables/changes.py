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
    OF_INTERVALS,
    CellValue,
    ChangeCell,
    PageSection,
    Table,
    TableColumn,
    subset_column,
    system_column,
)
from branchwise.runs.studies.names import slugs

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


T = TypeVar("T")
_MEANS = "Means over questions; their intervals are with the results."
_CHANGES = (
    "Differences to the base of the same model, over the questions that both have; their intervals "
    "are with the changes.",
    f"▲, ▼: p below {number(SIGNIFICANT)} after Holm's correction.",
)


def model_tables(report: StudyReport) -> Iterator[Table]:
    """Where there are several models: the headline metrics, then those that stand beside them."""
    if grid := system_grid(report):
        for name, metrics in _metrics(report):
            named = f"models{name}", f"Models and settings: {_titles(metrics)}"
            notes = (_MEANS, *(one.note for one in metrics if one.note))
            columns = _columns(grid.settings, metrics)
            yield _table(report, named, grid, metrics, columns, _mean, notes, "scores")


def model_change_tables(report: StudyReport) -> Iterator[Table]:
    """The same as changes against the base of each model."""
    if grid := change_grid(report):
        for name, metrics in _metrics(report):
            named = f"model-changes{name}", f"Changes by model and setting: {_titles(metrics)}"
            columns = [replace(one, unit="change") for one in _columns(grid.settings, metrics)]
            notes = (*_CHANGES, *report.cautions)
            yield _table(report, named, grid, metrics, columns, _change, notes, "changes")


def _metrics(report: StudyReport) -> Iterator[tuple[str, Sequence[Metric]]]:
    """With what the names of their tables end in."""
    headline = report.task.headline
    yield "", headline
    beside = [one for one in report.task.columns if one.table == headline[0].table and not one.role]
    if beside:
        yield "-more", beside


def _titles(metrics: Sequence[Metric]) -> str:
    return ", ".join(one.title for one in metrics)


def _columns(settings: Sequence[str], metrics: Sequence[Metric]) -> list[TableColumn]:
    return [
        TableColumn(
            f"{slug}_{one.key}", one.short or one.title, one.unit, one.digits, group=setting
        )
        for slug, setting in zip(slugs(settings), settings, strict=True)
        for one in metrics
    ]


def _mean(system: SystemReport, metric: str, subset: str) -> float | None:
    return system.mean(metric, subset).mean


def _change(comparison: Comparison, metric: str, subset: str) -> ChangeCell:
    found = comparison.find(metric, subset)
    return ChangeCell(found.difference, found.corrected_p)


def _table(
    report: StudyReport,
    named: tuple[str, str],
    grid: ModelGrid[T],
    metrics: Sequence[Metric],
    columns: Sequence[TableColumn],
    value: Callable[[T, str, str], CellValue],
    notes: tuple[str, ...],
    section: PageSection,
) -> Table:
    keys = (TableColumn("model", "model", "text", is_key=True), subset_column())
    rows: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for model in grid.models:
            found = [grid.cells.get((model, setting)) for setting in grid.settings]
            cells = (
                None if one is None else value(one, metric.key, subset)
                for one in found
                for metric in metrics
            )
            rows.append((model, report.called(subset), *cells))
    return Table(*named, (*keys, *columns), tuple(rows), notes, section=section)
