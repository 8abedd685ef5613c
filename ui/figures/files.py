"""All figures of a report as files."""

from collections.abc import Sequence

from branchwise.eval.reporting.figures.lines import line_figures
from branchwise.eval.reporting.figures.protocols import protocol_figure
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.figures.ceilings import draw_ceilings
from branchwise.ui.figures.changes import draw_changes, draw_model_changes
from branchwise.ui.figures.cost import draw_cost
from branchwise.ui.figures.drawing import Drawing, paper_style
from branchwise.ui.figures.error_classes import draw_error_classes
from branchwise.ui.figures.errors import draw_errors
from branchwise.ui.figures.recall import draw_lines

CAPTIONS = "captions.txt"


def draw_all(report: StudyReport) -> tuple[Drawing, ...]:
    """Every figure that the report has anything for. Loads matplotlib."""
    with paper_style():
        drawn = [
            draw_changes(report),
            draw_model_changes(report),
            draw_errors(report),
            draw_error_classes(report),
            *map(draw_lines, line_figures(report)),
            *([draw_lines(one)] if (one := protocol_figure(report)) else []),
            draw_cost(report),
            draw_ceilings(report),
        ]
    return tuple(drawing for drawing in drawn if drawing)


def figure_files(report: StudyReport) -> dict[str, bytes]:
    """File name to its content: SVG, PDF and PNG of each figure, and a text with their captions.

    The same report gives the same bytes with the same version of matplotlib.
    """
    return captioned(draw_all(report))


def captioned(drawn: Sequence[Drawing]) -> dict[str, bytes]:
    """The files of drawings, and their captions."""
    captions = "\n\n".join(f"{drawing.name}\n{drawing.caption}" for drawing in drawn)
    files = {
        f"{drawing.name}.{kind}": data for drawing in drawn for kind, data in drawing.files.items()
    }
    return {**files, CAPTIONS: f"{captions}\n".encode()}
