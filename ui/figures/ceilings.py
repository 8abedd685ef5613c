"""Ceilings: what a perfect reader would have found at each place on the way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.losses import analysed
from branchwise.eval.reporting.tables.subsets import subsets
from branchwise.ui.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    VERMILION,
    Drawing,
    add_legend,
    finish,
    name_rows,
    new_figure,
    row_height,
    share_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLACES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ceiling_reach", "within reach of the tools", {"color": BLUE, "marker": "|"}),
    ("ceiling_retrieved", "retrieved", {"color": ORANGE, "marker": "D"}),
    ("ceiling_extracted", "after extraction", {"color": GREEN, "marker": "v"}),
    ("ceiling_shown", "shown to the agent", {"color": VERMILION, "marker": "s"}),
)
_OWN = {"color": BLACK, "marker": "o"}
_HOLLOW = {"markerfacecolor": "white", "markeredgewidth": 0.8}


def draw_ceilings(report: StudyReport) -> Drawing | None:
    """A panel a subset, a row a system, a marker a place; None where no evidence was recorded."""
    known = [
        (name, analysis.ceilings.aggregates)
        for name, analysis in analysed(report)
        if analysis.ceilings.aggregates["all"]["ceiling_retrieved"].n
    ]
    if not known:
        return None
    kinds = [subset for subset in subsets(report) if subset != "all"] or ["all"]
    names = [name for name, _ in known]
    recall = report.task.main
    own = (*_PLACES, (recall.key, "answered", _OWN))
    places = [place for place in own if _is_told(place[0], [found for _, found in known])]
    height = 0.95 + len(kinds) * (0.25 + len(names) * row_height(names))
    figure, panels = new_figure(height, len(kinds))
    for axes, subset in zip(panels, kinds, strict=True):
        for row, (_, found) in enumerate(known):
            _draw(axes, row, found[subset], places)
        axes.set_title(f"{subset} questions")
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        name_rows(axes, names)
    panels[-1].set_xlim(-0.02, 1.02)
    share_ticks(panels[-1].xaxis)
    panels[-1].set_xlabel(f"{recall.name} of a perfect reader, and of the agent")
    add_legend(figure, [_handle(look) for _, _, look in places], [words for _, words, _ in places])
    caption = (
        "Recall that a perfect reader would have had over what the tools could have given, what "
        "they returned, what extraction left and what the agent was shown; then the agent's own."
    )
    return finish(figure, "ceilings", caption)


def _is_told(key: str, systems: list[Mapping[str, Mapping[str, Aggregate]]]) -> bool:
    """Whether a place is known; extraction's only where it is not what was shown."""
    if key == "ceiling_extracted":
        return any(found["all"]["context_loss"].mean for found in systems)
    return any(found["all"][key].n for found in systems)


def _draw(
    axes: "Axes", row: int, found: Mapping[str, Aggregate], places: list[tuple[str, str, Any]]
) -> None:
    means = [(found[key].mean, look) for key, _, look in places]
    known = [(mean, look) for mean, look in means if mean is not None]
    if known:
        ends = [min(mean for mean, _ in known), max(mean for mean, _ in known)]
        axes.plot(ends, [row, row], color="0.7", linewidth=1.5, zorder=1)
    for mean, look in known:
        axes.plot([mean], [row], linestyle="none", clip_on=False, **_marker(look))


def _marker(look: dict[str, Any]) -> dict[str, Any]:
    """Hollow but for the agent's own, so that markers on each other can be seen."""
    if look["marker"] == "|":
        return {**look, "markersize": 9, "markeredgewidth": 1.2, "zorder": 2}
    if look["color"] == BLACK:
        return {**look, "markersize": 4, "zorder": 4}
    return {**look, **_HOLLOW, "markersize": 5.5 if look["marker"] == "D" else 4.5, "zorder": 3}


def _handle(look: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", **_marker(look))
