"""Scores as tables for a terminal: means over intervals, runs under each other."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.question_scores import told_subsets
from branchwise.eval.scores import Counts, Scorer, Scores, all_columns
from branchwise.eval.tasks import Column
from branchwise.ui.cells import heading, indented, mean_cell, new_table, notes, plain, run_name
from branchwise.ui.console import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.padding import Padding
    from rich.table import Table

NamedScores = tuple[str, Scores]
"""A run's name and its scores."""


def report_tables(
    runs: Sequence[NamedScores], only: Collection[str] | None = None
) -> "Iterator[RenderableType]":
    """What to print for one run or several, in order: tables, what their numbers mean, counts.

    `only`: titles of the tables that are wanted. Runs of different tasks stand apart. A column
    that no run has a value for is left out, and so is the subset `all` where it says what another
    one says.
    """
    for task in dict.fromkeys(scores.scorer.task for _, scores in runs):
        chosen = [(name, scores) for name, scores in runs if scores.scorer.task == task]
        held = all_columns([scores for _, scores in chosen])
        wanted = [c for c in held if only is None or c.table in only]
        columns = [c for c in wanted if _has_values(c, chosen)]
        for title in dict.fromkeys(column.table for column in columns):
            yield heading(title, [name for name, _ in chosen])
            yield _table([c for c in columns if c.table == title], chosen)
        yield _notes(columns, chosen)
        yield _counts(chosen)


def _has_values(column: Column, runs: Sequence[NamedScores]) -> bool:
    return any(_mean(scores, "all", column).n for _, scores in runs)


def _mean(scores: Scores, subset: str, column: Column) -> Aggregate:
    """One of nothing where the run was not scored with the metric, which is a plug-in's then."""
    return scores.aggregates[subset].get(column.key, Aggregate(None, 0, None, None))


def _table(columns: Sequence[Column], runs: Sequence[NamedScores]) -> "Table":
    # Six columns of the widest intervals ("1.00–1.00") just fit a terminal of 80.
    table = new_table(tight=len(columns) >= 6)
    table.add_column("\nn", justify="right")
    for column in columns:
        table.add_column(plain(column.heading), justify="right", no_wrap=True)
    for subset in told_subsets(lambda kind: any(s.questions(kind) for _, s in runs)):
        if len(runs) > 1:
            table.add_section()
            table.add_row(plain(subset, "bold"))
        for name, scores in runs:
            label = plain(subset) if len(runs) == 1 else indented(plain(run_name(name)))
            n = scores.questions(subset)
            means = [(_mean(scores, subset, column), column.digits) for column in columns]
            cells = [mean_cell(found, digits, n) for found, digits in means]
            table.add_row(label, str(n), *cells)
    return table


def _notes(columns: Sequence[Column], runs: Sequence[NamedScores]) -> "Padding":
    lines = [column.note for column in columns if column.note]
    lines.append("n: questions; below a mean its 95% bootstrap interval")
    described = {name: _described(scores.scorer) for name, scores in runs}
    if len(set(described.values())) == 1:
        lines.append(f"matcher: {described[runs[0][0]]}")
    else:
        lines += [f"matcher of {run_name(name)}: {words}" for name, words in described.items()]
    return notes(lines)


def _described(scorer: Scorer) -> str:
    """Which matcher made the scores, and which judge took part."""
    model = f" ({printable(scorer.model)})" if scorer.model else ""
    judge = f", answers judged by {printable(scorer.judge)}" if scorer.judge else ""
    return f"{scorer.matcher}{model}{judge}"


def _counts(runs: Sequence[NamedScores]) -> "Padding":
    text = plain("")
    for name, scores in runs:
        counts = scores.counts
        text.append(f"\n{run_name(name)}: items {counts.items} · answered {counts.answered}")
        for what, number in _losses(counts):
            text.append(f" · {what} {number}", style="bold red" if number else "")
    return indented(text)


def _losses(counts: Counts) -> list[tuple[str, int]]:
    losses = [("failed", counts.failed), ("format errors", counts.format_errors)]
    rarer = [("without a prediction", counts.missing), ("not ended", counts.pending)]
    return losses + [loss for loss in rarer if loss[1]]
