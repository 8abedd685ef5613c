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
    new_figure,
    row_height,
    share_ticks,
    system_name,
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

FEW = 5
"""A mean of fewer questions says little: it is drawn hollow, and no line joins it."""
_HOLLOW = f" Hollow points that no line joins are of fewer than {FEW} questions."

_Found = Mapping[str, tuple[Aggregate, int]]
"""Column to a mean and the number of questions in it."""


@dataclass(frozen=True)
class Series:
    """A system's number in the report and its name; for each column a mean with its number of
    questions, or None."""

    index: int
    name: str
    means: tuple[tuple[Aggregate, int] | None, ...]

    def told(self, column: str, found: Aggregate) -> str:
        """What a point of the line is."""
        return f"{self.name}, {column}: {number(found.mean)} {interval(found.low, found.high)}"


@dataclass(frozen=True)
class Lines:
    """A line a system over columns. `name`: safe in a path; `x`, `y`: what the axes are.

    Columns of a curve are numbers; others are bins or places. A curve's means are of the same
    questions throughout.
    """

    name: str
    title: str
    x: str
    y: str
    columns: tuple[str, ...]
    series: tuple[Series, ...]
    caption: str
    is_curve: bool = False

    def joins(self, found: tuple[Aggregate, int]) -> bool:
        """Whether a mean is of enough questions for the line to pass through it."""
        return self.is_curve or found[1] >= FEW


def line_figures(report: StudyReport) -> list[Lines]:
    """Recall by tool calls, what was retrieved after each, recall by branches and by steps."""
    found = [
        recall_by(report, "calls"),
        retrieved(report),
        recall_by(report, "branches"),
        recall_by(report, "steps"),
    ]
    return [one for one in found if one]


def recall_by(report: StudyReport, by: str) -> Lines | None:
    """Each system's main metric by a property of the question; None where no question has it."""
    main, (words, x) = report.task.main, _PROPERTIES[by]

    def read(analysis: Analysis) -> _Found:
        bins = [one for one in analysis.breakdown(by).bins if one.label != UNKNOWN]
        return {one.label: (one.aggregates[main.key], one.questions) for one in bins}

    caption = (
        f"{capital(main.name)} against the number of {x}: means with 95% bootstrap intervals over "
        "the questions in each bin." + (_CALLS if by == "calls" else "")
    )
    title = f"{capital(main.name)} against {words}"
    return _lines(report, read, f"recall-by-{by}", title, x, main.name, caption)


def retrieved(report: StudyReport) -> Lines | None:
    """Recall of a perfect reader after each tool call; None where nothing was retrieved."""

    def read(analysis: Analysis) -> _Found:
        points = analysis.curve("calls").points
        return {f"{one.effort:,}": (one.recall, one.recall.n) for one in points}

    caption = (
        "Recall of a perfect reader over what had been retrieved after each tool call, over all "
        "questions; those that made fewer calls keep their last value. Where a line is flat, more "
        "calls found nothing more."
    )
    title, x = "Retrieved after each tool call", "tool calls made so far"
    y = "recall of what was retrieved"
    return _lines(report, read, "retrieved-by-calls", title, x, y, caption, is_curve=True)


def ceilings(report: StudyReport, subset: str) -> Lines | None:
    """The ceilings from place to place, then the agent's own; None where no evidence was recorded.

    A place that is unknown is left out, and so is extraction where all that it left was shown.
    """
    main = report.task.main
    known = [
        (index, name, analysis.ceilings.aggregates)
        for index, name, analysis in report.analysed
        if analysis.ceilings.aggregates["all"]["ceiling_retrieved"].n
    ]
    found = [aggregates["all"] for _, _, aggregates in known]
    places = [place for place in CEILING_PLACES if _is_told(place[0], found)]
    places.append((main.key, "answered"))
    series = tuple(
        Series(index, name, tuple((of[subset][key], of[subset][key].n) for key, _ in places))
        for index, name, of in known
    )
    caption = (
        f"{capital(main.name)} of a perfect reader over what the tools could have given, what they "
        "returned, what extraction left and what the agent was shown; then the agent's own."
    )
    title, x = (
        capital(report.task.questions_words(subset)),
        "from what there is to what is answered",
    )
    columns = tuple(words for _, words in places)
    return Lines("ceilings", title, x, main.name, columns, series, caption) if known else None


def _is_told(key: str, systems: Sequence[Mapping[str, Aggregate]]) -> bool:
    if key == "ceiling_extracted":
        return any(one["context_loss"].mean for one in systems)
    return any(one[key].n for one in systems)


def _lines(
    report: StudyReport,
    read: Callable[[Analysis], _Found],
    name: str,
    title: str,
    x: str,
    y: str,
    caption: str,
    *,
    is_curve: bool = False,
) -> Lines | None:
    found = [(index, system, read(analysis)) for index, system, analysis in report.analysed]
    columns = sorted({label for _, _, one in found for label in one}, key=_first_number)
    series = tuple(
        Series(index, system, tuple(one.get(column) for column in columns))
        for index, system, one in found
        if one
    )
    if not columns:
        return None
    lines = Lines(name, title, x, y, tuple(columns), series, caption, is_curve=is_curve)
    known = (mean for one in series for mean in one.means if mean and mean[0].mean is not None)
    return lines if all(map(lines.joins, known)) else replace(lines, caption=caption + _HOLLOW)


def _first_number(label: str) -> tuple[int, str]:
    """What a bin ("3-4", "21+", "1,000-1,999") begins with; words come last."""
    digits = label.split("-")[0].rstrip("+").replace(",", "")
    return (int(digits) if digits.isdigit() else 2**62, label)


# A bound on answers, or worked examples, are left out where a protocol has no place for them.
BY_PROTOCOL = frozenset({"protocol", "at_most", "shots"})
"""What systems may differ in that are compared by protocol."""


def protocol_means(report: StudyReport) -> list[tuple[str, Mapping[str, Aggregate]]]:
    """Model to the main metric by protocol; none where all systems have the same protocol.

    Systems that differ in more than the protocol stay out.
    """
    found: dict[str, dict[str, Aggregate]] = {}
    for system in report.systems:
        if not set(system.changes) - BY_PROTOCOL:
            means = found.setdefault(system.model, {})
            mean = system.mean(report.task.main.key, "all")
            means.setdefault(system.run.protocol, mean)
    several = len({protocol for means in found.values() for protocol in means}) > 1
    return list(found.items()) if several else []


def protocol_figure(report: StudyReport) -> Lines | None:
    """A line a model over the protocols that any was asked by."""
    found, main = protocol_means(report), report.task.main
    if not report.task.is_graded or not found:
        return None
    words = report.task.protocol_words
    asked = [name for name in words if any(name in means for _, means in found)]
    series = tuple(
        Series(
            index,
            model or "all systems",
            tuple((means[name], means[name].n) if name in means else None for name in asked),
        )
        for index, (model, means) in enumerate(found)
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


_LOOKS: dict[str, dict[str, Any]] = {
    "within reach": {"color": BLUE, "marker": "|"},
    "retrieved": {"color": ORANGE, "marker": "D"},
    "after extraction": {"color": GREEN, "marker": "v"},
    "shown": {"color": VERMILION, "marker": "s"},
    "answered": {"color": BLACK, "marker": "o"},
}
_OPEN = {"markerfacecolor": "white", "markeredgewidth": 0.8}


def draw_ceilings(report: StudyReport, found: Sequence[tuple[str, Lines]]) -> Drawing:
    """A panel a subset, a row a system, a marker a place."""
    first = found[0][1]
    names = [one.name for one in first.series]
    height = 0.95 + len(found) * (0.25 + len(names) * row_height(names))
    figure, panels = new_figure(height, len(found))
    for axes, (subset, lines) in zip(panels, found, strict=True):
        for row, one in enumerate(lines.series):
            _draw_places(axes, row, one, lines.columns)
        axes.set_title(report.task.questions_words(subset))
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        name_rows(axes, names)
    panels[-1].set_xlim(-0.02, 1.02)
    share_ticks(panels[-1].xaxis)
    panels[-1].set_xlabel(f"{first.y} of a perfect reader, and of the agent")
    add_legend(figure, [_handle(_LOOKS[place]) for place in first.columns], first.columns)
    return Drawing("ceilings", first.caption, figure)


def _draw_places(axes: "Axes", row: int, one: Series, places: Sequence[str]) -> None:
    pairs = zip(places, one.means, strict=True)
    known = [(place, of[0].mean, of[0]) for place, of in pairs if of and of[0].mean is not None]
    if known:
        ends = [min(mean for _, mean, _ in known), max(mean for _, mean, _ in known)]
        axes.plot(ends, [row, row], color="0.7", linewidth=1.5, zorder=1)
    for place, mean, found in known:
        look = {"linestyle": "none", "gid": tips(one.told(place, found)), **_marker(_LOOKS[place])}
        axes.plot([mean], [row], clip_on=False, **look)


def _marker(look: dict[str, Any]) -> dict[str, Any]:
    """Hollow but for the agent's own, so that markers on each other can be seen."""
    if look["marker"] == "|":
        return {**look, "markersize": 9, "markeredgewidth": 1.2, "zorder": 2}
    if look["color"] == BLACK:
        return {**look, "markersize": 4, "zorder": 4}
    return {**look, **_OPEN, "markersize": 5.5 if look["marker"] == "D" else 4.5, "zorder": 3}


def _handle(look: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", **_marker(look))
