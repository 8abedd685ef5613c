"""Systems on a third of a screen: the main metrics over all questions, and what each changes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.changes import changes_table
from branchwise.eval.reporting.tables.results import results_tables
from branchwise.ui.report_table import drawn

if TYPE_CHECKING:
    from rich.console import RenderableType


def headline_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """The report's main results, then its changes against the base if there is more than one."""
    keys = ["system", "n", *(metric.key for metric in report.compared)]
    yield from drawn(results_tables(report)[0].over("all").with_columns(keys), "main results")
    if report.comparisons:
        yield from drawn(changes_table(report).over("all"))
