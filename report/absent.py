"""The figures that a report has nothing for, and why."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from branchwise.report.figures.changes import change_figures, model_change_figures
from branchwise.report.figures.cost import cost_figure
from branchwise.report.figures.errors import error_shares
from branchwise.report.figures.lines import ceilings, line_figures
from branchwise.report.figures.losses import losses
from branchwise.report.figures.protocols import protocol_figure
from branchwise.report.study_report import StudyReport

_NOT_ENTITIES = "answers of this task are not entities, which could be followed through a trace"


class AbsentFigure(NamedTuple):
    """What a figure shows, and why there is none."""

    title: str
    why: str


class _Kind(NamedTuple):
    title: str
    is_there: Callable[[StudyReport], bool]
    why: Callable[[StudyReport], str]


def absent_figures(report: StudyReport) -> Iterator[AbsentFigure]:
    """In the order in which the page has them."""
    for kind in _KINDS:
        if not kind.is_there(report):
            yield AbsentFigure(kind.title, kind.why(report))


def _changes(report: StudyReport) -> str:
    return "there is one system" if len(report.systems) == 1 else "nothing can be compared"


def _errors(report: StudyReport) -> str:
    if report.error_classes is None:
        return "answers of this task are not examined for errors"
    return "no item has an error"


def _traced(report: StudyReport) -> str:
    return "nothing was recorded" if report.task.is_attributable else _NOT_ENTITIES


def _protocols(report: StudyReport) -> str:
    if not report.task.is_graded:
        return "there is no such figure of this task"
    return "no two systems differ in their protocol alone"


_KINDS = (
    _Kind("scores by protocol", lambda report: protocol_figure(report) is not None, _protocols),
    _Kind(
        "what each change does",
        lambda report: bool([*model_change_figures(report)] or change_figures(report)),
        _changes,
    ),
    _Kind("where gold answers are", lambda report: losses(report, "all") is not None, _traced),
    _Kind(
        "errors by class",
        lambda report: any(error_shares(report, subset) for subset in report.parts),
        _errors,
    ),
    _Kind("recall and effort", lambda report: bool(line_figures(report)), _traced),
    _Kind(
        "what it costs",
        lambda report: cost_figure(report) is not None,
        lambda _: "what was spent is not known of all systems",
    ),
    _Kind(
        "ceilings",
        lambda report: any(ceilings(report, subset) for subset in report.subsets),
        _traced,
    ),
)
