"""The tables of a report as plain data, which every exporter reads."""

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.changes import changes_table, differences_table
from branchwise.eval.reporting.tables.costs import costs_table
from branchwise.eval.reporting.tables.losses import loss_tables
from branchwise.eval.reporting.tables.properties import breakdown_tables, curve_tables
from branchwise.eval.reporting.tables.repetition import agreement_tables, epoch_tables
from branchwise.eval.reporting.tables.results import results_tables, systems_table
from branchwise.eval.reporting.tables.table import Cell, Column, Table, Unit

__all__ = ["Cell", "Column", "Table", "Unit", "report_tables"]


def report_tables(report: StudyReport) -> tuple[Table, ...]:
    """All tables that a report has anything for, in the order in which they are read.

    Names are different, and the same for the same kind of table in every report.
    """
    found = [*results_tables(report)]
    if report.comparisons:
        found += [changes_table(report), differences_table(report)]
    found += loss_tables(report)
    found += [costs_table(report), *breakdown_tables(report), *curve_tables(report)]
    found += [*agreement_tables(report), *epoch_tables(report)]
    return (systems_table(report), *(table for table in found if table.rows))
