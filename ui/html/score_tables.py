"""Scores as tables in the shape of DeepAmbigQA's: systems below each other, subsets beside."""

from collections.abc import Sequence
from dataclasses import replace

from branchwise.eval.reporting.published import Published
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.tasks import Family
from branchwise.ui.html.published import published_beside, published_notes, published_rows
from branchwise.ui.html.systems import aggregate, subsets, system_name
from branchwise.ui.html.tables import Cell, Row, Table, mean, subset_words


def score_tables(report: StudyReport) -> list[Table]:
    """The main tables; published numbers stand in the one whose metric is nearest to theirs."""
    known = published_beside(report)
    own = report.task.columns
    further = [column for column in report.columns if column not in own]
    published_as = {column.key for column in own if column.published}
    tables = []
    for family in (*report.task.families, *Family.by_table(further)):
        table = _table(report, family)
        if known and published_as.intersection(metric for metric, _ in family.columns):
            table = _with_published(table, known, subsets(report))
        tables.append(table)
    return [table for table in tables if table.rows]


def headline_family(report: StudyReport) -> Family:
    """The metrics that a change is told by, as columns of a table about something else."""
    columns = tuple((column.key, column.short or column.title) for column in report.task.headline)
    return Family("", columns, "", {column.key: column.digits for column in report.task.headline})


def score_cells(system: SystemReport, family: Family, chosen: Sequence[str]) -> tuple[Cell, ...]:
    """The means of a family's metrics, subset by subset."""
    return tuple(
        mean(
            aggregate(system, metric, subset),
            system.scores.questions(subset),
            family.digits.get(metric, 2),
        )
        for subset in chosen
        for metric, _ in family.columns
    )


def subset_groups(report: StudyReport, width: int) -> tuple[tuple[str, int], ...]:
    """Headings that span the columns of a subset, with how many questions it has."""
    most = {s: max(one.scores.questions(s) for one in report.systems) for s in subsets(report)}
    return tuple((f"{subset_words(s)}, n = {n}", width) for s, n in most.items())


def _table(report: StudyReport, family: Family) -> Table:
    chosen = subsets(report)
    headings = tuple(heading for _, heading in family.columns)
    rows = (
        Row(
            Cell(system_name(system)),
            score_cells(system, family, chosen),
            "base" if system is report.base else "plain",
        )
        for system in report.systems
    )
    return Table(
        family.caption,
        ("system", *headings * len(chosen)),
        tuple(rows),
        (("", 1), *subset_groups(report, len(headings))),
        notes=(family.note,) if family.note else (),
    )


def _with_published(table: Table, known: Published, chosen: list[str]) -> Table:
    rows = (*table.rows, *published_rows(known, (4, 5), chosen))
    return replace(table, rows=rows, notes=(*table.notes, *published_notes(known)))
