"""What each system of a study changes: a line for each main metric, against the base."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.scores import Scores, common_columns
from branchwise.eval.statistics import compare_systems, summary_line
from branchwise.ui.cells import heading, indented, plain, run_name

if TYPE_CHECKING:
    from rich.console import RenderableType


def study_summary(systems: Sequence[tuple[str, Scores]]) -> "Iterator[RenderableType]":
    """The differences to the first system, if there are others."""
    if len(systems) < 2:
        return
    (base, scores), others = systems[0], dict(systems[1:])
    further = common_columns([scores, *others.values()])
    columns = (*scores.scorer.scored_task.shown, *further)
    metrics = [column.key for column in columns]
    compared = compare_systems(scores, others, metrics=metrics, subsets=("all",))
    yield heading(f"changes against {run_name(base)}", [])
    for name, comparison in compared.items():
        lines = [summary_line(found) for found in comparison.differences]
        lines += [f"caution: {said}" for said in comparison.cautions]
        text = plain(f"{run_name(name)}\n", "bold")
        text.append("\n".join(f"  {line}" for line in lines), style="not bold")
        yield indented(text)
