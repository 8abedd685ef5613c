"""Figures of what went wrong."""

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.html.bars import LabelBar, StackedBar, draw_labels, draw_stacked
from branchwise.ui.html.figures import Figure, swatch, system_legend
from branchwise.ui.html.lost import LABELS, PLACES, RIGHT, label_table, losses, lost_table
from branchwise.ui.html.systems import system_name


def error_figures(report: StudyReport) -> list[Figure]:
    """Where gold answers are, and which kinds of error the items have."""
    found = [_lost(report), _labels(report)]
    return [figure for figure in found if figure]


def _lost(report: StudyReport) -> Figure | None:
    bars = []
    for system in report.systems:
        if found := losses(system):
            bars.append(StackedBar(system_name(system), ((found.right, RIGHT), *found.parts)))
    if not bars:
        return None
    title = "Where the gold answers are"
    shown = [
        (index, words)
        for index, words in enumerate((RIGHT, *PLACES))
        if any(bar.parts[index][0] for bar in bars)
    ]
    legend = tuple((swatch(f"e{index}"), words) for index, words in shown)
    note = "All gold answers of all questions, branch by branch."
    return Figure(title, draw_stacked(title, bars), lost_table(report), note, legend)


def _labels(report: StudyReport) -> Figure | None:
    known = [
        (index, system_name(system), system.run.analysis.errors.subsets["all"])
        for index, system in enumerate(report.systems)
        if system.run.analysis
    ]
    bars = [
        LabelBar(words, tuple((i, name, f.labels[label].items, f.items) for i, name, f in known))
        for label, words in LABELS.items()
        if any(found.labels[label].items for _, _, found in known)
    ]
    if not bars:
        return None
    title = "Items with an error of each kind"
    legend = system_legend(report, [index for index, _, _ in known])
    note = "Shares of the items; an item may have several kinds."
    return Figure(title, draw_labels(title, bars), label_table(report), note, legend)
