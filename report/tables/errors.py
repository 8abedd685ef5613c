"""Items by what went wrong with them, where answers were lost, and the ceilings."""

from collections.abc import Iterator, Sequence
from typing import Any

from branchwise.eval.ceilings import LOSSES, ceiling_metrics
from branchwise.eval.errors.labels import ErrorClasses, ErrorType
from branchwise.report.figures.errors import (
    AnyError,
    ErrorCounts,
    error_counts,
    has_any,
    inexact_words,
)
from branchwise.report.figures.lines import CEILING_PLACES
from branchwise.report.figures.losses import MISSING_KINDS, WRONG_KINDS, LossKind
from branchwise.report.study_report import StudyReport
from branchwise.report.table import (
    CellValue,
    Table,
    TableColumn,
    count_columns,
    subset_column,
    system_column,
)

_SEVERAL = "An item is a question in one epoch; it may have several errors, each counted."
_UNUSED = "What no item has is left out."
_Counted = Sequence[tuple[str, str, ErrorCounts]]
"""System, subset, and its items by error."""


def error_tables(report: StudyReport) -> Iterator[Table]:
    """Shares by class of error, counts by type; nothing for tasks whose answers are sentences."""
    counted = [
        (name, report.called(subset), error_counts(run, subset))
        for subset in report.subsets
        for name, run in report.examined
    ]
    if classes := report.error_classes:
        yield _shares(report, classes, counted)
        yield _items(report, classes, counted)


def _shares(report: StudyReport, classes: ErrorClasses[Any], counted: _Counted) -> Table:
    every = [counts for *_, counts in counted]
    columns: list[TableColumn] = []
    errors: list[AnyError] = []
    for group in classes.classes:
        is_used = any(has_any(error, every) for error in group.shown)
        for error in group.shown:
            by = "" if error is group else f"{error.title}, "
            errors.append(error)
            columns += [
                TableColumn(
                    f"{error.key}_of_{key}", f"{by}{title}", printed=shown, group=group.title
                )
                for key, title, shown in (
                    ("inexact", "of not exact", is_used),
                    ("all", "of all", is_used and not by),
                )
            ]
    rows = [
        [share for error in errors for share in (counts.of_inexact(error), counts.of_all(error))]
        for counts in every
    ]
    notes = (f"Shares of items. {inexact_words(report.task)}", _SEVERAL, *classes.says)
    return _error_table(("errors", "Errors by class"), counted, columns, rows, notes)


def _items(report: StudyReport, classes: ErrorClasses[Any], counted: _Counted) -> Table:
    every = [counts for *_, counts in counted]
    columns: list[TableColumn] = []
    types: list[ErrorType[Any]] = []
    for group in classes.classes:
        for error in group.counted:
            key, is_used = f"items_{error.key}", error in group.types and has_any(error, every)
            types.append(error)
            columns += [
                TableColumn(key, error.title, "count", printed=is_used, group=group.title),
                TableColumn(f"{key}_inexact", f"{error.title}, not exact", "count", printed=False),
            ]
    rows: list[list[CellValue]] = []
    for counts in every:
        row: list[CellValue] = []
        for error in types:
            # None where it is known of none.
            known = counts.known[error.key] or not counts.items
            inexact_known = counts.inexact_known[error.key] or not counts.inexact
            row.append(counts.with_error[error.key] if known else None)
            row.append(counts.inexact_with[error.key] if inexact_known else None)
        rows.append(row)
    notes = (inexact_words(report.task), _SEVERAL, _UNUSED)
    return _error_table(("items", "Items with something wrong"), counted, columns, rows, notes)


def _error_table(
    named: tuple[str, str],
    counted: _Counted,
    columns: Sequence[TableColumn],
    values: Sequence[Sequence[CellValue]],
    notes: tuple[str, ...],
) -> Table:
    counts_of = count_columns(items="items", inexact="not exact")
    firsts = (system_column(), subset_column(), *counts_of)
    rows = tuple(
        (name, subset, counts.items, counts.inexact, *row)
        for (name, subset, counts), row in zip(counted, values, strict=True)
    )
    return Table(*named, (*firsts, *columns), rows, notes, section="errors")


def loss_tables(report: StudyReport) -> Iterator[Table]:
    """Missing answers and wrong answers by what went wrong, and the ceilings."""
    if report.analysed:
        title = "Gold answers: right, or lost where"
        firsts = {"gold": "gold answers", "right": "right", "missing": "missing"}
        yield _loss_table(report, "missing", title, firsts, MISSING_KINDS)
        yield _loss_table(report, "wrong", "Wrong answers", {"wrong": "wrong"}, WRONG_KINDS)
        yield ceilings_table(report)


def _loss_table(
    report: StudyReport, name: str, title: str, firsts: dict[str, str], kinds: Sequence[LossKind]
) -> Table:
    """`firsts`: keys and titles of the columns before the kinds."""
    rows: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for _, system, analysis in report.analysed:
            totals, right = analysis.errors.subsets[subset], analysis.right[subset]
            values = {"gold": right + totals.missing, "right": right}
            values |= {"missing": totals.missing, "wrong": totals.wrong}
            counts = [kind.count(totals) for kind in kinds]
            rows.append((system, report.called(subset), *map(values.get, firsts), *counts))
    columns = [system_column(), subset_column()]
    columns += count_columns(**firsts)
    notes = [
        "Answers are counted by branch, over all items (an item is a question in one epoch).",
        f"The columns after {name} add up to it; those without any are left out.",
    ]
    for kind in kinds:
        some = any(row[len(columns)] for row in rows)
        columns.append(TableColumn(f"{name}_{kind.key}", kind.words, "count", printed=some))
        notes += [kind.caution] if some and kind.caution else []
    return Table(name, title, tuple(columns), tuple(rows), tuple(notes))


def ceilings_table(report: StudyReport) -> Table:
    """What a perfect reader would have found at each place, and the losses in between."""
    recall = report.task.main
    narrow = {
        "ceiling_reach": "within\nreach",
        "ceiling_extracted": "extracted",
        recall.key: "the\nagent",
    }
    columns = [system_column(), subset_column(), TableColumn("n", "n", "count")]
    for key, title in (*CEILING_PLACES, (recall.key, "answered")):
        columns.append(TableColumn(key, title, heading=narrow.get(key, "")))
    for key, part in zip(LOSSES, ("retrieval", "extraction", "context", "reasoning"), strict=True):
        title, heading = f"lost in {part}", f"lost in\n{part}"
        columns.append(TableColumn(key, title, "value", printed=False, heading=heading))
    rows: list[tuple[CellValue, ...]] = []
    unknown: dict[str, None] = {}
    for subset in report.subsets:
        for _, name, analysis in report.analysed:
            own = analysis.ceilings.aggregates[subset]
            means = [own[key] for key in ceiling_metrics(recall.key)]
            rows.append((name, report.called(subset), own[recall.key].n, *means))
            unknown |= dict.fromkeys(analysis.ceilings.unknown)
    notes = (
        f"{recall.name.capitalize()} of a perfect reader of what the tools could have given, of "
        "what they returned, of what extraction left, of what the agent was shown; then the "
        "agent's own.",
        "A mention need not state an answer, so all but the last are upper bounds.",
        *unknown,
    )
    title = f"Ceilings of {recall.name}"
    return Table("ceilings", title, tuple(columns), tuple(rows), notes, section="ceilings")
