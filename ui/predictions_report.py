"""Everything that is printed of a scored predictions file: scores, losses, costs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.eval.costs.usage import NO_COSTS
from branchwise.eval.left_out import run_left_out
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.scoring import ScoredRun
from branchwise.eval.scoring_predictions import ScoredFile
from branchwise.ui.cells import indented, plain
from branchwise.ui.console import printable
from branchwise.ui.cost_table import cost_tables
from branchwise.ui.error_table import error_tables
from branchwise.ui.matcher_notes import matcher_lines
from branchwise.ui.report_table import score_tables

if TYPE_CHECKING:
    from rich.console import RenderableType

_SHOWN = 5
_MAX_ID = 80


def predictions_report(name: str, found: ScoredFile) -> "Iterator[RenderableType]":
    """The tables, with what a file without traces cannot say left out."""
    costs = found.costs or NO_COSTS
    run = ScoredRun(Path(name), found.scores, costs, found.settled, found.lexical)
    report = StudyReport.beside([SystemReport(name, run)])
    yield from score_tables(report)
    refused = [printable(one.words) for one in run_left_out((), found.settled)]
    lines = [*_without(found.missing), *refused, *matcher_lines(found.settled)]
    if lines:
        yield indented(plain("\n".join(["", *lines])))
    if found.errors is not None:
        yield from error_tables([(report.by_matcher().systems[-1].name, found.errors)])
    if found.costs is not None:
        yield from cost_tables(report)


def _without(ids: Sequence[str]) -> Iterator[str]:
    """The first questions that the file does not answer."""
    if ids:
        first = ", ".join(printable(id)[:_MAX_ID] for id in ids[:_SHOWN])
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        yield f"without a prediction: {first}{more}"
