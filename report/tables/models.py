"""Several models: a row each, and a group of columns for each setting."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from branchwise.base.numbers import number
from branchwise.eval.comparison import SIGNIFICANT, Comparison
from branchwise.eval.tasks import Column as Metric
from branchwise.report.model_grid import ModelGrid, change_grid, system_grid
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.tables.table import (
    CellValue,
    ChangeCell,
    PageSection,
    Table,
    TableColumn,
    subset_column,
)
from branchwise.runs.studies.names import slugs

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
