"""Everything that is printed of scored runs and predictions files: scores, losses, costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from branchwise.base.text import printable
from branchwise.eval.ceilings.breakdowns import groupings_of
from branchwise.eval.errors.item_errors import totals
from branchwise.eval.grouping import META
from branchwise.eval.scores import common_columns
from branchwise.eval.statistics import Comparison, summary_line
from branchwise.report.figures.losses import absent_gold
from branchwise.report.published import Published
from branchwise.report.study_report import StudyReport, SystemReport, compare_with_bases
from branchwise.report.tables import terminal_tables
from branchwise.report.tables.properties import breakdown_change_tables, breakdown_table
from branchwise.report.tables.protocols import BY_CONDITIONS, by_conditions_table, comparison_tables
from branchwise.report.tables.published import published_tables
from branchwise.report.terminal.cells import heading, indented, plain, run_name
from branchwise.report.terminal.costs import cost_tables
from branchwise.report.terminal.error_table import (
    ceiling_tables,
    class_tables,
    error_tables,
    task_error_tables,
)
from branchwise.report.terminal.report_table import drawn, headline, score_tables, with_notes
from branchwise.report.terminal.run_notes import NOTICE, matcher_lines, module_notes
from branchwise.runs.costs.usage import NO_COSTS
from branchwise.runs.left_out import run_left_out, run_remarks
from branchwise.runs.scoring.scored import ScoredAnswers

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


def run_report(
    systems: Sequence[SystemReport],
    by: Sequence[str] = (),
    *,
    full: bool = True,
    published: Published | None = None,
) -> "Iterator[RenderableType]":
    """The tables of one run, or of several beside each other; `by` names breakdowns to add.

    Runs of different tasks stand apart. If not `full`, the headline metrics, how items ended, what
    limits the numbers, and where answers were lost, in a line each. `published` stands beside the
    scores.
    """
    reports = [replace(one, published=published) for one in StudyReport.by_task(systems)]
    for report in reports:
        lines = [f"{run_name(name)}: {said}" for name, said in absent_gold(report.by_matcher())]
        if lines:
            yield indented(plain("\n".join(["", *lines])))
        yield from score_tables(report) if full else headline(report)
        for table in published_tables(report):
            yield from with_notes(table.as_printed())
    for one in systems:
        told = map(printable, one.run.told_of_calls)
        if lines := [*told, *matcher_lines(one.run.settled)]:
            title = [f"\n{run_name(one.name)}"] if len(systems) > 1 else [""]
            yield indented(plain("\n".join([*title, *lines])))
    for report in reports:
        yield from _analysed(report.by_matcher(), by, full=full)
    if full:
        yield from cost_tables(StudyReport.beside(systems))
    # Last, where they are seen: a module that never worked leaves no other mark.
    epochs = any(row.epoch for one in systems for row in one.run.scores.items)
    works = [(one.name, one.run.modules, one.run.inert) for one in systems]
    yield from module_notes(works, epochs=epochs)


def _analysed(report: StudyReport, by: Sequence[str], *, full: bool) -> "Iterator[RenderableType]":
    if full:
        yield from error_tables([(name, one.errors) for _, name, one in report.analysed])
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


_SHOWN = 5
_MAX_ID = 80


def predictions_report(
    name: str, found: ScoredAnswers, *, full: bool = True
) -> "Iterator[RenderableType]":
    """The tables, with what a file without traces cannot say left out; `full` as of a run."""
    report = StudyReport.beside([SystemReport(name, found)])
    yield from score_tables(report) if full else headline(report)
    told = [
        *(one.words for one in run_left_out((), found.settled)),
        *(one.words for one in run_remarks((), found.settled)),
    ]
    lines = [*_without(found.missing or ()), *map(printable, told), *matcher_lines(found.settled)]
    if lines:
        yield indented(plain("\n".join(["", *lines])))
    if not full:
        return
    if found.untraced_errors is not None:
        errors = totals(found.untraced_errors)
        yield from error_tables([(report.by_matcher().systems[-1].name, errors)])
    yield from task_error_tables(report)
    if found.costs != NO_COSTS:
        yield from cost_tables(report)


def _without(ids: Sequence[str]) -> Iterator[str]:
    """The first questions that the file does not answer."""
    if ids:
        first = ", ".join(printable(id)[:_MAX_ID] for id in ids[:_SHOWN])
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        yield f"without a prediction: {first}{more}"


def study_summary(systems: Sequence[SystemReport]) -> "Iterator[RenderableType]":
    """The differences of the systems to their bases, if there are any."""
    scores = [one.scores for one in systems]
    columns = (*scores[0].scorer.scored_task.shown, *common_columns(scores))
    metrics = [column.key for column in columns]
    called = {column.key: column.name for column in scores[0].scorer.scored_task.shown}
    compared = compare_with_bases(systems, metrics=metrics, subsets=("all",))
    bases = {one.name: one.base for one in systems}
    for base, names in groupby(compared, lambda name: bases[name]):
        yield heading(f"changes against {run_name(base)}", [])
        for name in names:
            yield indented(_lines(name, compared[name], called))


def _lines(name: str, comparison: Comparison, called: Mapping[str, str]) -> "Text":
    lines = [summary_line(one, name=called.get(one.metric)) for one in comparison.differences]
    text = plain(f"{run_name(name)}\n", "bold")
    # First: a difference is read otherwise where what makes it did nothing.
    for said in comparison.cautions:
        text.append(f"  caution: {printable(said)}\n", style=f"not bold {NOTICE}")
    text.append("\n".join(f"  {line}" for line in lines), style="not bold")
    return text
