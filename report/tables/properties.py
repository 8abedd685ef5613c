"""Scores by a property of the question, and recall against what was spent."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from branchwise.eval.breakdowns import bins_of, grouping_of, groupings_of
from branchwise.eval.ceilings import Effort
from branchwise.eval.comparison import compare_each
from branchwise.eval.grouping import UNKNOWN
from branchwise.eval.scores import Scores
from branchwise.report.study_report import StudyReport
from branchwise.report.table import CellValue, PageSection, Table, TableColumn, system_column
from branchwise.report.tables.changes import DIFFERENCE_NOTES, change_cells, change_columns

_CEILINGS = (("ceiling_retrieved", "retrieved", ""), ("ceiling_shown", "shown", ""))
_CEILINGS_SAY = "Retrieved, shown: recall of a perfect reader of what was."
_EFFORTS: tuple[tuple[Effort, str], ...] = (("calls", "tool calls"), ("tokens", "tokens"))


def breakdown_tables(report: StudyReport) -> Iterator[Table]:
    """For each property of questions; what the report is broken down by also with changes."""
    for name in dict.fromkeys((*groupings_of(report.task), *report.by)):
        yield breakdown_table(report, name)
    for name in report.by:
        yield from breakdown_change_tables(report, name)


def breakdown_table(report: StudyReport, name: str) -> Table:
    """The headline metrics by a property; without rows where no question has it."""
    grouping = grouping_of(report.task, name)
    headline = ((column.key, column.title, column.heading) for column in report.task.headline)
    metrics = [*headline, *(_CEILINGS if report.analysed else ())]
    columns = (
        system_column(),
        TableColumn(name, grouping.words, "text", is_key=True),
        TableColumn("questions", "n", "count"),
        TableColumn("items", "items", "count", printed=False),
        *(TableColumn(key, title, heading=heading) for key, title, heading in metrics),
    )
    rows: list[tuple[CellValue, ...]] = []
    for system in report.systems:
        # Of entities, where the items have traces.
        has_any = system.run.analysis or not report.task.is_attributable
        if has_any and (breakdown := system.run.breakdown(name)):
            for group in breakdown.bins:
                means = (group.aggregates[key] for key, _, _ in metrics)
                rows.append((system.name, group.label, group.questions, group.items, *means))
    notes = [_CEILINGS_SAY] if report.analysed else []
    if any(row[1] == UNKNOWN for row in rows):
        notes.append(f"{UNKNOWN}: questions without it, which tests leave out.")
    printed = len({row[1] for row in rows}) > 1  # else it repeats the main results
    title = f"By {grouping.words}"
    section: PageSection | None = "more" if printed else None
    return Table(_table_name(name), title, columns, tuple(rows), tuple(notes), printed, section)


def breakdown_change_tables(report: StudyReport, name: str) -> Iterator[Table]:
    """The changes in each bin of a property, in that of the base's item. None of what systems
    spent: the bins of two then hold different questions."""
    grouping, metrics = grouping_of(report.task, name), report.task.headline
    by_name = {system.name: system for system in report.systems}
    pairs: dict[tuple[str, str], tuple[Scores, Scores]] = {}
    for system in report.systems:
        base = by_name.get(system.base)
        if grouping.is_spent or base is None or base is system:
            continue
        for label, ids in bins_of(base.run.places(grouping.name)).items():
            of_base, of_system = (
                replace(of.scores, items=tuple(item for item in of.scores.items if item.id in ids))
                for of in (base, system)
            )
            if of_base.items and of_system.items:
                pairs[system.name, label] = (of_base, of_system)
    compared = compare_each(
        {"\0".join(key): both for key, both in pairs.items()},
        metrics=[metric.key for metric in metrics],
        subsets=("all",),
    )
    rows: list[tuple[CellValue, ...]] = []
    for keys, comparison in zip(pairs, compared.values(), strict=True):
        differences = [comparison.find(metric.key) for metric in metrics]
        rows.append((*keys, *change_cells(differences)))
    columns = (
        system_column(),
        TableColumn(name, grouping.words, "text", is_key=True),
        TableColumn("n", "n", "count"),
        *change_columns(metrics),
    )
    title = f"Changes against {report.base_words}, by {grouping.words}"
    holm = "p is corrected by Holm's method over all systems and rows of the table."
    name = f"{_table_name(name)}-changes"
    notes = (*DIFFERENCE_NOTES, holm, *report.cautions)
    yield Table(name, title, columns, tuple(rows), notes)


def _table_name(grouping: str) -> str:
    """Safe in a path: keys of `meta` come from question files."""
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", grouping).strip("-")[:40]
    digest = hashlib.sha256(grouping.encode("utf-8", "replace")).hexdigest()[:6]
    return f"by-{safe}" if safe == grouping.replace(".", "-") else f"by-{safe}-{digest}"


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
