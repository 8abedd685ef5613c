"""Everything that is printed of a scored predictions file: scores, losses, costs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.eval.left_out import run_left_out
from branchwise.eval.scoring_predictions import ScoredFile
from branchwise.ui.cells import indented, plain
from branchwise.ui.console import printable
from branchwise.ui.cost_table import cost_tables
from branchwise.ui.error_table import error_tables
from branchwise.ui.matcher_notes import matcher_lines
from branchwise.ui.report_table import report_tables

if TYPE_CHECKING:
    from rich.console import RenderableType

_SHOWN = 5
_MAX_ID = 80


def predictions_report(name: str, found: ScoredFile) -> "Iterator[RenderableType]":
    """The tables, with what a file without traces cannot say left out."""
    scores, by_model = [(name, found.scores)], name
    if found.lexical is not None:
        by_model = f"{name} · llm"
        scores = [(f"{name} · lexical", found.lexical), (by_model, found.scores)]
    yield from report_tables(scores)
    refused = [printable(one.words) for one in run_left_out((), found.settled)]
    lines = [*_without(found.missing), *refused, *matcher_lines(found.settled)]
    if lines:
        yield indented(plain("\n".join(["", *lines])))
    if found.errors is not None:
        yield from error_tables([(by_model, found.errors)])
    if found.costs is not None:
        yield from cost_tables([(name, found.costs)])


def _without(ids: Sequence[str]) -> Iterator[str]:
    """The first questions that the file does not answer."""
    if ids:
        first = ", ".join(printable(id)[:_MAX_ID] for id in ids[:_SHOWN])
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        yield f"without a prediction: {first}{more}"
