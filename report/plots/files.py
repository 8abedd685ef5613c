"""All figures of a report as files."""

from collections.abc import Sequence

from branchwise.report.figures.changes import change_figures, model_change_figures
from branchwise.report.figures.cost import cost_figure
from branchwise.report.figures.errors import error_shares
from branchwise.report.figures.lines import ceilings, line_figures
from branchwise.report.figures.losses import losses
from branchwise.report.figures.protocols import protocol_figure
from branchwise.report.plots.ceilings import draw_ceilings
from branchwise.report.plots.changes import draw_changes, draw_model_changes
from branchwise.report.plots.cost import draw_cost
from branchwise.report.plots.drawing import FORMATS, Drawing, paper_style, saved
from branchwise.report.plots.error_classes import draw_error_classes
from branchwise.report.plots.errors import draw_errors
from branchwise.report.plots.recall import draw_lines
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
            draw_errors(report, lost) if lost else None,
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
