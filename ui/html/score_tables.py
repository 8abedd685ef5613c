"""Scores as tables in the shape of DeepAmbigQA's: systems below each other, subsets beside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from branchwise.eval.reporting.published import Published, published
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.tasks import Column, get_task
from branchwise.ui.html.published import published_notes, published_rows
from branchwise.ui.html.systems import aggregate, subsets, system_name
from branchwise.ui.html.tables import Cell, Row, Table, mean, subset_words


class Family(NamedTuple):
    """Metrics that stand side by side: caption, (metric, heading) pairs, what they mean; `digits`
    after the point where they are not two."""

    caption: str
    columns: tuple[tuple[str, str], ...]
    note: str
    digits: Mapping[str, int] = {}


STRICT = Family(
    "Scores by branch (strict)",
    (("strict_precision", "P"), ("strict_recall", "R"), ("strict_em", "EM")),
    "An answer is right only under the branch that it belongs to.",
)
POOLED = Family(
    "Scores with branches ignored (pooled)",
    (("pooled_precision", "P"), ("pooled_recall", "R"), ("pooled_em", "EM")),
    "The answers of all branches are put together, on both sides.",
)


def score_tables(report: StudyReport) -> list[Table]:
    """The main tables; published numbers stand in the one whose metric is nearest to theirs."""
    known = published(report.benchmark)
    own = get_task(report.task).columns
    further = [column for column in report.columns if column not in own]
    families = [*_families(report.task), *_by_table(further)]
    tables = [_table(report, family) for family in families]
    if known and report.task == "branches":
        tables[1] = _with_published(tables[1], known, subsets(report))
    return [table for table in tables if table.rows]


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


def _families(task: str) -> list[Family]:
    if task == "branches":
        return [STRICT, POOLED]
    return _by_table(get_task(task).columns)


def _by_table(columns: Sequence[Column]) -> list[Family]:
    return [
        Family(
            table[:1].upper() + table[1:],
            tuple((c.key, c.heading.replace("\n", " ").strip()) for c in chosen),
            " ".join(f"{c.note[:1].upper()}{c.note[1:]}." for c in chosen if c.note),
            {c.key: c.digits for c in chosen},
        )
        for table in dict.fromkeys(column.table for column in columns)
        for chosen in [[column for column in columns if column.table == table]]
    ]


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
