"""Items by what went wrong with them: shares by class of error, counts by type."""

from collections.abc import Iterator, Sequence
from typing import Any

from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType
from branchwise.report.error_counts import (
    ErrorCounts,
    error_counts,
    found_in,
    inexact_words,
)
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.table import (
    CellValue,
    Table,
    TableColumn,
    subset_column,
    system_column,
)

_SEVERAL = "An item is a question in one epoch; it may have several errors, each counted."
_UNUSED = "What no item has is left out."
_Counted = Sequence[tuple[str, str, ErrorCounts]]
"""System, subset, and its items by error."""


def error_tables(report: StudyReport) -> Iterator[Table]:
    """Nothing for tasks whose answers are sentences."""
    counted = [
        (name, report.called(subset), error_counts(run, subset))
        for subset in report.subsets
        for _, name, run in report.examined
    ]
    if classes := report.error_classes:
        yield _shares(report, classes, counted)
        yield _items(report, classes, counted)


def _shares(report: StudyReport, classes: ErrorClasses[Any], counted: _Counted) -> Table:
    counts = [found for *_, found in counted]
    columns: list[TableColumn] = []
    kinds: list[ErrorClass[Any] | ErrorType[Any]] = []
    for group in classes.classes:
        is_used = any(found_in(one, counts) for one in group.shown)
        for one in group.shown:
            by = "" if one is group else f"{one.title}, "
            kinds.append(one)
            columns += [
                TableColumn(f"{one.key}_of_{key}", f"{by}{title}", printed=shown, group=group.title)
                for key, title, shown in (
                    ("inexact", "of not exact", is_used),
                    ("all", "of all", is_used and not by),
                )
            ]
    rows = [
        [share for one in kinds for share in (found.of_inexact(one), found.of_all(one))]
        for found in counts
    ]
    notes = (f"Shares of items. {inexact_words(report.task)}", _SEVERAL, *classes.says)
    return _table(("errors", "Errors by class"), counted, columns, rows, notes)


def _items(report: StudyReport, classes: ErrorClasses[Any], counted: _Counted) -> Table:
    counts, columns = [found for *_, found in counted], []
    kinds = [(group, one) for group in classes.classes for one in group.counted]
    for group, one in kinds:
        key, is_used = f"items_{one.key}", one in group.types and found_in(one, counts)
        columns += [
            TableColumn(key, one.title, "count", printed=is_used, group=group.title),
            TableColumn(f"{key}_inexact", f"{one.title}, not exact", "count", printed=False),
        ]
    rows = [[n for _, one in kinds for n in _counts(found, one)] for found in counts]
    notes = (inexact_words(report.task), _SEVERAL, _UNUSED)
    return _table(("items", "Items with something wrong"), counted, columns, rows, notes)


def _counts(found: ErrorCounts, kind: ErrorType[Any]) -> tuple[int | None, int | None]:
    """Of all items and of the inexact ones; None where it is known of none."""
    key = kind.key
    return (
        found.with_error[key] if found.known[key] or not found.items else None,
        found.inexact_with[key] if found.inexact_known[key] or not found.inexact else None,
    )


def _table(
    named: tuple[str, str],
    counted: _Counted,
    columns: Sequence[TableColumn],
    values: Sequence[Sequence[CellValue]],
    notes: tuple[str, ...],
) -> Table:
    firsts = (
        system_column(),
        subset_column(),
        TableColumn("items", "items", "count"),
        TableColumn("inexact", "not exact", "count"),
    )
    rows = tuple(
        (name, subset, found.items, found.inexact, *row)
        for (name, subset, found), row in zip(counted, values, strict=True)
    )
    return Table(*named, (*firsts, *columns), rows, notes, section="errors")
