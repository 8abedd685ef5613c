"""Figures of the page: a drawing, its legend, what it says, and the table behind it."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.html.svg import key
from branchwise.ui.html.systems import system_name
from branchwise.ui.html.tables import Table


@dataclass(frozen=True)
class Figure:
    """`legend`: pairs of a mark and what it stands for; none where the drawing names them."""

    title: str
    drawing: Markup
    table: Table
    note: str = ""
    legend: tuple[tuple[Markup, str], ...] = ()


def system_legend(
    report: StudyReport, indices: Iterable[int] | None = None
) -> tuple[tuple[Markup, str], ...]:
    """The marks of the systems with these numbers, of all without."""
    chosen = range(len(report.systems)) if indices is None else indices
    return tuple((key(i), system_name(report.systems[i])) for i in chosen)


def swatch(kind: str) -> Markup:
    """A patch of colour for a legend; `kind` is a class of the style sheet."""
    return Markup(
        '<svg viewBox="0 0 14 14" class="key" aria-hidden="true">'
        '<rect x="1" y="1" width="12" height="12" rx="2" class="part {}"></rect></svg>'
    ).format(kind)
