"""Line charts: recall against something that comes in steps."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.numbers import interval, number
from branchwise.eval.reporting.figures.lines import Lines, Series
from branchwise.ui.html.scales import Scale, from_zero, tick_words
from branchwise.ui.html.svg import colour, figure, label, line, mark, path, text

HEIGHT = 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 368, 24, 204
_MOST_INTERVALS = 32
"""Intervals that are drawn; more of them would hide each other, and stand in the table alone."""
_MOST_LABELS = 9


def draw_lines(chart: Lines) -> Markup:
    """The chart as SVG."""
    y = from_zero(_tops(chart), _BOTTOM, _TOP)
    step = (_RIGHT - _LEFT) / max(1, len(chart.columns))
    xs = [_LEFT + step * (i + 0.5) for i in range(len(chart.columns))]
    parts = [*_axes(chart, y, xs)]
    few = _few(chart)
    for place, one in enumerate(chart.series):
        # Beside each other, so that intervals of equal means are all to be seen.
        shift = 0.0 if not few else (place - (len(chart.series) - 1) / 2) * min(5.0, step / 6)
        parts += _series(one, chart, y, [x + shift for x in xs], with_intervals=few)
    said = f"{chart.y} by {chart.x} for {len(chart.series)} systems; values below"
    return figure(HEIGHT, chart.title, said, parts)


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


def _axes(chart: Lines, y: Scale, xs: Sequence[float]) -> Iterator[Markup]:
    for tick, said in zip(y.ticks, tick_words(y.ticks), strict=True):
        yield line(_LEFT, y.place(tick), _RIGHT, y.place(tick), "grid" if tick else "axis")
        yield text(_LEFT - 6, y.place(tick) + 4, said, "tick", "end")
    yield text(4, 12, chart.y, "axis-title")
    every = -(-len(xs) // _MOST_LABELS)
    for place, (x, said) in enumerate(zip(xs, chart.columns, strict=True)):
        if place % every == 0:
            yield text(x, _BOTTOM + 17, label(said, 12), "tick", "middle")
    yield text((_LEFT + _RIGHT) / 2, HEIGHT - 8, chart.x, "axis-title", "middle")


def _series(
    one: Series, chart: Lines, y: Scale, xs: Sequence[float], *, with_intervals: bool
) -> Iterator[Markup]:
    known = [
        (x, column, found)
        for x, column, found in zip(xs, chart.columns, _means(one), strict=True)
        if found and found.mean is not None
    ]
    kind = colour(one.index)
    if with_intervals:
        for x, _, found in known:
            if found.low is not None and found.high is not None:
                yield line(x, y.place(found.low), x, y.place(found.high), f"whisker {kind}")
    yield path([(x, y.place(found.mean or 0)) for x, _, found in known], f"line {kind}")
    for x, column, found in known:
        said = f"{one.name}, {column}: {number(found.mean)} {interval(found.low, found.high)}"
        yield mark(one.index, x, y.place(found.mean or 0), said.strip())
