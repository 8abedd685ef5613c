"""Items by what went wrong with them, where answers were lost, and the ceilings."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from branchwise.eval.ceilings import LOSSES, ceiling_metrics
from branchwise.eval.errors.item_errors import SubsetTotals
from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType
from branchwise.report.figures.errors import ErrorCounts, error_counts, found_in, inexact_words
from branchwise.report.figures.lines import CEILING_PLACES
from branchwise.report.figures.losses import MISSING_KINDS, WRONG_KINDS, LossKind
from branchwise.report.study_report import StudyReport
from branchwise.report.table import CellValue, Table, TableColumn, subset_column, system_column
from branchwise.runs.scoring.scored import Analysis

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


_COUNTED = "Answers are counted by branch, over all items (an item is a question in one epoch)."
_PLACES = ("retrieval", "extraction", "context", "reasoning")


def loss_tables(report: StudyReport) -> Iterator[Table]:
    """Missing answers and wrong answers by what went wrong, and the ceilings."""
    if not report.analysed:
        return

    def gold(analysis: Analysis, subset: str, found: SubsetTotals) -> list[int]:
        right = analysis.right[subset]
        return [right + found.missing, right, found.missing]

    yield _loss_table(
        report,
        ("missing", "Gold answers: right, or lost where"),
        [("gold", "gold answers"), ("right", "right"), ("missing", "missing")],
        gold,
        MISSING_KINDS,
        "The columns after missing add up to it; those without any are left out.",
    )
    yield _loss_table(
        report,
        ("wrong", "Wrong answers"),
        [("wrong", "wrong")],
        lambda analysis, subset, found: [found.wrong],
        WRONG_KINDS,
        "The columns after wrong add up to it; those without any are left out.",
    )
    yield ceilings_table(report)


def _loss_table(
    report: StudyReport,
    named: tuple[str, str],
    firsts: Sequence[tuple[str, str]],
    first_values: Callable[[Analysis, str, SubsetTotals], list[int]],
    kinds: Sequence[LossKind],
    note: str,
) -> Table:
    rows: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for _, name, analysis in report.analysed:
            found = analysis.errors.subsets[subset]
            counts = [kind.count(found) for kind in kinds]
            rows.append(
                (name, report.called(subset), *first_values(analysis, subset, found), *counts)
            )
    columns = [system_column(), subset_column()]
    columns += [TableColumn(key, title, "count") for key, title in firsts]
    notes = [_COUNTED, note]
    for kind in kinds:
        some = any(row[len(columns)] for row in rows)
        columns.append(TableColumn(f"{named[0]}_{kind.key}", kind.words, "count", printed=some))
        notes += [kind.caution] if some and kind.caution else []
    return Table(*named, tuple(columns), tuple(rows), tuple(notes))


def ceilings_table(report: StudyReport) -> Table:
    """What a perfect reader would have found at each place, and the losses in between."""
    recall = report.task.main
    shares = (*CEILING_PLACES, (recall.key, "answered"))
    narrow = {
        "ceiling_reach": "within\nreach",
        "ceiling_extracted": "extracted",
        recall.key: "the\nagent",
    }
    columns = (
        system_column(),
        subset_column(),
        TableColumn("n", "n", "count"),
        *(TableColumn(key, title, heading=narrow.get(key, "")) for key, title in shares),
        *(
            TableColumn(
                key, f"lost in {place}", "value", printed=False, heading=f"lost in\n{place}"
            )
            for key, place in zip(LOSSES, _PLACES, strict=True)
        ),
    )
    rows: list[tuple[CellValue, ...]] = []
    unknown: dict[str, None] = {}
    for subset in report.subsets:
        for _, name, analysis in report.analysed:
            found = analysis.ceilings.aggregates[subset]
            means = [found[key] for key in ceiling_metrics(recall.key)]
            rows.append((name, report.called(subset), found[recall.key].n, *means))
            unknown |= dict.fromkeys(analysis.ceilings.unknown)
    notes = (
        f"{recall.name.capitalize()} of a perfect reader of what the tools could have given, of "
        "what they returned, of what extraction left, of what the agent was shown; then the "
        "agent's own.",
        "A mention need not state an answer, so all but the last are upper bounds.",
        *unknown,
    )
    title = f"Ceilings of {recall.name}"
    return Table("ceilings", title, columns, tuple(rows), notes, section="ceilings")
