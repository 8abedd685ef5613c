"""Where gold answers are: right, or lost at one place of their way; and kinds of wrong answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import percent
from branchwise.eval.errors.item_errors import (
    SubsetTotals,
    items_with,
    missing_with,
    wrong_with,
    wrong_without_label,
)
from branchwise.eval.errors.labels import Label
from branchwise.report.figures.drawing import (
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


@dataclass(frozen=True)
class LossKind:
    """A kind of loss or error: its key, what it says in a few words, its count in a subset.

    `row`: in words, where it stands alone in a row. `caution`: a sentence, to be told wherever
    there is any.
    """

    key: str
    words: str
    count: Callable[[SubsetTotals], int]
    row: str = ""
    caution: str = ""


def _all_traced(found: SubsetTotals) -> bool:
    return found.traced == found.items


PERHAPS = LossKind(
    "perhaps_stated",
    Label.PERHAPS_STATED.words,
    missing_with(Label.PERHAPS_STATED),
    caution="Mentioned, perhaps not stated, is an upper bound: gold names no supporting passages, "
    "and what was retrieved names the answer away from what is asked.",
)

_LOST_ON_THE_WAY = (
    LossKind("wrong_branch", "under the wrong branch", missing_with(Label.WRONG_BRANCH)),
    LossKind(
        "unreadable",
        "in an unreadable answer",
        lambda found: found.lost_at["repair"],
        "lost with an unreadable answer",
    ),
    LossKind(
        "left_out",
        "left out by the agent",
        lambda found: found.lost_at["agent"],
        "retrieved, left out by the agent",
    ),
    LossKind(
        "extraction",
        "lost in extraction",
        lambda found: found.lost_at["extraction"],
        "retrieved, lost in extraction",
    ),
    LossKind("node", "taken out by a node", lambda found: found.lost_at["node"]),
    PERHAPS,
    LossKind(
        "never_retrieved",
        Label.INCOMPLETE_EXTRACTION.words,
        missing_with(Label.INCOMPLETE_EXTRACTION),
    ),
    LossKind("not_in_corpus", Label.NOT_IN_CORPUS.words, missing_with(Label.NOT_IN_CORPUS)),
)

MISSING_KINDS = (
    *_LOST_ON_THE_WAY,
    LossKind(
        "unknown",
        "unknown",
        lambda found: found.missing - sum(kind.count(found) for kind in _LOST_ON_THE_WAY),
    ),
)
"""Where a missing gold answer was lost, from the end of its way to its beginning; each at one
place.

It is unknown of items that failed or have no trace.
"""

WRONG_KINDS = (
    LossKind("of_another_branch", "right under another branch", wrong_with(Label.WRONG_BRANCH)),
    LossKind("ambiguous", "the name of several answers", wrong_with(Label.AMBIGUOUS_ANSWER)),
    LossKind(
        "in_evidence",
        "read, but no answer",
        lambda found: wrong_without_label(found) if _all_traced(found) else 0,
        "in the evidence, but no answer",
    ),
    LossKind("unsupported", "nowhere in the evidence", wrong_with(Label.UNSUPPORTED_ANSWER)),
    LossKind(
        "unknown",
        "unknown",
        lambda found: 0 if _all_traced(found) else wrong_without_label(found),
    ),
)
"""Kinds of wrong answers; each is of one kind. Unknown if some of the items have no trace."""

ITEM_KINDS = (
    LossKind(
        "wrong_tool_call",
        "wrong tool calls",
        items_with(Label.WRONG_TOOL_CALL),
        "with wrong tool calls",
    ),
    LossKind(
        "format_error",
        Label.FORMAT_ERROR.words,
        items_with(Label.FORMAT_ERROR),
        "with a format error",
    ),
    LossKind(
        "cut_reply",
        "cut replies",
        items_with(Label.CUT_REPLY),
        "with a reply cut at the token limit",
    ),
    LossKind(
        "interrupted",
        Label.INTERRUPTED.words,
        items_with(Label.INTERRUPTED),
        "interrupted by the server",
    ),
    LossKind(
        "budget_spent",
        Label.BUDGET_SPENT.words,
        items_with(Label.BUDGET_SPENT),
        "with the budget spent",
    ),
    LossKind("failed", "failed", lambda found: found.failed),
)
"""What went wrong with an item as a whole; it may have several."""


PLACES = ("right", *(kind.words for kind in MISSING_KINDS))
"""Where a gold answer can be: right, or lost, the last place of its way first."""


@dataclass(frozen=True)
class Bar:
    """A system's number in the report, its name, and its gold answers in each of `PLACES`."""

    index: int
    name: str
    counts: tuple[int, ...]

    @property
    def gold(self) -> int:
        """All of them."""
        return sum(self.counts)

    @property
    def lost(self) -> list[tuple[int, str]]:
        """Count and place of what is not right."""
        return list(zip(self.counts[1:], PLACES[1:], strict=True))

    @property
    def caution(self) -> str:
        """What limits these numbers, in a sentence; empty where nothing does."""
        return PERHAPS.caution if self.counts[1 + MISSING_KINDS.index(PERHAPS)] else ""


@dataclass(frozen=True)
class Losses:
    """The gold answers of a subset's items, all of their branches."""

    subset: str
    bars: tuple[Bar, ...]

    @property
    def used(self) -> list[int]:
        """The numbers of the places where any system has an answer."""
        return [n for n in range(len(PLACES)) if any(bar.counts[n] for bar in self.bars)]


def losses(report: StudyReport, subset: str) -> Losses | None:
    """None for tasks whose answers are sentences, and without gold."""
    bars = []
    for index, name, analysis in report.analysed:
        found = analysis.errors.subsets[subset]
        lost = (kind.count(found) for kind in MISSING_KINDS)
        bars.append(Bar(index, name, (analysis.right[subset], *lost)))
    return Losses(subset, tuple(bars)) if any(bar.gold for bar in bars) else None


def absent_gold(report: StudyReport) -> list[tuple[str, str]]:
    """System and sentence, for those whose corpus lacks gold answers: how many. No search brings
    them, so it is said before all that depends on it."""
    return [
        (name, f"{percent(share, 1)} of gold is nowhere in this corpus (mean over questions)")
        for _, name, analysis in report.analysed
        if (share := analysis.absent)
    ]


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


def draw_losses(report: StudyReport, found: Sequence[Losses]) -> Drawing:
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
