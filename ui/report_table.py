"""Scores as tables for a terminal: means over intervals, runs under each other."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.scores import Counts, Scores
from branchwise.eval.tasks import Column, get_task
from branchwise.ui.console import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

NamedScores = tuple[str, Scores]
"""A run's name and its scores."""

_NOTHING = "–"


def report_tables(runs: Sequence[NamedScores]) -> "Iterator[RenderableType]":
    """What to print for one run or several, in order: tables, what their numbers mean, counts.

    Runs of different tasks stand apart. A column that no run has a value for is left out, and so
    is the subset `all` where it says what another one says.
    """
    for task in dict.fromkeys(scores.scorer.task for _, scores in runs):
        chosen = [(name, scores) for name, scores in runs if scores.scorer.task == task]
        columns = [c for c in get_task(task).columns if _has_values(c, chosen)]
        for title in dict.fromkeys(column.table for column in columns):
            # Not as the table's own title: that is wrapped to the table's width.
            name = f" · {printable(chosen[0][0])[:200]}" if len(chosen) == 1 else ""
            yield _text(f"\n{title}{name}", "bold")
            yield _table([c for c in columns if c.table == title], chosen)
        yield _notes(columns, chosen)
        yield _counts(chosen)


def _has_values(column: Column, runs: Sequence[NamedScores]) -> bool:
    return any(scores.aggregates["all"][column.key].n for _, scores in runs)


def _table(columns: Sequence[Column], runs: Sequence[NamedScores]) -> "Table":
    from rich import box
    from rich.table import Table

    # Six columns of the widest intervals ("1.00–1.00") just fit a terminal of 80.
    room = 1 if len(columns) < 6 else 0
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, room, 0, 0))
    table.add_column(overflow="fold", min_width=11)
    table.add_column("\nn", justify="right")
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for subset in _subsets(runs):
        if len(runs) > 1:
            table.add_section()
            table.add_row(_text(subset, "bold"))
        for name, scores in runs:
            label = _text(subset) if len(runs) == 1 else _indented(_text(printable(name)[:200]))
            n = scores.questions(subset)
            found = scores.aggregates[subset]
            cells = [_cell(found[column.key], column.digits, n) for column in columns]
            table.add_row(label, str(n), *cells)
    return table


def _subsets(runs: Sequence[NamedScores]) -> list[str]:
    kinds = [k for k in ("ambiguous", "unambiguous") if any(s.questions(k) for _, s in runs)]
    return kinds if len(kinds) == 1 else [*kinds, "all"]


def _cell(found: Aggregate, digits: int, questions: int) -> "Text":
    """The mean; under it the interval, and n where it is not the number of questions."""
    text = _text(_number(found.mean, digits))
    if found.low is not None and found.high is not None:
        joint = " to " if found.low < 0 else "–"
        interval = f"\n{_number(found.low, digits)}{joint}{_number(found.high, digits)}"
        text.append(interval, style="dim")
    if 0 < found.n != questions:
        text.append(f"\nn={found.n}", style="dim")
    return text


def _number(value: float | None, digits: int) -> str:
    """As papers print it: no zero before the point."""
    if value is None:
        return _NOTHING
    shown = f"{value:.{digits}f}"
    if float(shown) == 0:
        shown = shown.lstrip("-")
    return shown.replace("0.", ".", 1) if abs(float(shown)) < 1 else shown


def _notes(columns: Sequence[Column], runs: Sequence[NamedScores]) -> "Padding":
    scorer = runs[0][1].scorer
    notes = [column.note for column in columns if column.note]
    notes.append(
        f"n: questions; below a mean its 95% bootstrap interval; matcher: {scorer.matcher}"
    )
    return _indented(_text("\n" + "\n".join(notes), "dim"))


def _counts(runs: Sequence[NamedScores]) -> "Padding":
    text = _text("")
    for name, scores in runs:
        counts = scores.counts
        text.append(f"\n{printable(name)[:200]}: items {counts.items} · answered {counts.answered}")
        for what, number in _losses(counts):
            text.append(f" · {what} {number}", style="bold red" if number else "")
    return _indented(text)


def _losses(counts: Counts) -> list[tuple[str, int]]:
    losses = [("failed", counts.failed), ("format errors", counts.format_errors)]
    rarer = [("without a prediction", counts.missing), ("not ended", counts.pending)]
    return losses + [loss for loss in rarer if loss[1]]


def _indented(text: "Text") -> "Padding":
    """Every line of it, also those that a narrow terminal wraps, two columns in."""
    from rich.padding import Padding

    return Padding(text, (0, 0, 0, 2), expand=False)


def _text(text: str, style: str = "") -> "Text":
    """Text that is never read as markup."""
    from rich.text import Text

    return Text(text, style=style)
