"""Systems beside each other in few lines: a row a system, then what factors or changes do.

Of more systems than `FEW` a screen has room for one line each; `--full` has every table whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

from branchwise.base.numbers import interval, number, usd
from branchwise.base.text import printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.comparison import SIGNIFICANT
from branchwise.eval.errors.module_work import total_work
from branchwise.report.figures.losses import MISSING_KINDS, losses
from branchwise.report.study_report import StudyReport, SystemReport, compare_with_bases
from branchwise.report.table import CellValue, ChangeCell, Table, TableColumn, system_column
from branchwise.report.tables.changes import changes_table
from branchwise.report.tables.costs import PER_RIGHT
from branchwise.report.tables.effects import effects_table, gaps
from branchwise.report.tables.results import alternatives_notes, evidence_notes, scored_by
from branchwise.report.terminal.cells import indented, notes, plain, run_name
from branchwise.report.terminal.report_table import TableBody, with_notes
from branchwise.report.terminal.run_notes import ALARM, NOTICE, matcher_lines, module_lines
from branchwise.runs.costs.usage import resent_words

if TYPE_CHECKING:
    from rich.console import RenderableType

FEW = 3
"""So many systems have room for intervals of all means, and for lines of their own."""
_MOST_LINES = 5
_WORD = 10
"""Letters of a line of a heading."""
_Column = tuple[TableColumn, Sequence[CellValue]]


def overview(report: StudyReport) -> "Iterator[RenderableType]":
    """A line a system: main metrics, where answers were lost, how items ended, what it cost; then
    what the columns mean, and which requests were sent again."""
    systems = report.systems
    asked = [system.scores.questions("all") for system in systems]
    columns: list[_Column] = [(system_column(), [system.name for system in systems])]
    n = f"n = {asked[0]:,}; "
    if len({*asked}) > 1:
        n = ""
        columns.append((TableColumn("n", "n", "count"), asked))
    for metric in report.compared:
        means = [system.mean(metric.key, "all").mean for system in systems]
        title = metric.heading or "\n".join(wrap(metric.title, _WORD))
        column = TableColumn(metric.key, "", metric.unit, metric.digits, heading=title)
        columns.append((column, means))
    lost, gold = _lost(report)
    columns += [*lost, *(column for column in _ends(systems) if any(column[1]))]
    matchers = dict.fromkeys(scored_by(system.scores.scorer) for system in systems)
    lines = [f"{n}matcher: {_listed(matchers)}; what columns mean, and intervals: --full"]
    lines += [f"{gold} gold answers: how many were lost, and where"] if lost else []
    told = (*alternatives_notes(report), *evidence_notes(report), *report.metric_failures)
    lines += map(printable, told)
    rows = zip(*(values for _, values in columns), strict=True)
    yield plain("")
    table = Table("overview", "", tuple(column for column, _ in columns), tuple(rows))
    yield TableBody(table, tight=True)
    yield notes(lines)


_LOST = {
    "wrong_branch": "wrong\nbranch",
    "unreadable": "unread-\nable",
    "left_out": "left\nout",
    "extraction": "in ex-\ntraction",
    "node": "by a\nnode",
    "perhaps_stated": "perhaps\nstated",
    "never_retrieved": "never\nfound",
    "not_in_corpus": "not in\ncorpus",
}
"""Of places where answers are lost, over narrow columns."""


def _lost(report: StudyReport) -> tuple[list[_Column], str]:
    """Columns of the places where any system lost gold answers, and how many answers there are."""
    lost = losses(report, "all")
    bars = {bar.name: bar for bar in lost.bars} if lost else {}
    if lost is None or any(system.name not in bars for system in report.systems):
        return [], ""
    ordered = [bars[system.name] for system in report.systems]
    columns: list[_Column] = []
    for place in (place for place in lost.used if place):
        title = _LOST.get(MISSING_KINDS[place - 1].key, "un-\nknown")
        column = TableColumn(f"lost_{place}", "", "count", heading=title)
        columns.append((column, [bar.counts[place] for bar in ordered]))
    every = {bar.gold for bar in ordered}
    return columns, f"of {every.pop():,}" if len(every) == 1 else "of all"


def _ends(systems: Sequence[SystemReport]) -> Iterator[_Column]:
    titles = {"failed": "failed", "format_errors": "format\nerrors", "cut": "cut"}
    titles |= {"interrupted": "inter-\nrupted", "pending": "not\nended"}
    for key, title in titles.items():
        counts = [getattr(system.scores.counts, key) for system in systems]
        yield TableColumn(key, "", "count", heading=title), counts
    resent = [system.run.modules.resent.values() for system in systems]
    sums = [sum(kinds.total() for kinds in by_role) for by_role in resent]
    yield TableColumn("sent_again", "", "count", heading="sent\nagain"), sums
    costs = [system.run.costs.cost for system in systems]
    yield TableColumn("cost", "USD", "text"), [usd(cost) for cost in costs] if any(costs) else []
    yield PER_RIGHT, [system.run.tokens_per_right for system in systems]


def told_together(
    systems: Sequence[SystemReport], *, inert: bool = False
) -> "Iterator[RenderableType]":
    """What was odd in the calls of all systems, and modules that failed, brought nothing, or (if
    `inert`) did nothing, each line once."""
    replies: dict[str, int] = {}
    for system in systems:
        for role in system.run.costs.roles:
            replies[role.role] = replies.get(role.role, 0) + role.usage.calls
    resent = total_work(system.run.modules for system in systems).resent
    said = [
        (system.name, line, "")
        for system in systems
        for line in (
            *(field.words for field in system.run.left_out),
            *(remark.words for remark in system.run.remarks),
            *matcher_lines(system.run.settled),
        )
    ]
    said += [
        (system.name, part.words, NOTICE)
        for system in systems
        for part in (system.run.inert.values() if inert else ())
    ]
    said += [
        (system.name, line, style)
        for system in systems
        for line, style in module_lines(system.run.modules)
        if style in (ALARM, NOTICE)
    ]
    text = plain("\n".join(["", *resent_words(resent, replies)]))
    lines = [
        (line, style)
        for style in (ALARM, NOTICE, "")
        for line in told_once((name, line) for name, line, own in said if own == style)
    ]
    for line, style in lines[:_MOST_LINES]:
        text.append(f"\n{line}", style=style)
    if (more := len(lines) - _MOST_LINES) > 0:
        text.append(f"\n… and {more} more: --full")
    if text.plain.strip():
        yield indented(text)


def told_once(said: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each different sentence, given with the system that it is of."""
    named: dict[str, list[str]] = {}
    for name, words in said:
        named.setdefault(words, []).append(name)
    return [f"{printable(words)} ({_listed(names)})" for words, names in named.items()]


def _listed(names: Iterable[str]) -> str:
    first, *others = names
    return f"{run_name(first)} and {len(others)} more" if others else run_name(first)


def study_changes(
    systems: Sequence[SystemReport], *, full: bool = False
) -> "Iterator[RenderableType]":
    """What factors do in a factorial study, else what each system changes against its base, under
    what must be kept in mind of it; `full`: both, with all intervals."""
    report = StudyReport.beside(systems)
    metrics = [metric.key for metric in report.compared]
    report = replace(report, comparisons=compare_with_bases(systems, metrics=metrics))
    compared = report.comparisons.items()
    cautions = told_once((name, words) for name, own in compared for words in own.cautions)
    if cautions:
        # First: a difference is read otherwise where what makes it did nothing.
        lines = (f"\ncaution: {caution}" for caution in cautions)
        yield indented(plain("".join(lines), NOTICE))
    everything = report.called(report.subsets[-1])
    if full or len(systems) <= FEW:
        if report.effects:
            yield from with_notes(effects_table(report).over(everything))
        changes = replace(changes_table(report).over(everything), notes=_INTERVALS)
        yield from with_notes(changes)
    else:
        table = effects_table(report) if report.effects else changes_table(report)
        told = (_BRIEF, *([_TIMES] if report.effects else []), *gaps(report))
        shown = _one_line_each(table.over(everything), report)
        yield from with_notes(replace(shown, notes=told), tight=True)


_INTERVALS = ("Below a number: Student's paired 95% interval; p: after Holm.",)
_BRIEF = f"[ ]: 95% interval; p: after Holm; ▲ ▼: p < {number(SIGNIFICANT)}; more: --full"

_TIMES = "a × b: how much larger the effect of a is beside b than without"


def _one_line_each(table: Table, report: StudyReport) -> Table:
    """A table of changes: the main metric with its interval and p, others without."""
    metrics = [metric for metric in report.compared if table.index(metric.key) is not None]
    metrics.sort(key=lambda metric: metric.key != report.task.main.key)
    keys = [index for index, column in enumerate(table.columns) if column.is_key]
    columns = [table.columns[index] for index in keys]
    for metric in metrics:
        columns.append(TableColumn(metric.key, metric.title, "change", metric.digits))
        if metric is metrics[0]:
            columns += [TableColumn("interval", "", "text"), TableColumn("p", "p", "p", 3)]
    rows = []
    for row in table.rows:
        cells = [row[index] for index in keys]
        for metric in metrics:
            index = table.index(metric.key) or 0
            change, p = row[index : index + 2]
            assert isinstance(change, Aggregate)
            assert p is None or isinstance(p, float)
            cells.append(ChangeCell(change.mean, p))
            if metric is metrics[0]:
                cells += [interval(change.low, change.high, metric.digits), p]
        rows.append(tuple(cells))
    return replace(table, columns=tuple(columns), rows=tuple(rows))
