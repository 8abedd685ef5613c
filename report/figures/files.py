"""All figures of a report as files; those that it has nothing for, and why."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from branchwise.report.figures.changes import (
    change_figures,
    draw_changes,
    draw_model_changes,
    model_change_figures,
)
from branchwise.report.figures.cost import cost_figure, draw_cost
from branchwise.report.figures.drawing import FORMATS, Drawing, paper_style, saved
from branchwise.report.figures.errors import draw_error_classes, error_shares
from branchwise.report.figures.lines import (
    ceilings,
    draw_ceilings,
    draw_lines,
    line_figures,
    protocol_figure,
)
from branchwise.report.figures.losses import draw_losses, losses
from branchwise.report.study_report import StudyReport

CAPTIONS = "captions.txt"


def figure_files(report: StudyReport) -> dict[str, bytes]:
    """File name to its content: SVG, PDF and PNG of each figure that the report has anything for,
    and a text with their captions. Loads matplotlib.

    The same report gives the same bytes with the same version of matplotlib.
    """
    changes, by_model = change_figures(report), model_change_figures(report)
    lost = [one for subset in report.parts if (one := losses(report, subset))]
    errors = [shares for subset in report.parts if (shares := error_shares(report, subset))]
    ways = [(subset, way) for subset in report.parts if (way := ceilings(report, subset))]
    cost = cost_figure(report)
    lines = [*line_figures(report), *([asked] if (asked := protocol_figure(report)) else [])]
    with paper_style():
        drawn = [
            draw_changes(report, changes) if changes else None,
            draw_model_changes(report, by_model) if by_model else None,
            draw_losses(report, lost) if lost else None,
            draw_error_classes(report, errors) if errors else None,
            *map(draw_lines, lines),
            draw_cost(cost) if cost else None,
            draw_ceilings(report, ways) if ways else None,
        ]
        return captioned([one for one in drawn if one])


def captioned(drawn: Sequence[Drawing]) -> dict[str, bytes]:
    """The files of drawings, without their tips, and their captions."""
    captions = "\n\n".join(f"{drawing.name}\n{drawing.caption}" for drawing in drawn)
    for drawing in drawn:
        for artist in drawing.figure.findobj(lambda artist: artist.get_gid() is not None):
            artist.set_gid(None)
    files = {f"{one.name}.{kind}": saved(one, kind) for one in drawn for kind in FORMATS}
    return {**files, CAPTIONS: f"{captions}\n".encode()}


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
