"""Where the gold answers are: right, or lost at one place of the way, as stacked bars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from branchwise.eval.analysis import Analysis
from branchwise.eval.reporting.fates import MISSING_KINDS, right_answers
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.losses import analysed
from branchwise.eval.reporting.tables.subsets import subsets
from branchwise.ui.figures.drawing import (
    BLUE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    Drawing,
    add_legend,
    finish,
    name_rows,
    new_figure,
    row_height,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORDS = ("right", *(kind.words for kind in MISSING_KINDS))
# From dark to light as far as the hatches go, so that neighbours differ in grey, too.
_LOOKS: tuple[dict[str, Any], ...] = (
    {"facecolor": BLUE},
    {"facecolor": SKY, "hatch": "/////"},
    {"facecolor": PURPLE, "hatch": "xxxxx"},
    {"facecolor": ORANGE},
    {"facecolor": YELLOW, "hatch": "||||||"},
    {"facecolor": "lightgrey", "hatch": "....."},
    {"facecolor": VERMILION, "hatch": "\\\\\\\\\\"},
    {"facecolor": "white"},
)
_LABELLED = 0.08
_ON_DARK = (0,)


def draw_errors(report: StudyReport) -> Drawing | None:
    """A panel a subset, a bar a system, all bars 100%; None for tasks of sentences."""
    known = analysed(report)
    kinds = [one for one in subsets(report) if any(sum(_counts(a, one)) for _, a in known)]
    kinds = [one for one in kinds if one != "all"] or kinds
    if not kinds:
        return None
    names = [name for name, _ in known]
    height = 0.95 + len(kinds) * (0.25 + len(names) * row_height(names))
    figure, panels = new_figure(height, len(kinds))
    used: set[int] = set()
    for axes, subset in zip(panels, kinds, strict=True):
        counts = [_counts(analysis, subset) for _, analysis in known]
        _draw(axes, counts)
        used |= {place for row in counts for place, count in enumerate(row) if count}
        axes.set_title(f"{subset} questions")
        name_rows(axes, names)
    panels[-1].set_xlim(0, 1)
    panels[-1].set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25", "50", "75", "100"])
    panels[-1].set_xlabel("gold answers, %")
    places = sorted(used)
    add_legend(figure, [_handle(place) for place in places], [_WORDS[place] for place in places])
    caption = (
        "Gold answers by branch that are right, and where the others were lost, as shares of all "
        "gold answers of all items."
    )
    return finish(figure, "errors", caption)


def _counts(analysis: Analysis, subset: str) -> list[int]:
    found = analysis.errors.subsets[subset]
    return [right_answers(analysis, subset), *(kind.count(found) for kind in MISSING_KINDS)]


def _draw(axes: "Axes", counts: Sequence[Sequence[int]]) -> None:
    for row, parts in enumerate(counts):
        whole, left = sum(parts), 0.0
        for place, count in enumerate(parts):
            share = count / whole if whole else 0.0
            if count:
                axes.barh(row, share, 0.7, left, edgecolor="black", linewidth=0.4, **_LOOKS[place])
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
