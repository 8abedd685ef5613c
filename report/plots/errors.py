"""Where the gold answers are: right, or lost at one place of the way, as stacked bars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import percent
from branchwise.report.figures.losses import PLACES, Bar, Losses
from branchwise.report.plots.drawing import (
    BLUE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    Drawing,
    add_legend,
    name_rows,
    new_figure,
    row_height,
    tips,
)
from branchwise.report.study_report import StudyReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From dark to light as far as the hatches go, so that neighbours differ in grey, too.
_LOOKS: tuple[dict[str, Any], ...] = (
    {"facecolor": BLUE},
    {"facecolor": SKY, "hatch": "/////"},
    {"facecolor": PURPLE, "hatch": "xxxxx"},
    {"facecolor": ORANGE},
    {"facecolor": YELLOW, "hatch": "||||||"},
    {"facecolor": "lightgrey", "hatch": "....."},
    {"facecolor": "white", "hatch": "+++++"},
    {"facecolor": VERMILION, "hatch": "\\\\\\\\\\"},
    {"facecolor": "dimgrey"},
    {"facecolor": "white"},
)
_LABELLED = 0.08
_ON_DARK = (0, 8)


def draw_errors(report: StudyReport, found: Sequence[Losses]) -> Drawing:
    """A panel a subset, a bar a system, all bars 100%."""
    names = [bar.name for bar in found[0].bars]
    height = 0.95 + len(found) * (0.25 + len(names) * row_height(names))
    figure, panels = new_figure(height, len(found))
    for axes, lost in zip(panels, found, strict=True):
        _draw(axes, lost.bars)
        axes.set_title(report.task.questions_words(lost.subset))
        name_rows(axes, names)
    panels[-1].set_xlim(0, 1)
    panels[-1].set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25", "50", "75", "100"])
    panels[-1].set_xlabel("gold answers, %")
    used = sorted({place for lost in found for place in lost.used})
    add_legend(figure, [_handle(place) for place in used], [PLACES[place] for place in used])
    caption = (
        "Gold answers by branch that are right, and where the others were lost, as shares of all "
        "gold answers of all items."
    )
    caution = next((bar.caution for lost in found for bar in lost.bars if bar.caution), "")
    caption = f"{caption} {caution}".rstrip()
    return Drawing("errors", caption, figure)


def _draw(axes: "Axes", bars: Sequence[Bar]) -> None:
    for row, bar in enumerate(bars):
        whole, left = bar.gold, 0.0
        for place, count in enumerate(bar.counts):
            share = count / whole if whole else 0.0
            if count:
                said = f"{PLACES[place]}: {count:,} of {whole:,} ({percent(count, whole)})"
                look = {"edgecolor": "black", "linewidth": 0.4, **_LOOKS[place]}
                axes.barh(row, share, 0.7, left, gid=tips(f"{bar.name}: {said}"), **look)
            if share >= _LABELLED:
                _label(axes, left + share / 2, row, share, place)
            left += share


def _label(axes: "Axes", x: float, row: int, share: float, place: int) -> None:
    dark = place in _ON_DARK
    box = None if dark else {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
    axes.text(
        x,
        row,
        f"{share:.0%}".rstrip("%"),
        ha="center",
        va="center_baseline",
        fontsize=6,
        color="white" if dark else "black",
        bbox=box,
    )


def _handle(place: int) -> Any:
    from matplotlib.patches import Patch

    return Patch(edgecolor="black", linewidth=0.4, **_LOOKS[place])
