"""Rows of numbers that papers print, to stand beside one's own on the same benchmark."""

from collections.abc import Sequence

from branchwise.eval.reporting.published import Published, PublishedSystem, published
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.cells import number
from branchwise.ui.html.tables import Cell, Row


def published_beside(report: StudyReport) -> Published | None:
    """What is published of a report's benchmark, where its task has metrics to stand beside."""
    comparable = any(column.published for column in report.task.columns)
    return published(report.benchmark) if comparable else None


def published_rows(
    known: Published, tables: Sequence[int], subsets: Sequence[str], before: int = 0
) -> list[Row]:
    """Rows of a paper's systems in these of its tables: P, R and EM of each subset, marked.

    `before`: empty cells that come first.
    """
    return [
        Row(
            Cell(one.name, f"published, Table {one.table}"),
            (*[Cell("")] * before, *_scores(one, subsets)),
            "published",
        )
        for one in known.systems
        if one.table in tables
    ]


def published_notes(known: Published) -> tuple[str, ...]:
    """What must be said wherever the rows stand."""
    return (f"Published numbers are those of {known.paper}.", *known.notes)


def _scores(system: PublishedSystem, subsets: Sequence[str]) -> list[Cell]:
    cells = []
    for subset in subsets:
        found = system.ambiguous if subset == "ambiguous" else system.unambiguous
        cells += [Cell(number(value)) for value in (found.precision, found.recall, found.em)]
    return cells
