"""Everything that is printed of scored runs, in order: scores, losses, ceilings, costs,
and what the modules did."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.scores import Scores
from branchwise.eval.scoring import ScoredRun
from branchwise.ui.breakdown_table import breakdown_tables
from branchwise.ui.ceiling_table import ceiling_tables
from branchwise.ui.cells import indented, plain, run_name
from branchwise.ui.console import printable
from branchwise.ui.cost_table import cost_tables
from branchwise.ui.epoch_table import epoch_tables
from branchwise.ui.error_table import error_tables
from branchwise.ui.matcher_notes import matcher_lines
from branchwise.ui.module_lines import module_notes
from branchwise.ui.report_table import report_tables

if TYPE_CHECKING:
    from rich.console import RenderableType

NamedRun = tuple[str, ScoredRun]
"""A run's name and what its scoring came to."""


def run_report(
    runs: Sequence[NamedRun], by: Sequence[str] = (), *, brief: bool = False
) -> "Iterator[RenderableType]":
    """The tables of one run, or of several beside each other; `by` names breakdowns to add.

    `brief` leaves out the ceilings, and costs where nothing was paid or counted.
    """
    yield from report_tables([pair for name, run in runs for pair in named_scores(name, run)])
    for name, run in runs:
        refused = [printable(one.words) for one in run.left_out]
        if lines := [*refused, *matcher_lines(run.settled)]:
            title = [f"\n{run_name(name)}"] if len(runs) > 1 else [""]
            yield indented(plain("\n".join([*title, *lines])))
    # Of both matchers, the model's alignment is the one that is analysed.
    analysed = [(named_scores(n, run)[-1][0], run.analysis) for n, run in runs if run.analysis]
    yield from error_tables([(name, analysis.errors) for name, analysis in analysed])
    if not brief:
        yield from ceiling_tables([(n, a.ceilings, a.curve("calls")) for n, a in analysed])
    yield from epoch_tables([(name, a.epochs, a.task.headline) for name, a in analysed if a.epochs])
    for grouping in by:
        for name, analysis in analysed:
            found = analysis.breakdown(grouping)
            yield from breakdown_tables(name, found, analysis.task.headline)
    if any(map(_has_costs, (run for _, run in runs))) or not brief:
        yield from cost_tables([(name, run.costs) for name, run in runs])
    # Last, where they are seen: a module that never worked leaves no other mark.
    epochs = any(row.epoch for _, run in runs for row in run.scores.items)
    yield from module_notes([(name, run.modules) for name, run in runs], epochs=epochs)


def _has_costs(run: ScoredRun) -> bool:
    """Whether there is more to say than that a model without tokens was called."""
    costs = run.costs
    return bool(costs.usage.input or costs.unsplit.tokens or costs.cost != 0)


def named_scores(name: str, run: ScoredRun) -> list[tuple[str, Scores]]:
    """A run's scores, under two names where both matchers were asked."""
    if run.lexical is None:
        return [(name, run.scores)]
    return [(f"{name} · lexical", run.lexical), (f"{name} · llm", run.scores)]
