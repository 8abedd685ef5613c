"""Everything that is printed of scored runs and predictions files: scores, losses, costs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from branchwise.base.text import printable
from branchwise.eval.breakdowns import groupings_of
from branchwise.eval.errors.item_errors import totals
from branchwise.eval.grouping import META
from branchwise.report.figures.losses import absent_gold
from branchwise.report.published import Published
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.tables import terminal_tables
from branchwise.report.tables.properties import breakdown_change_tables, breakdown_table
from branchwise.report.tables.protocols import BY_CONDITIONS, by_conditions_table, comparison_tables
from branchwise.report.tables.published import published_tables
from branchwise.report.terminal.cells import indented, plain, run_name
from branchwise.report.terminal.costs import cost_tables
from branchwise.report.terminal.error_table import (
    ceiling_tables,
    class_tables,
    error_tables,
    task_error_tables,
)
from branchwise.report.terminal.overview import FEW, overview, told_once, told_together
from branchwise.report.terminal.report_table import drawn, headline, score_tables, with_notes
from branchwise.report.terminal.run_notes import matcher_lines, module_notes
from branchwise.runs.costs.usage import NO_COSTS, run_left_out, run_remarks
from branchwise.runs.scoring.scored import ScoredAnswers

if TYPE_CHECKING:
    from rich.console import RenderableType


def run_report(
    systems: Sequence[SystemReport],
    by: Sequence[str] = (),
    *,
    full: bool = True,
    published: Published | None = None,
) -> "Iterator[RenderableType]":
    """The tables of one run, or of several beside each other (of different tasks apart), with
    breakdowns `by`. If not `full`, the headline metrics, how items ended, what limits the
    numbers, and where answers were lost, in a line each. `published` stands beside the scores."""
    reports = [replace(report, published=published) for report in StudyReport.by_task(systems)]
    is_short = not full and len(systems) > FEW
    for report in reports:
        absent = absent_gold(report.by_matcher())
        yield from _paragraph(told_once(absent) if is_short else [*map(": ".join, absent)])
        if full:
            yield from score_tables(report)
        elif len(report.systems) > FEW:
            yield from overview(report.by_matcher())
        else:
            yield from headline(report)
        for table in published_tables(report):
            yield from with_notes(table.as_printed())
    if is_short:
        yield from told_together(systems, inert=len(reports) > 1)
    for system in () if is_short else systems:
        run = system.run
        lines = [*map(printable, run.notes_on_calls), *matcher_lines(run.settled)]
        yield from _paragraph(lines, f"\n{run_name(system.name)}" if len(systems) > 1 else "")
    for report in reports:
        yield from _analysed(report.by_matcher(), by, full=full)
    if full:
        yield from cost_tables(StudyReport.beside(systems))
    if is_short:
        return
    # Last, where they are seen: a module that never worked leaves no other mark.
    epochs = any(row.epoch for system in systems for row in system.run.scores.items)
    works = [(system.name, system.run.modules, system.run.inert) for system in systems]
    yield from module_notes(works, epochs=epochs)


def _paragraph(lines: Sequence[str], title: str = "") -> "Iterator[RenderableType]":
    if lines:
        yield indented(plain("\n".join([title, *lines])))


def _analysed(report: StudyReport, by: Sequence[str], *, full: bool) -> "Iterator[RenderableType]":
    if full:
        yield from error_tables([(name, run.errors) for _, name, run in report.analysed])
        yield from class_tables(report)
        yield from task_error_tables(report)
        yield from ceiling_tables(report)
    for table in terminal_tables(report):
        yield from with_notes(table)
    for table in comparison_tables(report) if full else ():
        yield from with_notes(table)
    if BY_CONDITIONS in by and report.task.is_graded:
        yield from drawn(by_conditions_table(report))
    for grouping in by:
        if not (grouping in groupings_of(report.task) or grouping.startswith(META)):
            continue
        table = breakdown_table(report, grouping)
        if table.rows:
            yield from with_notes(table)
            for changes in breakdown_change_tables(report, grouping):
                if changes.rows:
                    yield from with_notes(changes)
        else:
            yield plain(f"\n{table.title}: no question of these runs has it")


_SHOWN, _MAX_ID = 5, 80


def predictions_report(
    name: str, answers: ScoredAnswers, *, full: bool = True
) -> "Iterator[RenderableType]":
    """The tables, with what a file without traces cannot say left out; `full` as of a run."""
    report = StudyReport.beside([SystemReport(name, answers)])
    yield from score_tables(report) if full else headline(report)
    lines = []
    if ids := answers.missing or ():
        first = ", ".join(printable(id)[:_MAX_ID] for id in ids[:_SHOWN])
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        lines.append(f"without a prediction: {first}{more}")
    lines += [printable(part.words) for part in run_left_out((), answers.settled)]
    lines += [printable(remark.words) for remark in run_remarks((), answers.settled)]
    yield from _paragraph([*lines, *matcher_lines(answers.settled)])
    if not full:
        return
    if answers.untraced_errors is not None:
        errors = totals(answers.untraced_errors)
        yield from error_tables([(report.by_matcher().systems[-1].name, errors)])
    yield from task_error_tables(report)
    if answers.costs != NO_COSTS:
        yield from cost_tables(report)
