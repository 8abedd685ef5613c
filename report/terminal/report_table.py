"""A report's tables on a terminal: means over intervals, rows in groups; or in short."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from branchwise.base.numbers import as_text, short_count, usd
from branchwise.base.text import printable
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.plugin_metrics import TABLE as FURTHER
from branchwise.report.figures.losses import losses
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import (
    OF_INTERVALS,
    CellValue,
    ChangeCell,
    Table,
    TableColumn,
    change_mark,
    column_groups,
)
from branchwise.report.tables.changes import changes_table
from branchwise.report.tables.results import (
    alternatives_notes,
    evidence_notes,
    results_tables,
    scored_by,
)
from branchwise.report.terminal.cells import (
    heading,
    in_groups,
    indented,
    mean_cell,
    new_table,
    notes,
    plain,
    run_name,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.padding import Padding
    from rich.table import Table as RichTable
    from rich.text import Text


def drawn(table: Table, title: str = "", *, tight: bool = False) -> "Iterator[RenderableType]":
    """A table under its title, which names the system where there is only one."""
    title = title or table.title[:1].lower() + table.title[1:]
    yield heading(title, dict.fromkeys(str(row[0]) for row in table.rows))
    yield TableBody(table, tight)


def with_notes(table: Table, *, tight: bool = False) -> "Iterator[RenderableType]":
    """A table under its title and over its notes."""
    yield from drawn(table, tight=tight)
    lines = (re.sub(f"^{OF_INTERVALS}:", "Below a number:", note) for note in table.notes)
    yield notes(map(printable, lines))


_ANY_WIDTH = 10_000


@dataclass(frozen=True)
class TableBody:
    """The rows of a table; columns that a terminal has no room for stand below the first ones:
    those of a group together, and a difference with its p. `tight`: with less room between them."""

    table: Table
    tight: bool = False

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[RenderableType]":
        table = self.table.as_printed()
        label, has_groups = table.key_columns[-1], bool(column_groups(table.columns))
        keys: list[str] = []
        parts: list[list[str]] = []
        group = ""
        for index, column in enumerate(table.columns):
            is_count = column.key in ("n", "questions") and not has_groups
            if column.is_key or is_count or index == label:
                keys.append(column.key)
            elif parts and (column.unit == "p" or (has_groups and column.group == group)):
                parts[-1].append(column.key)
            else:
                parts.append([column.key])
            group = column.group
        shown: list[str] = []
        for part in parts:
            wider = _rows(table.with_columns([*keys, *shown, *part]), tight=self.tight)
            if not has_groups:  # labels are folded before a column moves
                wider.columns[0].max_width = wider.columns[0].min_width
            measured = console.measure(wider, options=options.update(max_width=_ANY_WIDTH))
            if shown and measured.maximum > options.max_width:
                yield _rows(table.with_columns([*keys, *shown]), tight=self.tight)
                yield ""
                shown = []
            shown += part
        yield _rows(table.with_columns([*keys, *shown]), tight=self.tight)


def _rows(table: Table, *, tight: bool = False) -> "RichTable":
    """The rows of a table, those of a subset or system under its name where there are several."""
    *groups, label = table.key_columns
    indexes = [
        index
        for index, column in enumerate(table.columns)
        if not column.is_key and index not in (*groups, label)
    ]
    n_index = table.index("n")
    cells = []
    for row in table.rows:
        n = row[n_index] if n_index is not None else None
        cells.append([_cell(table.columns[index], row[index], n) for index in indexes])
    heads, cells = in_groups([table.columns[index] for index in indexes], cells)
    # Six columns of the widest intervals ("1.00–1.00") just fit a terminal of 80.
    first = zip(table.columns, table.rows[0], strict=True)
    width = sum(2 * (column.digits + 2) + 1 for column, c in first if isinstance(c, Aggregate))
    drawn = new_table(tight=tight or width >= 6 * len("1.00–1.00"))
    lines = max(head.count("\n") for head in heads)
    for head in heads:
        padded = "\n" * (lines - head.count("\n")) + head
        drawn.add_column(plain(padded), justify="right", no_wrap=True)
    pairs = zip(table.rows, cells, strict=True)
    for group, rows in groupby(pairs, lambda pair: [str(pair[0][index]) for index in groups]):
        if groups:
            drawn.add_section()
            drawn.add_row(plain(run_name(" · ".join(group)), "bold"))
        for row, row_cells in rows:
            name = plain(run_name(str(row[label])))
            drawn.add_row(indented(name) if groups else name, *row_cells)
    return drawn


def _cell(column: TableColumn, cell: CellValue, n: CellValue) -> "Text":
    if isinstance(cell, str):
        return plain(run_name(cell))
    if isinstance(cell, Aggregate):
        questions = n if isinstance(n, int) else None
        return mean_cell(cell, column.digits, questions, is_change=column.unit == "change")
    if isinstance(cell, ChangeCell):
        change = as_text(cell.difference, column.unit, column.digits)
        return plain(f"{change} {change_mark(cell.difference, cell.p)}".strip())
    if column.unit in ("count", "tokens", "seconds"):
        return plain(short_count(cell))
    return plain(as_text(cell, column.unit, column.digits))


def score_tables(
    report: StudyReport, only: Collection[str] | None = None
) -> "Iterator[RenderableType]":
    """The means of metrics (of the groups in `only`), what they mean, how items ended."""
    report = report.by_matcher()
    tables = [t for t in results_tables(report) if only is None or _group_of(t) in only]
    for table in tables:
        # The names say which matcher.
        keys = [column.key for column in table.columns if column.key != "scored_by"]
        yield from drawn(table.with_columns(keys), _group_of(table))
    yield from _score_notes(report, {column.key for table in tables for column in table.columns})


def _group_of(results: Table) -> str:
    """What the task calls the columns of a table of results."""
    return results.title.removeprefix("Results: ")


def _score_notes(report: StudyReport, keys: Collection[str]) -> "Iterator[Padding]":
    """What the metrics are, what aligned branches, and how the items of each system ended."""
    lines = [column.note for column in report.columns if column.note and column.key in keys]
    lines.append("n: questions; below a mean its 95% bootstrap interval")
    told = (*alternatives_notes(report), *evidence_notes(report), *report.metric_failures)
    lines += map(printable, told)
    matchers = {
        system.name: printable(scored_by(system.scores.scorer)) for system in report.systems
    }
    if len(set(matchers.values())) == 1:
        lines.append(f"matcher: {next(iter(matchers.values()))}")
    else:
        lines += [f"matcher of {run_name(name)}: {words}" for name, words in matchers.items()]
    yield notes(lines)
    yield _counts_lines(report.systems)


def _counts_lines(systems: Sequence[SystemReport]) -> "Padding":
    text = plain("")
    for system in systems:
        counts = system.scores.counts
        text.append(f"\n{run_name(system.name)}: items {counts.items} · answered {counts.answered}")
        rarer = {
            "cut": counts.cut,
            "interrupted": counts.interrupted,
            "without a prediction": counts.missing,
            "not ended": counts.pending,
        }
        ends = {"failed": counts.failed, "format errors": counts.format_errors}
        ends |= {words: number for words, number in rarer.items() if number}
        for words, number in ends.items():
            text.append(f" · {words} {number}", style="bold red" if number else "")
    return indented(text)


def headline_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """The report's main results, then its changes against the base if there is more than one."""
    yield from drawn(_over_all(_main(report), report), "main results")
    if report.comparisons:
        yield from drawn(_over_all(changes_table(report), report))


def headline(report: StudyReport) -> "Iterator[RenderableType]":
    """Systems of one task in short: main metrics, how items ended, lost answers, cost."""
    report = report.by_matcher()
    keys = {metric.key for metric in report.compared}
    yield plain("")
    yield TableBody(_short(_main(report), report))
    for table in results_tables(report)[1:]:
        if _group_of(table) == FURTHER:
            yield from drawn(_short(table, report), FURTHER)
        elif keys & {column.key for column in table.columns}:
            main = table.with_columns(["system", "subset", "n", *keys])
            yield from drawn(_short(main, report), _group_of(table))
    further = {column.key for column in report.columns if column.table == FURTHER}
    yield from _score_notes(report, keys | further)
    lines = []
    lost = losses(report, "all")
    for bar in lost.bars if lost else ():
        counts = f"{bar.lost:,} of {bar.gold:,} gold answers missing{bar.where_lost}"
        lines.append(f"{run_name(bar.name)}: {counts}")
    if lost and lost.caution:
        lines.append(lost.caution)
    for system in report.systems:
        if system.run.costs.cost:
            lines.append(f"{run_name(system.name)}: {usd(system.run.costs.cost)} USD")
    if lines:
        yield indented(plain("\n".join(lines)))


def _main(report: StudyReport) -> Table:
    keys = ["system", "subset", "n", *(metric.key for metric in report.compared)]
    return results_tables(report)[0].with_columns(keys)


def _short(table: Table, report: StudyReport) -> Table:
    """Over all questions alone where systems are several; without intervals that are a point."""
    if len(report.systems) > 1:
        table = _over_all(table, report)

    def cell(value: CellValue) -> CellValue:
        if isinstance(value, Aggregate) and value.low == value.high:
            return replace(value, low=None, high=None)
        return value

    return replace(table, rows=tuple(tuple(map(cell, row)) for row in table.rows))


def _over_all(table: Table, report: StudyReport) -> Table:
    """Its rows over all questions, which are of one part where the set has no others."""
    return table.over(report.called(report.subsets[-1]))
