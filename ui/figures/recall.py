"""Recall against tool calls, branches and steps, and what had been retrieved after each call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.eval.ceilings.breakdowns import UNKNOWN, Bin
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.losses import analysed
from branchwise.ui.figures.drawing import (
    Drawing,
    add_legend,
    colour,
    finish,
    legend_height,
    line_look,
    new_figure,
    share_ticks,
    system_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.0  # without the legend
_MOST_BANDS = 3
_AXES = {
    "branches": "gold branches of the question",
    "steps": "steps of the question's plan",
    "calls": "tool calls made for the question",
}


def draw_recall_by(report: StudyReport, by: str) -> Drawing | None:
    """Recall of each system by a property; None where no question has it."""
    recall = report.task.main
    named = [
        (index, name, [one for one in analysis.breakdown(by).bins if one.label != UNKNOWN])
        for index, (name, analysis) in enumerate(analysed(report))
    ]
    labels = sorted({one.label for _, _, bins in named for one in bins}, key=_first_number)
    if not labels:
        return None
    figure, (axes,) = new_figure(_HEIGHT + legend_height([system_name(one[1]) for one in named]))
    for index, _, bins in named:
        _draw_bins(axes, index, _shift(index, len(named)), bins, labels, recall.key)
    axes.set_xticks(range(len(labels)), labels=_with_n(labels, [bins for _, _, bins in named]))
    axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.set_xlabel(_AXES[by])
    _finish_axes(axes, recall.name)
    _legend(figure, [(index, name) for index, name, _ in named])
    caption = (
        f"{recall.name.capitalize()} against the number of {_AXES[by]}: means with 95% bootstrap "
        "intervals over the questions in each bin (n, where it is the same for all systems)."
    )
    return finish(figure, f"recall-by-{by}", caption)


def draw_retrieved(report: StudyReport) -> Drawing | None:
    """Recall of a perfect reader after each tool call; None where nothing was retrieved."""
    from matplotlib.ticker import MaxNLocator

    named = [
        (index, name, analysis.curve("calls").points)
        for index, (name, analysis) in enumerate(analysed(report))
    ]
    named = [one for one in named if one[2]]
    if not named:
        return None
    figure, (axes,) = new_figure(_HEIGHT + legend_height([system_name(one[1]) for one in named]))
    for index, _, points in named:
        known = [point for point in points if point.recall.mean is not None]
        efforts = [point.effort for point in known]
        means = [point.recall.mean or 0.0 for point in known]
        axes.plot(efforts, means, **line_look(index), markevery=_markers(index, len(efforts)))
        if len(named) <= _MOST_BANDS:
            lows = [
                m if p.recall.low is None else p.recall.low
                for m, p in zip(means, known, strict=True)
            ]
            highs = [
                m if p.recall.high is None else p.recall.high
                for m, p in zip(means, known, strict=True)
            ]
            axes.fill_between(efforts, lows, highs, color=colour(index), alpha=0.12, linewidth=0)
    axes.set_xlabel("tool calls made so far")
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    _finish_axes(axes, "recall of what was retrieved")
    _legend(figure, [(index, name) for index, name, _ in named])
    caption = (
        "Recall of a perfect reader over what had been retrieved after each tool call, over all "
        "questions; questions that made fewer calls keep their last value."
    )
    return finish(figure, "retrieved-by-calls", caption)


def _draw_bins(
    axes: "Axes", index: int, shift: float, bins: Sequence[Bin], labels: Sequence[str], recall: str
) -> None:
    found = [(labels.index(one.label) + shift, one.aggregates[recall]) for one in bins]
    known = [(x, value.mean, value) for x, value in found if value.mean is not None]
    axes.plot(
        [x for x, _, _ in known], [mean for _, mean, _ in known], clip_on=False, **line_look(index)
    )
    for x, _, value in known:
        if value.low is not None and value.high is not None:
            axes.plot([x, x], [value.low, value.high], color=colour(index), linewidth=0.6)


def _shift(index: int, count: int) -> float:
    """Systems stand beside each other, so that their intervals can be told apart."""
    return (index - (count - 1) / 2) * min(0.1, 0.6 / count)


def _with_n(labels: Sequence[str], systems: Sequence[Sequence[Bin]]) -> list[str]:
    counts = {
        label: {one.questions for bins in systems for one in bins if one.label == label}
        for label in labels
    }
    return [
        f"{label}\nn={min(counts[label])}" if len(counts[label]) == 1 else label for label in labels
    ]


def _first_number(label: str) -> int:
    digits = label.split("-")[0].rstrip("+").replace(",", "")
    return int(digits) if digits.isdigit() else 2**62


def _markers(index: int, count: int) -> Any:
    """Not at every point of a long line, and not at the same points as its neighbours."""
    every = max(1, count // 8)
    return (index % every, every)


def _finish_axes(axes: "Axes", title: str) -> None:
    axes.set_ylim(bottom=0, top=min(1.03, axes.get_ylim()[1]))
    share_ticks(axes.yaxis)
    axes.set_ylabel(title)
    axes.grid(axis="y", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)


def _legend(figure: Any, named: Sequence[tuple[int, str]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **line_look(index)) for index, _ in named]
    add_legend(figure, handles, [system_name(name) for _, name in named])
