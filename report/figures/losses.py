"""Where gold answers are: right, or lost at one place of their way; and kinds of wrong answers.

The kinds of a group add up to its total, so that a bar of them is whole.
"""

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
from branchwise.eval.errors.labels import Label, LostAt
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
    """A kind of loss or error: its key, a few words (`row`: alone in a row), its count in a
    subset. `caution`: a sentence, to be told wherever there is any."""

    key: str
    words: str
    count: Callable[[SubsetTotals], int]
    row: str = ""
    caution: str = ""


def _lost_at(part: LostAt, key: str, words: str, row: str = "") -> LossKind:
    return LossKind(key, words, lambda totals: totals.lost_at[part], row)


def _missing(key: str, label: Label, caution: str = "") -> LossKind:
    return LossKind(key, label.words, missing_with(label), caution=caution)


PERHAPS = _missing(
    "perhaps_stated",
    Label.PERHAPS_STATED,
    "Mentioned, perhaps not stated, is an upper bound: gold names no supporting passages, "
    "and what was retrieved names the answer away from what is asked.",
)
_LOST_ON_THE_WAY = (
    LossKind("wrong_branch", "under the wrong branch", missing_with(Label.WRONG_BRANCH)),
    _lost_at("repair", "unreadable", "in an unreadable answer", "lost with an unreadable answer"),
    _lost_at("dropped", "dropped", "dropped by a later answer"),
    _lost_at("agent", "left_out", "left out by the agent", "retrieved, left out by the agent"),
    _lost_at("extraction", "extraction", "lost in extraction", "retrieved, lost in extraction"),
    _lost_at("node", "node", "taken out by a node"),
    _lost_at("merge", "merge", "lost in the merge", "left out by the merge of several tries"),
    PERHAPS,
    _missing("never_retrieved", Label.INCOMPLETE_EXTRACTION),
    _missing("not_in_corpus", Label.NOT_IN_CORPUS),
)
MISSING_KINDS = (
    *_LOST_ON_THE_WAY,
    LossKind(
        "unknown",
        "unknown",
        lambda totals: totals.missing - sum(kind.count(totals) for kind in _LOST_ON_THE_WAY),
    ),
)
"""Where a missing gold answer was lost, from the end of its way to its beginning; each at one
place. It is unknown of items that failed or have no trace."""


def _all_traced(totals: SubsetTotals) -> bool:
    return totals.traced == totals.items


WRONG_KINDS = (
    LossKind("of_another_branch", "right under another branch", wrong_with(Label.WRONG_BRANCH)),
    LossKind("ambiguous", "the name of several answers", wrong_with(Label.AMBIGUOUS_ANSWER)),
    LossKind(
        "in_evidence",
        "read, but no answer",
        lambda totals: wrong_without_label(totals) if _all_traced(totals) else 0,
        "in the evidence, but no answer",
    ),
    LossKind("unsupported", "nowhere in the evidence", wrong_with(Label.UNSUPPORTED_ANSWER)),
    LossKind(
        "unknown",
        "unknown",
        lambda totals: 0 if _all_traced(totals) else wrong_without_label(totals),
    ),
)
"""Kinds of wrong answers; each is of one kind. Unknown if some of the items have no trace."""

ITEM_KINDS = (
    *(
        LossKind(label.value, words or label.words, items_with(label), row)
        for label, words, row in (
            (Label.WRONG_TOOL_CALL, "wrong tool calls", "with wrong tool calls"),
            (Label.FORMAT_ERROR, "", "with a format error"),
            (Label.CUT_REPLY, "cut replies", "with a reply cut at the token limit"),
            (Label.INTERRUPTED, "", "interrupted by the server"),
            (Label.BUDGET_SPENT, "", "with the budget spent"),
        )
    ),
    LossKind("failed", "failed", lambda totals: totals.failed),
)
"""What went wrong with an item as a whole; it may have several."""

PLACES = ("right", *(kind.words for kind in MISSING_KINDS))
"""Where a gold answer can be: right, or lost, the last place of its way first."""


@dataclass(frozen=True)
class Bar:
    """A system's name, and its gold answers in each of `PLACES`."""

    name: str
    counts: tuple[int, ...]

    @property
    def gold(self) -> int:
        return sum(self.counts)

    @property
    def lost(self) -> int:
        return self.gold - self.counts[0]

    @property
    def where_lost(self) -> str:
        """ ": 53% never retrieved, 4% under the wrong branch", largest first; empty for none."""
        pairs = [pair for pair in zip(self.counts[1:], PLACES[1:], strict=True) if pair[0]]
        ranked = sorted(pairs, key=lambda pair: -pair[0])
        words = ", ".join(f"{percent(count, self.lost)} {place}" for count, place in ranked)
        return f": {words}" if words else ""

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

    @property
    def caution(self) -> str:
        return next((bar.caution for bar in self.bars if bar.caution), "")


def losses(report: StudyReport, subset: str) -> Losses | None:
    """None for tasks whose answers are sentences, and without gold."""
    bars = []
    for _, name, analysis in report.analysed:
        totals = analysis.errors.subsets[subset]
        lost = (kind.count(totals) for kind in MISSING_KINDS)
        bars.append(Bar(name, (analysis.right[subset], *lost)))
    return Losses(subset, tuple(bars)) if any(bar.gold for bar in bars) else None


def absent_gold(report: StudyReport) -> list[tuple[str, str]]:
    """System and sentence, for those whose corpus lacks gold answers, which no search brings."""
    return [
        (name, f"{percent(share, 1)} of gold is nowhere in this corpus (mean over questions)")
        for _, name, analysis in report.analysed
        if (share := analysis.absent)
    ]


# From dark to light as far as the hatches go, so that neighbours differ in grey, too.
_LOOKS: tuple[dict[str, Any], ...] = tuple(
    {"edgecolor": "black", "linewidth": 0.4, "facecolor": face, "hatch": hatch}
    for face, hatch in (
        (BLUE, None),
        (SKY, "/////"),
        (PURPLE, "xxxxx"),
        ("white", "-----"),
        (ORANGE, None),
        (YELLOW, "||||||"),
        ("lightgrey", "....."),
        (SKY, "ooooo"),
        ("white", "+++++"),
        (VERMILION, "\\\\\\\\\\"),
        ("dimgrey", None),
        ("white", None),
    )
)
_LABELLED = 0.08
_DARK = (0, 10)
_LABEL: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": 6}
_ON_DARK: dict[str, Any] = {"color": "white"}
_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
_ON_LIGHT: dict[str, Any] = {"color": "black", "bbox": _BOX}


def draw_losses(report: StudyReport, of_subsets: Sequence[Losses]) -> Drawing:
    """A panel a subset, a bar a system, all bars 100%."""
    from matplotlib.patches import Patch

    names = [bar.name for bar in of_subsets[0].bars]
    height = 0.95 + len(of_subsets) * (0.25 + len(names) * row_height(names))
    figure, panels = new_figure(height, len(of_subsets))
    for axes, lost in zip(panels, of_subsets, strict=True):
        for row, bar in enumerate(lost.bars):
            _draw_bar(axes, row, bar)
        axes.set_title(report.task.questions_words(lost.subset))
        name_rows(axes, names)
    panels[-1].set_xlim(0, 1)
    panels[-1].set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25", "50", "75", "100"])
    panels[-1].set_xlabel("gold answers, %")
    used = sorted({index for lost in of_subsets for index in lost.used})
    add_legend(figure, [Patch(**_LOOKS[n]) for n in used], [PLACES[n] for n in used])
    caption = (
        "Gold answers by branch that are right, and where the others were lost, as shares of all "
        "gold answers of all items."
    )
    caution = next((lost.caution for lost in of_subsets if lost.caution), "")
    return Drawing("errors", f"{caption} {caution}".rstrip(), figure)


def _draw_bar(axes: "Axes", row: int, bar: Bar) -> None:
    whole, left = bar.gold, 0.0
    for index, count in enumerate(bar.counts):
        share = count / whole if whole else 0.0
        if count:
            words = f"{PLACES[index]}: {count:,} of {whole:,} ({percent(count, whole)})"
            axes.barh(row, share, 0.7, left, gid=tips(f"{bar.name}: {words}"), **_LOOKS[index])
        if share >= _LABELLED:
            look = _ON_DARK if index in _DARK else _ON_LIGHT
            axes.text(left + share / 2, row, percent(count, whole).rstrip("%"), **_LABEL, **look)
        left += share
