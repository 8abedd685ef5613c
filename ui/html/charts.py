"""Charts with two axes: spending against recall, and recall against what comes in steps."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from branchwise.corpora.text import counted
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.numbers import as_text, interval, number
from branchwise.eval.reporting.figures.cost import Cost, Point
from branchwise.eval.reporting.figures.lines import Lines, Series
from branchwise.ui.html.svg import (
    Scale,
    colour,
    element,
    figure,
    from_zero,
    label,
    line,
    mark,
    path,
    text,
    tick_words,
)

_LEFT, _TOP = 40, 24
_SCATTER_HEIGHT, _SCATTER_RIGHT, _SCATTER_BOTTOM = 270, 366, 222
_LINES_HEIGHT, _LINES_RIGHT, _LINES_BOTTOM = 250, 368, 204
_MOST_NAMES = 8
_LETTER, _LINE, _MARK = 6.2, 13.0, 8.0
_MOST_INTERVALS = 32
"""Intervals that are drawn; more of them would hide each other, and stand in the table alone."""
_MOST_LABELS = 9


def draw_scatter(cost: Cost) -> Markup:
    """Points with intervals of recall; the front is a step line, and its points have a ring."""
    systems, x_title, y_title = cost.points, cost.unit.axis, cost.metric.name
    x = from_zero([one.spent for one in systems], _LEFT, _SCATTER_RIGHT, 4)
    y = from_zero([one.found.high or one.value for one in systems], _SCATTER_BOTTOM, _TOP)
    front = cost.front
    parts = [*_scatter_axes(x, y, x_title, y_title)]
    parts.append(path(_steps(front, x, y), "front"))
    for one in systems:
        parts += _point(cost, one, x, y, on_front=one in front)
    if len(systems) <= _MOST_NAMES:
        parts += _names(systems, x, y)
    said = f"{y_title} against {x_title} of {counted(len(systems), 'system')}; values below"
    return figure(_SCATTER_HEIGHT, cost.title, said, parts)


def _scatter_axes(x: Scale, y: Scale, x_title: str, y_title: str) -> Iterator[Markup]:
    yield from _y_axis(y, _SCATTER_RIGHT)
    for tick, said in zip(x.ticks, tick_words(x.ticks), strict=True):
        anchor = "end" if tick == x.ticks[-1] else "middle"
        yield text(x.place(tick), _SCATTER_BOTTOM + 17, said, "tick", anchor)
    yield text(4, 12, y_title, "axis-title")
    yield text((_LEFT + _SCATTER_RIGHT) / 2, _SCATTER_HEIGHT - 8, x_title, "axis-title", "middle")


def _steps(front: Sequence[Point], x: Scale, y: Scale) -> list[tuple[float, float]]:
    """From the cheapest to the right edge: what recall can be had for at most so much."""
    points: list[tuple[float, float]] = []
    for one in front:
        if points:
            points.append((x.place(one.spent), points[-1][1]))
        points.append((x.place(one.spent), y.place(one.value)))
    return [*points, (float(_SCATTER_RIGHT), points[-1][1])] if points else []


def _point(cost: Cost, one: Point, x: Scale, y: Scale, *, on_front: bool) -> Iterator[Markup]:
    at, found = x.place(one.spent), one.found
    if found.low is not None and found.high is not None:
        yield line(at, y.place(found.low), at, y.place(found.high), f"whisker {colour(one.index)}")
    if on_front:
        yield element("circle", cx=at, cy=y.place(one.value), r=8, class_="ring")
    spent = f"{as_text(one.spent, cost.unit.unit)} {cost.unit.axis}"
    said = f"{one.name}: {number(one.value)} {interval(found.low, found.high)} for {spent}"
    yield mark(one.index, at, y.place(one.value), said)


def _names(systems: Sequence[Point], x: Scale, y: Scale) -> Iterator[Markup]:
    """Names beside the points, on the side with more room, none over another or over a point."""
    taken = [_place_of_mark(one, x, y) for one in systems]
    for one in sorted(systems, key=lambda one: -one.value):
        at, said = x.place(one.spent), label(one.name, 22)
        right = at < (_LEFT + _SCATTER_RIGHT) / 2
        edge = at + 11 if right else at - 11
        first, last = sorted((edge, edge + _LETTER * len(said) * (1 if right else -1)))
        baseline = _free_line(first, last, y.place(one.value) + 4, taken)
        taken.append((first, last, baseline))
        yield text(edge, baseline, said, "name", "start" if right else "end")


def _place_of_mark(one: Point, x: Scale, y: Scale) -> tuple[float, float, float]:
    """What a point covers, as if it were a name."""
    at = x.place(one.spent)
    return at - _MARK, at + _MARK, y.place(one.value) + 4


def _free_line(
    first: float, last: float, wanted: float, taken: Sequence[tuple[float, float, float]]
) -> float:
    """The baseline nearest to the wanted one at which a name covers nothing, inside the axes."""
    steps = (side * n * _LINE for n in range(2 * len(taken) + 1) for side in (1, -1))
    free = (
        wanted + step
        for step in steps
        if not any(_over((first, last, wanted + step), other) for other in taken)
    )
    return next((line for line in free if _TOP <= line <= _SCATTER_BOTTOM), wanted)


def _over(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    """Whether two names (first, last, baseline) would overlap."""
    return abs(a[2] - b[2]) < _LINE and a[0] < b[1] and b[0] < a[1]


def draw_lines(chart: Lines) -> Markup:
    """The chart as SVG."""
    y = from_zero(_tops(chart), _LINES_BOTTOM, _TOP)
    step = (_LINES_RIGHT - _LEFT) / max(1, len(chart.columns))
    xs = [_LEFT + step * (i + 0.5) for i in range(len(chart.columns))]
    parts = [*_line_axes(chart, y, xs)]
    few = _few(chart)
    for place, one in enumerate(chart.series):
        # Beside each other, so that intervals of equal means are all to be seen.
        shift = 0.0 if not few else (place - (len(chart.series) - 1) / 2) * min(5.0, step / 6)
        parts += _series(one, chart, y, [x + shift for x in xs], with_intervals=few)
    said = f"{chart.y} by {chart.x} for {counted(len(chart.series), 'system')}; values below"
    return figure(_LINES_HEIGHT, chart.title, said, parts)


def _tops(chart: Lines) -> list[float]:
    found = [one for series in chart.series for one in _means(series) if one]
    few = _few(chart)
    return [
        one.high if few and one.high is not None else one.mean
        for one in found
        if one.mean is not None
    ]


def _means(one: Series) -> list[Aggregate | None]:
    return [found[0] if found else None for found in one.means]


def _few(chart: Lines) -> bool:
    return len(chart.series) * len(chart.columns) <= _MOST_INTERVALS


def _line_axes(chart: Lines, y: Scale, xs: Sequence[float]) -> Iterator[Markup]:
    yield from _y_axis(y, _LINES_RIGHT)
    yield text(4, 12, chart.y, "axis-title")
    every = -(-len(xs) // _MOST_LABELS)
    for place, (x, said) in enumerate(zip(xs, chart.columns, strict=True)):
        if place % every == 0:
            yield text(x, _LINES_BOTTOM + 17, label(said, 12), "tick", "middle")
    yield text((_LEFT + _LINES_RIGHT) / 2, _LINES_HEIGHT - 8, chart.x, "axis-title", "middle")


def _series(
    one: Series, chart: Lines, y: Scale, xs: Sequence[float], *, with_intervals: bool
) -> Iterator[Markup]:
    known = [
        (x, column, found[0], chart.joins(found))
        for x, column, found in zip(xs, chart.columns, one.means, strict=True)
        if found and found[0].mean is not None
    ]
    kind = colour(one.index)
    if with_intervals:
        for x, _, found, _ in known:
            if found.low is not None and found.high is not None:
                yield line(x, y.place(found.low), x, y.place(found.high), f"whisker {kind}")
    line_points = [(x, y.place(found.mean or 0)) for x, _, found, joins in known if joins]
    yield path(line_points, f"line {kind}")
    for x, column, found, joins in known:
        said = f"{one.name}, {column}: {number(found.mean)} {interval(found.low, found.high)}"
        yield mark(one.index, x, y.place(found.mean or 0), said.strip(), hollow=not joins)


def _y_axis(y: Scale, right: float) -> Iterator[Markup]:
    """Grid lines from the y axis to `right`, each with its value."""
    for tick, said in zip(y.ticks, tick_words(y.ticks), strict=True):
        yield line(_LEFT, y.place(tick), right, y.place(tick), "grid" if tick else "axis")
        yield text(_LEFT - 6, y.place(tick) + 4, said, "tick", "end")
