"""The main metrics and what limits them, on a third of a screen."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from branchwise.base.numbers import usd
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.plugin_metrics import TABLE as FURTHER
from branchwise.report.figures.losses import losses
from branchwise.report.html.text import shares
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.changes import changes_table
from branchwise.report.tables.results import results_tables
from branchwise.report.tables.table import CellValue, Table
from branchwise.report.terminal.cells import indented, plain, run_name
from branchwise.report.terminal.report_table import body, counts_lines, drawn, group_of, score_notes

if TYPE_CHECKING:
    from rich.console import RenderableType


def headline_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """The report's main results, then its changes against the base if there is more than one."""
    yield from drawn(_main(report).over("all"), "main results")
    if report.comparisons:
        yield from drawn(changes_table(report).over("all"))


def headline(report: StudyReport) -> "Iterator[RenderableType]":
    """Systems of one task in short: the main metrics and those of plug-ins, how items ended, where
    answers were lost."""
    report = report.by_matcher()
    keys = {metric.key for metric in report.compared}
    yield plain("")
    yield body(_short(_main(report), report))
    for table in results_tables(report)[1:]:
        if group_of(table) == FURTHER:
            yield from drawn(_short(table, report), FURTHER)
        elif keys & {column.key for column in table.columns}:
            main = table.with_columns(["system", "subset", "n", *keys])
            yield from drawn(_short(main, report), group_of(table))
    shown = {one.key for one in report.columns if one in report.compared or one.table == FURTHER}
    yield score_notes(report, [one.note for one in report.columns if one.note and one.key in shown])
    yield counts_lines(report.systems)
    if lines := [*_lost(report), *_paid(report)]:
        yield indented(plain("\n".join(lines)))


def _main(report: StudyReport) -> Table:
    keys = ["system", "subset", "n", *(metric.key for metric in report.compared)]
    return results_tables(report)[0].with_columns(keys)


def _short(table: Table, report: StudyReport) -> Table:
    """Of several systems over all questions alone; without intervals that are a point, which says
    that every question has the same value."""
    if len(report.systems) > 1:
        table = table.over(report.called(report.subsets[-1]))

    def cell(value: CellValue) -> CellValue:
        is_point = isinstance(value, Aggregate) and value.low == value.high
        return replace(value, low=None, high=None) if is_point else value  # type: ignore[type-var]

    return replace(table, rows=tuple(tuple(map(cell, row)) for row in table.rows))


def _lost(report: StudyReport) -> Iterator[str]:
    """Of each system, how many gold answers are missing, and where they were lost."""
    found = losses(report, "all")
    for bar in found.bars if found else ():
        lost = bar.gold - bar.counts[0]
        where = f": {shares(bar.lost, lost)}" if lost else ""
        yield f"{run_name(bar.name)}: {lost:,} of {bar.gold:,} gold answers missing{where}"
        if bar.caution:
            yield bar.caution


def _paid(report: StudyReport) -> Iterator[str]:
    """What each system cost, where that is known and not nothing."""
    for one in report.systems:
        if one.run.costs.cost:
            yield f"{run_name(one.name)}: {usd(one.run.costs.cost)} USD"
