"""What each system of a study changes: a line for each main metric, against its base."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from branchwise.base.text import printable
from branchwise.eval.comparison import Comparison, summary_line
from branchwise.eval.scores import common_columns
from branchwise.report.study_report import SystemReport, compare_with_bases
from branchwise.report.terminal.cells import heading, indented, plain, run_name
from branchwise.report.terminal.module_lines import NOTICE

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


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
