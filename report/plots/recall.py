"""Recall against tool calls, branches and steps, and what had been retrieved after each call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.eval.bootstrap import Aggregate
from branchwise.report.figures.lines import Lines, Series
from branchwise.report.plots.drawing import (
    Drawing,
    add_legend,
    colour,
    legend_height,
    line_look,
    new_figure,
    share_ticks,
    system_name,
    tips,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.0  # without the legend
_MOST_BANDS = 3


def draw_lines(found: Lines) -> Drawing:
    """Recall by bins stands beside each other; a curve has a band where there are few."""
    names = [system_name(one.name) for one in found.series]
    figure, (axes,) = new_figure(_HEIGHT + legend_height(names))
    if found.is_curve:
        _draw_curves(axes, found)
    else:
        _draw_bins(axes, found)
    axes.set_xlabel(found.x)
    axes.set_ylim(bottom=0, top=min(1.03, axes.get_ylim()[1]))
    share_ticks(axes.yaxis)
    axes.set_ylabel(found.y)
    axes.grid(axis="y", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    _legend(figure, found.series, names)
    return Drawing(found.name, found.caption, figure)


def _draw_bins(axes: "Axes", found: Lines) -> None:
    for index, one in enumerate(found.series):
        # Systems stand beside each other, so that their intervals can be told apart.
        apart = min(0.1, 0.6 / len(found.series))
        shift = (index - (len(found.series) - 1) / 2) * apart
        joined = _known(one, found)
        means = [value.mean or 0.0 for _, value in joined]
        look = line_look(one.index)
        if joined:  # an empty line has no place, and would leave the axes none
            said = tips(*(one.told(found.columns[place], value) for place, value in joined))
            axes.plot(
                [place + shift for place, _ in joined], means, clip_on=False, gid=said, **look
            )
        for place, value in _known(one):
            x = place + shift
            if (place, value) not in joined:
                alone = {**look, "linestyle": "none", "markerfacecolor": "white", "alpha": 0.6}
                said = tips(one.told(found.columns[place], value))
                axes.plot([x], [value.mean or 0.0], clip_on=False, gid=said, **alone)
            if value.low is not None and value.high is not None:
                ends = [value.low, value.high]
                axes.plot([x, x], ends, color=colour(one.index), linewidth=0.6)
    axes.set_xticks(range(len(found.columns)), labels=_with_n(found))
    axes.set_xlim(-0.5, len(found.columns) - 0.5)


def _draw_curves(axes: "Axes", found: Lines) -> None:
    from matplotlib.ticker import MaxNLocator

    for one in found.series:
        known = _known(one)
        efforts = [int(found.columns[place].replace(",", "")) for place, _ in known]
        means = [value.mean or 0.0 for _, value in known]
        first, step = _markers(one.index, len(known))
        marked = known[first::step]
        said = tips(*(one.told(found.columns[place], value) for place, value in marked))
        axes.plot(efforts, means, **line_look(one.index), markevery=(first, step), gid=said)
        if len(found.series) <= _MOST_BANDS:
            lows = [m if v.low is None else v.low for m, (_, v) in zip(means, known, strict=True)]
            highs = [
                m if v.high is None else v.high for m, (_, v) in zip(means, known, strict=True)
            ]
            shade = colour(one.index)
            axes.fill_between(efforts, lows, highs, color=shade, alpha=0.12, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))


def _known(one: Series, joined_in: Lines | None = None) -> list[tuple[int, Aggregate]]:
    """The columns, by their place, that the system has a mean for; those that its line joins."""
    return [
        (n, of[0])
        for n, of in enumerate(one.means)
        if of and of[0].mean is not None and (joined_in is None or joined_in.joins(of))
    ]


def _with_n(found: Lines) -> list[str]:
    """Bins with their questions, where these are as many for all systems."""
    labels = []
    for place, label in enumerate(found.columns):
        counts = {of[1] for one in found.series if (of := one.means[place])}
        labels.append(f"{label}\nn={min(counts)}" if len(counts) == 1 else label)
    return labels


def _markers(index: int, count: int) -> tuple[int, int]:
    """Not at every point of a long line, and not at the same points as its neighbours."""
    every = max(1, count // 8)
    return (index % every, every)


def _legend(figure: Any, series: Sequence[Series], names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    add_legend(figure, [Line2D([], [], **line_look(one.index)) for one in series], names)
