"""The tables of a report as plain data, which every output lays out."""

from collections.abc import Callable, Iterable, Iterator

from branchwise.report.study_report import StudyReport
from branchwise.report.table import Table
from branchwise.report.tables.changes import change_tables, model_change_tables, model_tables
from branchwise.report.tables.costs import costs_table, tools_table
from branchwise.report.tables.effects import effect_tables
from branchwise.report.tables.errors import error_tables, loss_tables
from branchwise.report.tables.properties import breakdown_tables, curve_tables
from branchwise.report.tables.protocols import crossed_tables, protocol_tables, strategy_tables
from branchwise.report.tables.published import published_tables
from branchwise.report.tables.repetition import agreement_tables, epoch_tables
from branchwise.report.tables.results import results_tables, systems_table

_Made = Callable[[StudyReport], Iterable[Table]]
_OF_REPORTS: tuple[_Made, ...] = (
    lambda report: [systems_table(report)],
    model_tables,
    results_tables,
    protocol_tables,
    strategy_tables,
    crossed_tables,
    published_tables,
    effect_tables,
    model_change_tables,
    change_tables,
    error_tables,
    loss_tables,
    lambda report: [costs_table(report)],
    breakdown_tables,
    curve_tables,
    lambda report: [tools_table(report)],
    agreement_tables,
)
"""Tables that a terminal shows in a shape of its own, asks for (`--by`), or says in words."""
_OF_EVERY_OUTPUT: tuple[_Made, ...] = (epoch_tables,)


def report_tables(report: StudyReport) -> tuple[Table, ...]:
    """All tables that a report has anything for, in reading order; names never vary."""
    return tuple(_made(report, (*_OF_REPORTS, *_OF_EVERY_OUTPUT)))


def terminal_tables(report: StudyReport) -> tuple[Table, ...]:
    """Those that a terminal shows as they are."""
    return tuple(table for table in _made(report, _OF_EVERY_OUTPUT) if table.printed)


def _made(report: StudyReport, makers: Iterable[_Made]) -> Iterator[Table]:
    for make in makers:
        yield from (table for table in make(report) if table.rows)
