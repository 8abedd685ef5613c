"""All figures of a report as files; those that it has nothing for, and why."""

from collections.abc import Collection, Iterator, Sequence

from branchwise.base.process import Progress, silent
from branchwise.report.figures.changes import (
    change_figures,
    draw_changes,
    draw_model_changes,
    effect_figures,
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
_NOT_ENTITIES = "answers of this task are not entities, which could be followed through a trace"


_TABLES = {
    "errors": "missing",
    "error-classes": "errors",
    "cost": "costs",
    "recall-by-calls": "by-calls",
    "recall-by-branches": "by-branches",
    "recall-by-steps": "by-steps",
}
"""Of a figure that is not called as the table whose numbers it draws."""


def figure_files(
    report: StudyReport,
    tables: Collection[str] = (),
    metrics: Collection[str] = (),
    progress: Progress = silent,
) -> dict[str, bytes]:
    """File name to content: SVG, PDF and PNG of each figure that there is anything for, and
    captions; the same bytes for the same report and version of matplotlib, which it loads.
    `tables`, `metrics`: only figures of these numbers, where any are named."""
    changes, by_model = change_figures(report, metrics), model_change_figures(report, metrics)
    effects = effect_figures(report, metrics)
    lost = [bars for subset in report.parts if (bars := losses(report, subset))]
    errors = [shares for subset in report.parts if (shares := error_shares(report, subset))]
    ways = [(subset, way) for subset in report.parts if (way := ceilings(report, subset))]
    cost, by_protocol = cost_figure(report), protocol_figure(report)
    lines = [*line_figures(report), *([by_protocol] if by_protocol else [])]
    if metrics and report.task.main.key not in metrics:
        cost, lines, ways = None, [], []
    with paper_style():
        every = [
            draw_changes(report, effects) if effects else None,
            draw_changes(report, changes) if changes else None,
            draw_model_changes(report, by_model) if by_model else None,
            draw_losses(report, lost) if lost else None,
            draw_error_classes(report, errors) if errors else None,
            *map(draw_lines, lines),
            draw_cost(cost) if cost else None,
            draw_ceilings(report, ways) if ways else None,
        ]
        drawn = [
            of for of in every if of and (not tables or _TABLES.get(of.name, of.name) in tables)
        ]
        return captioned(drawn, progress)


def captioned(drawn: Sequence[Drawing], progress: Progress = silent) -> dict[str, bytes]:
    """The files of drawings, without their tips, and their captions; empty without any."""
    if not drawn:
        return {}
    captions = "\n\n".join(f"{drawing.name}\n{drawing.caption}" for drawing in drawn)
    for drawing in drawn:
        for artist in drawing.figure.findobj(lambda artist: artist.get_gid() is not None):
            artist.set_gid(None)
    files = {}
    for number, figure in enumerate(drawn, start=1):
        for form in FORMATS:
            files[f"{figure.name}.{form}"] = saved(figure, form)
            # Laid out once: a format's own letters differ by less than a pixel.
            figure.figure.set_layout_engine("none")
        progress(number, len(drawn))
    return {**files, CAPTIONS: f"{captions}\n".encode()}


def absent_figures(report: StudyReport) -> Iterator[tuple[str, str]]:
    """What each figure shows that there is none of, and why, in the order of the page."""
    task, classes = report.task, report.error_classes
    untraced = "nothing was recorded" if task.is_attributable else _NOT_ENTITIES
    if protocol_figure(report) is None:
        alike = "no two systems differ in their protocol alone"
        why = alike if task.is_graded else "there is no such figure of this task"
        yield "scores by protocol", why
    if not (model_change_figures(report) or change_figures(report)):
        alone = len(report.systems) == 1
        yield "what each change does", "there is one system" if alone else "nothing can be compared"
    if losses(report, "all") is None:
        yield "where gold answers are", untraced
    if not any(error_shares(report, subset) for subset in report.parts):
        unexamined = "answers of this task are not examined for errors"
        yield "errors by class", unexamined if classes is None else "no item has an error"
    if not line_figures(report):
        alike = "all questions are in one bin, and after one call"
        yield "recall and effort", alike if report.analysed else untraced
    if cost_figure(report) is None:
        yield "what it costs", "what was spent is not known of all systems"
    if not any(ceilings(report, subset) for subset in report.subsets):
        yield "ceilings", untraced
