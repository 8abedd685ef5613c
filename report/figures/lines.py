"""Means along steps: recall by a property or by tool calls, ceilings, protocols."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import interval, number
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.grouping import UNKNOWN
from branchwise.eval.tasks.task import capital
from branchwise.report.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    VERMILION,
    Drawing,
    add_legend,
    colour,
    legend_height,
    line_look,
    name_rows,
    name_x,
    new_figure,
    row_height,
    share_ticks,
    system_names,
    tips,
)
from branchwise.report.study_report import StudyReport
from branchwise.runs.scoring.scored import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CEILING_PLACES = (
    ("ceiling_reach", "within reach"),
    ("ceiling_retrieved", "retrieved"),
    ("ceiling_extracted", "after extraction"),
    ("ceiling_shown", "shown"),
)
"""Ceilings in the order of an answer's way, with what they are called."""
_PROPERTIES = {
    "calls": ("tool calls", "tool calls made for the question"),
    "branches": ("branches", "gold branches of the question"),
    "steps": ("steps", "steps of the question's plan"),
}
_CALLS = (
    " Which questions are in a bin differs from system to system: hard ones may get more calls, so "
    "a falling line does not say that calls do harm."
)
# A bound on answers, or worked examples, are left out where a protocol has no place for them.
BY_PROTOCOL = frozenset({"protocol", "at_most", "shots"})
"""What systems may differ in that are compared by protocol."""

FEW = 5
"""A mean of fewer questions says little: it is drawn hollow, and no line joins it. It is
not left out: the figure would hide that there are such questions."""
_HOLLOW = f" Hollow points that no line joins are of fewer than {FEW} questions."

SizedMean = tuple[Aggregate, int]
"""A mean and the number of questions in it."""


@dataclass(frozen=True)
class Series:
    """A system's number in the report and its name; for each column a mean, or None."""

    index: int
    name: str
    means: tuple[SizedMean | None, ...]

    def tip(self, column: str, mean: Aggregate) -> str:
        return f"{self.name}, {column}: {number(mean.mean)} {interval(mean.low, mean.high)}"


@dataclass(frozen=True)
class Lines:
    """A line a system over columns: bins, places, or the numbers of a curve, whose means are of
    the same questions throughout. `name`: safe in a path; `x`, `y`: what the axes are."""

    name: str
    title: str
    x: str
    y: str
    columns: tuple[str, ...]
    series: tuple[Series, ...]
    caption: str
    is_curve: bool = False

    def joins(self, mean: SizedMean) -> bool:
        """Whether a mean is of enough questions for the line to pass through it."""
        return self.is_curve or mean[1] >= FEW


def line_figures(report: StudyReport) -> list[Lines]:
    """Recall by tool calls, what was retrieved after each, recall by branches and by steps."""
    figures = [_recall_by(report, "calls"), _retrieved(report)]
    figures += [_recall_by(report, by) for by in ("branches", "steps")]
    return [figure for figure in figures if figure]


def _recall_by(report: StudyReport, by: str) -> Lines | None:
    """Each system's main metric by a property of the question; None where no question has it."""
    main, (words, x) = report.task.main, _PROPERTIES[by]

    def means(analysis: Analysis) -> Mapping[str, SizedMean]:
        bins = [group for group in analysis.breakdown(by).bins if group.label != UNKNOWN]
        return {group.label: (group.aggregates[main.key], group.questions) for group in bins}

    caption = (
        f"{capital(main.name)} against the number of {x}: means with 95% bootstrap intervals over "
        "the questions in each bin." + (_CALLS if by == "calls" else "")
    )
    title = f"{capital(main.name)} against {words}"
    return _filled(report, means, Lines(f"recall-by-{by}", title, x, main.name, (), (), caption))


def _retrieved(report: StudyReport) -> Lines | None:
    """Recall of a perfect reader after each tool call; None where nothing was retrieved."""

    def means(analysis: Analysis) -> Mapping[str, SizedMean]:
        points = analysis.curve("calls").points
        return {f"{point.effort:,}": (point.recall, point.recall.n) for point in points}

    caption = (
        "Recall of a perfect reader over what had been retrieved after each tool call, over all "
        "questions; those that made fewer calls keep their last value. Where a line is flat, more "
        "calls found nothing more."
    )
    title, x = "Retrieved after each tool call", "tool calls made so far"
    y = "recall of what was retrieved"
    empty = Lines("retrieved-by-calls", title, x, y, (), (), caption, is_curve=True)
    return _filled(report, means, empty)


def _filled(
    report: StudyReport, means: Callable[[Analysis], Mapping[str, SizedMean]], empty: Lines
) -> Lines | None:
    """With the means of each system that was analysed; None for fewer than two columns."""
    systems = [(index, name, means(analysis)) for index, name, analysis in report.analysed]
    columns = sorted({label for *_, own in systems for label in own}, key=_first_number)
    series = tuple(Series(i, name, tuple(map(own.get, columns))) for i, name, own in systems if own)
    if len(columns) < 2:  # a single bin, or place, is the mean of all: nothing to compare
        return None
    lines = replace(empty, columns=tuple(columns), series=series)
    known = (mean for line in series for mean in line.means if mean and mean[0].mean is not None)
    is_whole = all(map(lines.joins, known))
    return lines if is_whole else replace(lines, caption=lines.caption + _HOLLOW)


def _first_number(label: str) -> tuple[int, str]:
    """What a bin ("3-4", "21+", "1,000-1,999") begins with; words come last."""
    digits = label.split("-")[0].rstrip("+").replace(",", "")
    return (int(digits) if digits.isdigit() else 2**62, label)


def ceilings(report: StudyReport, subset: str) -> Lines | None:
    """The ceilings from place to place, then the agent's own; None where no evidence was
    recorded. Left out are unknown places, and extraction where all that it left was shown."""
    main = report.task.main
    known = [
        (index, name, analysis.ceilings.aggregates)
        for index, name, analysis in report.analysed
        if analysis.ceilings.aggregates["all"]["ceiling_retrieved"].n
    ]
    if not known:
        return None
    means = [aggregates["all"] for *_, aggregates in known]

    def is_known(key: str) -> bool:
        if key == "ceiling_extracted":
            return any(mean["context_loss"].mean for mean in means)
        return any(mean[key].n for mean in means)

    places = [(key, words) for key, words in CEILING_PLACES if is_known(key)]
    places.append((main.key, "answered"))
    series = tuple(
        Series(index, name, tuple((of[subset][key], of[subset][key].n) for key, _ in places))
        for index, name, of in known
    )
    caption = (
        f"{capital(main.name)} of a perfect reader over what the tools could have given, what they "
        "returned, what extraction left and what the agent was shown; then the agent's own."
    )
    title = capital(report.task.questions_words(subset))
    x, columns = "from what there is to what is answered", tuple(words for _, words in places)
    return Lines("ceilings", title, x, main.name, columns, series, caption)


def protocol_means(report: StudyReport) -> list[tuple[str, Mapping[str, Aggregate]]]:
    """Model to the main metric by protocol, of systems that differ in nothing else; may be
    empty."""
    by_model: dict[str, dict[str, Aggregate]] = {}
    for system in report.systems:
        if not set(system.changes) - BY_PROTOCOL:
            means = by_model.setdefault(system.model, {})
            means.setdefault(system.run.protocol, system.mean(report.task.main.key, "all"))
    several = len({protocol for means in by_model.values() for protocol in means}) > 1
    return list(by_model.items()) if several else []


def protocol_figure(report: StudyReport) -> Lines | None:
    """A line a model over the protocols that any was asked by."""
    by_model, main = protocol_means(report), report.task.main
    if not report.task.is_graded or not by_model:
        return None
    words = report.task.protocol_words
    asked = [name for name in words if any(name in means for _, means in by_model)]
    series = tuple(
        Series(
            index,
            model or "all systems",
            tuple((means[name], means[name].n) if name in means else None for name in asked),
        )
        for index, (model, means) in enumerate(by_model)
    )
    title = f"{capital(main.name)} by protocol"
    caption = (
        f"{capital(main.name)} of the same questions without a word of conditions, with the "
        "model's own, with the gold ones, and without passages; 95% bootstrap intervals."
    )
    columns = tuple(words[name] for name in asked)
    return Lines("protocols", title, "conditions", main.name, columns, series, caption)


_HEIGHT = 2.0  # without the legend
_MOST_BANDS = 3


def draw_lines(lines: Lines) -> Drawing:
    """Recall by bins stands beside each other; a curve has a band where there are few."""
    from matplotlib.lines import Line2D

    names = system_names([line.name for line in lines.series])
    figure, (axes,) = new_figure(_HEIGHT + legend_height(names))
    if lines.is_curve:
        _draw_curves(axes, lines)
    else:
        _draw_bins(axes, lines)
    axes.set_xlabel(lines.x)
    axes.set_ylim(bottom=0, top=min(1.03, axes.get_ylim()[1]))
    share_ticks(axes.yaxis)
    axes.set_ylabel(lines.y)
    axes.grid(axis="y", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    add_legend(figure, [Line2D([], [], **line_look(line.index)) for line in lines.series], names)
    return Drawing(lines.name, lines.caption, figure)


def _draw_bins(axes: "Axes", lines: Lines) -> None:
    # Systems stand beside each other, so that their intervals can be told apart.
    apart = min(0.1, 0.6 / len(lines.series))
    for row, line in enumerate(lines.series):
        shift = (row - (len(lines.series) - 1) / 2) * apart
        joined = _known(line, lines)
        look = line_look(line.index)
        if joined:  # an empty line has no place, and would leave the axes none
            xs = [index + shift for index, _ in joined]
            ys = [mean.mean or 0.0 for _, mean in joined]
            tip = tips(*(line.tip(lines.columns[index], mean) for index, mean in joined))
            axes.plot(xs, ys, clip_on=False, gid=tip, **look)
        for index, mean in _known(line):
            x = index + shift
            if (index, mean) not in joined:
                alone = {**look, "linestyle": "none", "markerfacecolor": "white", "alpha": 0.6}
                tip = tips(line.tip(lines.columns[index], mean))
                axes.plot([x], [mean.mean or 0.0], clip_on=False, gid=tip, **alone)
            if mean.low is not None and mean.high is not None:
                axes.plot([x, x], [mean.low, mean.high], color=colour(line.index), linewidth=0.6)
    labels = []
    for index, label in enumerate(lines.columns):
        counts = {of[1] for line in lines.series if (of := line.means[index])}
        # Bins with their questions, where these are as many for all systems.
        labels.append(f"{label}\nn={min(counts)}" if len(counts) == 1 else label)
    axes.set_xticks(range(len(lines.columns)), labels=labels)
    axes.set_xlim(-0.5, len(lines.columns) - 0.5)


def _draw_curves(axes: "Axes", lines: Lines) -> None:
    from matplotlib.ticker import MaxNLocator

    for line in lines.series:
        known = _known(line)
        efforts = [int(lines.columns[index].replace(",", "")) for index, _ in known]
        means = [mean.mean or 0.0 for _, mean in known]
        # Not at every point of a long line, and not at the same points as its neighbours.
        step = max(1, len(known) // 8)
        first = line.index % step
        tip = tips(*(line.tip(lines.columns[index], mean) for index, mean in known[first::step]))
        axes.plot(efforts, means, **line_look(line.index), markevery=(first, step), gid=tip)
        if len(lines.series) <= _MOST_BANDS:
            pairs = list(zip(means, (mean for _, mean in known), strict=True))
            lows = [value if mean.low is None else mean.low for value, mean in pairs]
            highs = [value if mean.high is None else mean.high for value, mean in pairs]
            shade = colour(line.index)
            axes.fill_between(efforts, lows, highs, color=shade, alpha=0.12, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))


def _known(line: Series, joined_in: Lines | None = None) -> list[tuple[int, Aggregate]]:
    """The columns, by their index, that the system has a mean for; those that its line joins."""
    return [
        (index, mean[0])
        for index, mean in enumerate(line.means)
        if mean and mean[0].mean is not None and (joined_in is None or joined_in.joins(mean))
    ]


# Hollow but for the agent's own, so that markers on each other can be seen.
_OPEN: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.8, "zorder": 3}
_THICK: dict[str, Any] = {"markeredgewidth": 1.2, "zorder": 2}
_LOOKS: dict[str, dict[str, Any]] = {
    "within reach": {"color": BLUE, "marker": "|", "markersize": 9, **_THICK},
    "retrieved": {"color": ORANGE, "marker": "D", "markersize": 5.5, **_OPEN},
    "after extraction": {"color": GREEN, "marker": "v", "markersize": 4.5, **_OPEN},
    "shown": {"color": VERMILION, "marker": "s", "markersize": 4.5, **_OPEN},
    "answered": {"color": BLACK, "marker": "o", "markersize": 4, "zorder": 4},
}


def draw_ceilings(report: StudyReport, of_subsets: Sequence[tuple[str, Lines]]) -> Drawing:
    """A panel a subset, a row a system, a marker a place."""
    from matplotlib.lines import Line2D

    first = of_subsets[0][1]
    names = [line.name for line in first.series]
    height = 0.95 + len(of_subsets) * (0.25 + len(names) * row_height(names))
    figure, panels = new_figure(height, len(of_subsets))
    for axes, (subset, lines) in zip(panels, of_subsets, strict=True):
        for row, line in enumerate(lines.series):
            points = [
                (lines.columns[index], mean, mean.mean or 0.0) for index, mean in _known(line)
            ]
            values = [value for *_, value in points]
            if values:
                ends = [min(values), max(values)]
                axes.plot(ends, [row, row], color="0.7", linewidth=1.5, zorder=1)
            for place, mean, value in points:
                look = {"linestyle": "none", "gid": tips(line.tip(place, mean)), **_LOOKS[place]}
                axes.plot([value], [row], clip_on=False, **look)
        axes.set_title(report.task.questions_words(subset))
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        name_rows(axes, names)
    panels[-1].set_xlim(-0.02, 1.02)
    share_ticks(panels[-1].xaxis)
    name_x(panels[-1], f"{first.y} of a perfect reader, and of the agent")
    handles = [Line2D([], [], linestyle="none", **_LOOKS[place]) for place in first.columns]
    add_legend(figure, handles, first.columns)
    return Drawing("ceilings", first.caption, figure)
