"""Errors by class: a column a class, a row a system, a band of rows a subset."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import percent
from branchwise.eval.errors.labels import ErrorClass, ErrorType
from branchwise.report.error_counts import ErrorCounts
from branchwise.report.figures.errors import ErrorShares, SystemErrors
from branchwise.report.plots.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    SKY,
    Drawing,
    add_legend,
    name_columns,
    name_rows,
    new_grid,
    row_height,
    tips,
)
from branchwise.report.study_report import StudyReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (ORANGE, BLUE, GREEN, SKY)
_BAR, _ACROSS = 0.62, 0.11
_LINE: dict[str, Any] = {"color": BLACK, "linewidth": 0.9}
_HOLLOW: dict[str, Any] = {"facecolor": "white", "edgecolor": BLACK, "linewidth": 0.6}
_OVER, _ABOVE, _THIN, _BELOW = 0.36, 0.12, 0.16, 0.28
"""Heights of a bar over another and of that one, and how far each is from its row's middle."""
_ROOM = 1.42
"""The end of the axis, with room for the number beside a whole bar."""


def draw_error_classes(report: StudyReport, found: Sequence[ErrorShares]) -> Drawing:
    """Bars of the shares of the items that are not exact."""
    names = [one.name for one in found[0].systems]
    used = {group.key for shares in found for group in shares.classes}
    of = found[0].of
    classes = [one for one in of.classes if one.key in used]
    height = 0.95 + len(found) * (0.3 + len(names) * row_height(names))
    figure, bands = new_grid(height, len(found), len(classes))
    for band, of_subset in zip(bands, found, strict=True):
        for axes, group in zip(band, classes, strict=True):
            for row, one in enumerate(of_subset.systems):
                _draw(axes, one, group, row, _COLOURS[of.classes.index(group) % len(_COLOURS)])
            axes.tick_params(axis="y", length=0)
        band[0].set_title(report.task.questions_words(of_subset.subset))
        name_rows(band[0], names)
    name_columns(bands[0], [group.title for group in classes])
    axes.set_xlim(0, _ROOM)
    axes.set_xticks([0, 0.5, 1], labels=["0", "", "100"])
    _legend(figure, hollow=any(group.published for group in classes))
    return Drawing("error-classes", " ".join([found[0].caption, *of.says]), figure)


def _draw(axes: "Axes", one: SystemErrors, group: ErrorClass[Any], row: int, colour: str) -> None:
    share, of_all = one.counts.of_inexact(group) or 0, one.counts.of_all(group) or 0
    place, height = (row, _BAR) if group.published is None else (row - _ABOVE, _OVER)
    axes.barh(place, share, height, color=colour, gid=tips(_told(one, group)))
    ends = [place - height / 2 - _ACROSS, place + height / 2 + _ACROSS]
    axes.plot([of_all] * 2, ends, **_LINE)
    _number(axes, max(share, of_all), place, one.counts, group)
    if group.published:
        own = one.counts.of_inexact(group.published) or 0
        axes.barh(row + _BELOW, own, _THIN, gid=tips(_told(one, group, by_paper=True)), **_HOLLOW)
        _number(axes, own, row + _BELOW, one.counts, group.published)


def _told(one: SystemErrors, group: ErrorClass[Any], *, by_paper: bool = False) -> str:
    counts = one.counts
    if by_paper and (of_paper := group.published):
        own = counts.inexact_with[of_paper.key]
        share = percent(own, counts.inexact)
        return f"{one.name}: {group.title} {of_paper.title}: {own:,} ({share})"
    inexact, of_all = counts.inexact_with[group.key], counts.with_error[group.key]
    return (
        f"{one.name}: {group.title}: {inexact:,} of {counts.inexact:,} that are not exact "
        f"({percent(inexact, counts.inexact)}), {of_all:,} of all {counts.items:,} "
        f"({percent(of_all, counts.items)})"
    )


def _number(
    axes: "Axes",
    x: float,
    y: float,
    counts: ErrorCounts,
    kind: ErrorClass[Any] | ErrorType[Any],
) -> None:
    """The share of a bar behind its end."""
    said = percent(counts.inexact_with[kind.key], counts.inexact).rstrip("%")
    size = 6 if isinstance(kind, ErrorClass) else 5
    axes.text(x + 0.05, y, said, va="center_baseline", fontsize=size)


def _legend(figure: "Figure", *, hollow: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    line = Line2D([], [], color=BLACK, linestyle="none", marker="|", markersize=7)
    handles: list[Any] = [Patch(color="0.6"), line]
    labels = ["% of the items that are not exact", "% of all items"]
    if hollow:
        handles.append(Patch(**_HOLLOW))
        labels.append("the first, by the paper's own sentence")
    add_legend(figure, handles, labels)
